package node

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/weburl"
)

// Each of several shards of a node has a loop, a seen test and a part of the partitions. They share everything else.
// Each start divides the partitions again. A shard adds the pages of a partition that its seen set does not know from
// the page table.

// several reports whether there is more than one shard, here or elsewhere.
func (n *Node) several() bool { return n.opt.several() }

func (o *Options) several() bool { return o.Shards > 1 || o.Cluster != nil }

// divideShards makes the loops, and divides the partitions among their shards.
func (n *Node) divideShards() error {
	partitions := n.store.Partitions()
	if n.opt.Shards > partitions {
		return fmt.Errorf("crawl: %d shards: the data directory has only %d partitions", n.opt.Shards, partitions)
	}
	for i := range n.opt.Shards {
		n.loops = append(n.loops, newLoop(n, i))
	}
	n.shares.of = make([]held, n.opt.Shards)
	n.owners = make([]atomic.Int32, partitions)
	for p := range n.owners {
		n.owners[p].Store(n.firstOwner(p))
	}
	return n.dropSets()
}

// firstOwner returns the index of a partition's shard at the start.
func (n *Node) firstOwner(p int) int32 {
	if n.opt.Cluster != nil {
		return nobody
	}
	return int32(p % n.opt.Shards)
}

// name distinguishes a shard from others that may own its partitions. It is "" for a single shard.
func (l *loop) name() string {
	switch {
	case !l.several():
		return ""
	case l.opt.Cluster == nil:
		return strconv.Itoa(l.number + 1)
	}
	return l.opt.Cluster.Name() + "." + strconv.Itoa(l.number+1)
}

// settings returns the shard's settings.
func (l *loop) settings() crawl.Settings {
	s := l.opt.settings()
	s.Name, s.Partitions = l.name(), l.store.Partitions()
	s.MaxBody = min(s.MaxBody, l.plan.document)
	if l.several() {
		s.Owned = []weburl.Partition{}
		for p := range l.owners {
			if int(l.owners[p].Load()) == l.number {
				s.Owned = append(s.Owned, weburl.Partition(p))
			}
		}
		first := budgetOf(s.Refresh)
		if l.opt.Cluster != nil { // the budget is divided among nodes, and this node has no part yet
			first, s.MaxPages = min(first, int64(l.opt.Shards)), 0
		}
		s.Refresh = l.part(s.Refresh, l.evenly(first))
	}
	shards := int64(l.opt.Shards)
	s.RobotsBytes, s.OfferBytes, s.GroupBytes = l.plan.robots/shards, l.plan.waiting/2/shards, l.plan.group
	s.SentEntries = l.cacheEntries()
	s.Recalled, s.Second = l.cacheEntries(), l.opt.Clock.Span(time.Second)
	return s
}

func (l *loop) cacheEntries() int { return seen.CacheEntries(l.opt.Connections) / l.opt.Shards }

// seenName returns the folder of the shard's set: CRAWL, or CRAWL@NAME if there are several shards. No crawl's name
// contains an @.
func (l *loop) seenName() string {
	if !l.several() {
		return l.opt.Crawl
	}
	return l.opt.Crawl + "@" + l.name()
}

// dropSets removes the sets of a crawl with another number of shards.
func (n *Node) dropSets() error {
	dir := n.opt.FS.PathJoin(n.opt.Dir, "seen")
	names, err := n.opt.FS.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl: sets of seen URLs: %w", err)
	}
	for _, name := range names {
		ours := name == n.opt.Crawl || strings.HasPrefix(name, n.opt.Crawl+"@")
		if !ours || slices.ContainsFunc(n.loops, func(l *loop) bool { return l.seenName() == name }) {
			continue
		}
		if err := n.opt.FS.RemoveAll(n.opt.FS.PathJoin(dir, name)); err != nil {
			return fmt.Errorf("crawl: remove an old set of seen URLs: %w", err)
		}
	}
	return nil
}

// join makes shards that have caught up send one another their links without a receipt again.
func (n *Node) join() error {
	if n.counts().Known == 0 && len(n.opt.Seeds) == 0 && !n.opt.Wait {
		return ErrNothing
	}
	for p := range n.owners {
		n.tell(crawl.Resend{To: weburl.Partition(p)})
	}
	return nil
}

// ends reports whether the crawl ends when nothing is left to discover.
func (n *Node) ends() bool { return !n.opt.Wait && n.opt.Refresh == nil }

// tell reports an event to all shards.
func (n *Node) tell(e crawl.Event) {
	for _, l := range n.loops {
		l.mail.put(letter{event: e})
	}
}

// stir wakes all loops without a letter.
func (n *Node) stir() {
	for _, l := range n.loops {
		l.mail.stir()
	}
}

// each puts a question to all shards, one after the other. After Close none answers.
func (n *Node) each(do func(s *crawl.Shard, now time.Time)) {
	for _, l := range n.loops {
		if !l.ask(do) {
			return
		}
	}
}

// owner returns the loop of the shard that owns a site's partition.
func (n *Node) owner(site weburl.Site) *loop { return n.ownerOf(n.store.Home(site)) }

// ownerOf returns the loop of the shard that owns a partition. For an invalid partition, or another node's, it returns
// any loop, whose shard will return the error.
func (n *Node) ownerOf(p weburl.Partition) *loop {
	if !n.has(p) {
		return n.loops[0]
	}
	return n.loops[n.owners[p].Load()]
}

// has reports whether a shard of the node owns a partition.
func (n *Node) has(p weburl.Partition) bool {
	return int(p) < len(n.owners) && n.owners[p].Load() != nobody
}

// counts returns the sum of the shards' counts.
func (n *Node) counts() (sum crawl.Counts) {
	n.each(func(s *crawl.Shard, _ time.Time) { sum = sum.And(s.Counts()) })
	return sum
}

// look returns the sum of the shards' counts, and makes the shards sum up their beliefs for the next caller.
func (n *Node) look() (sum crawl.Counts) {
	n.each(func(s *crawl.Shard, now time.Time) {
		sum = sum.And(s.Counts())
		s.Freshness(now)
	})
	return sum
}
