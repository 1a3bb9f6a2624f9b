package node

import (
	"time"

	"freshet/crawl"
	"freshet/weburl"
)

// Freshness returns the present belief about the freshness of the copy. It returns nil if the crawl does not refresh.
// O(pages).
func (n *Node) Freshness() *crawl.Freshness {
	if n.opt.Refresh == nil {
		return nil
	}
	var sums crawl.Beliefs
	for _, l := range n.loops {
		for done := false; !done; {
			if !l.ask(func(s *crawl.Shard, now time.Time) { done = s.SumUp(&sums, now) }) {
				return nil
			}
		}
		sums.Next()
	}
	return sums.Result()
}

// Refreshing returns the belief about a page. ok is false if the page is not kept fresh.
func (n *Node) Refreshing(u weburl.URL, fingerprint weburl.Fingerprint) (p crawl.Refreshing, ok bool) {
	n.owner(u.Site()).ask(func(s *crawl.Shard, now time.Time) { p, ok = s.Refreshing(u, fingerprint, now) })
	return p, ok
}
