package trial

import (
	"cmp"
	"slices"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// weigh ranks pages, or fails to.
func (n *node) weigh(pages []crawl.PageKey) {
	n.trace("< weigh %d", len(pages))
	n.ranking++
	var ranks []float64
	if n.draw("weigh", n.result.Steps) < 0.8 {
		for _, page := range pages {
			ranks = append(ranks, 2*n.draw("rank", int(page.Fingerprint)))
		}
	}
	n.soon(n.some(10*time.Second, "weighed", n.result.Steps), func() { n.ranking--; n.tell(crawl.Weighed{Ranks: ranks}) })
}

// sort gives the waiting pages places by a rank that does not change.
func (n *node) sort() {
	n.trace("< sort")
	n.ranking++
	failed := n.draw("sort", n.result.Steps) < 0.2
	n.soon(n.some(5*time.Second, "sorted", n.result.Steps), func() {
		n.ranking--
		if failed {
			n.tell(crawl.Sorted{})
			return
		}
		n.tell(crawl.Sorted{Places: n.places()})
	})
}

func (n *node) places() *crawl.Places {
	census := &crawl.Census{First: []uint32{0}}
	var waiting []frontier.Waiting
	for p := range weburl.Partition(n.store.Partitions()) {
		for page, err := range n.store.Pages(p) {
			n.must(err)
			if page.Queue == store.NewQueue {
				waiting = append(waiting, frontier.Waiting{
					Page: uint32(len(census.Pages)), Site: uint32(n.watch.index(page.URL.Site()) + 1), Arrival: page.Key.Arrival,
					Order: page.Key.Order, Rank: 2 * n.draw("rank", int(page.Fingerprint)),
				})
			}
			census.Pages = append(census.Pages, page.Fingerprint)
		}
		census.First = append(census.First, uint32(len(census.Pages)))
	}
	ranked := n.settings.Ordering.(frontier.Ranked)
	size := ranked.Size(len(census.Pages), len(waiting))
	moved := frontier.Places(ranked, waiting, size)
	slices.SortFunc(moved, func(a, b frontier.Waiting) int { return cmp.Compare(a.Page, b.Page) })
	return &crawl.Places{Known: census, Moved: moved, Size: size}
}
