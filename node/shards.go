package node

import (
	"time"

	"freshet/crawl"
	"freshet/weburl"
)

// tell tells all shards of something that has happened.
func (n *Node) tell(e crawl.Event) {
	for _, l := range n.loops {
		l.mail.put(letter{event: e})
	}
}

// stir has all loops look without a letter.
func (n *Node) stir() {
	for _, l := range n.loops {
		l.mail.stir()
	}
}

// each puts a question to all shards, one after the other. It reports whether all have answered: not after Close.
func (n *Node) each(do func(s *crawl.Shard, now time.Time)) bool {
	for _, l := range n.loops {
		if !l.ask(do) {
			return false
		}
	}
	return true
}

// owner returns the loop of the shard that owns a site's partition.
func (n *Node) owner(site weburl.Site) *loop { return n.ownerOf(n.store.Home(site)) }

// ownerOf returns the loop of the shard that owns a partition. Of what is no partition any shard says so.
func (n *Node) ownerOf(p weburl.Partition) *loop {
	if int(p) >= len(n.owners) {
		return n.loops[0]
	}
	return n.loops[n.owners[p].Load()]
}

// counts returns what the shards have counted.
func (n *Node) counts() (sum crawl.Counts) {
	n.each(func(s *crawl.Shard, _ time.Time) { sum = sum.And(s.Counts()) })
	return sum
}

// look returns what the shards have counted, and has them sum up what they believe, for those who ask next.
func (n *Node) look() (sum crawl.Counts) {
	n.each(func(s *crawl.Shard, now time.Time) {
		sum = sum.And(s.Counts())
		s.Freshness(now)
	})
	return sum
}
