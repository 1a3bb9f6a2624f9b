package node

import (
	"time"

	"freshet/allocate"
	"freshet/crawl"
	"freshet/crawl/share"
	"freshet/refresh"
	"freshet/store"
	"freshet/weburl"
)

// The crawl has one budget. It is divided among shards, and among the nodes of a cluster, so that the marginal visit is
// worth the same everywhere: see package share. A node of a cluster divides its grant among its shards.

// shareEvery is the number of ticks between two divisions.
const shareEvery = 5

// budgetOf returns the refresh budget, in requests per interval.
func budgetOf(r *crawl.Refresh) int64 {
	if r == nil {
		return 0
	}
	return r.Budget
}

// evenly divides a budget among shards before anything is known about them.
func (n *Node) evenly(requests int64) []share.Part {
	parts := make([]share.Part, len(n.loops))
	if requests > 0 {
		for i, r := range share.Split(requests, make([]float64, len(n.loops))) {
			parts[i].Requests = r
		}
	}
	return parts
}

// part returns the refresh settings of a shard.
func (l *loop) part(r *crawl.Refresh, of []share.Part) *crawl.Refresh {
	if r == nil {
		return nil
	}
	mine := *r
	mine.Budget = of[l.number].Requests
	return &mine
}

// Total returns the limits of the whole crawl from the settings. It is zero if the crawl keeps no page fresh.
func (n *Node) Total() share.Total {
	now := n.current()
	if now.Refresh == nil {
		return share.Total{}
	}
	return share.Total{Requests: now.Refresh.Budget, Interval: now.Refresh.Interval.Seconds(), Discovery: *now.DiscoveryShare}
}

// MostPages returns the maximum number of pages that the whole crawl may store, or 0 for no limit.
func (n *Node) MostPages() int64 { return n.current().MaxPages }

// wants returns what each shard wants, and their sum.
func (n *Node) wants() (of []share.Wants, sum share.Wants) {
	n.each(func(s *crawl.Shard, _ time.Time) {
		of = append(of, s.Wants())
		sum = sum.And(of[len(of)-1])
	})
	return of, sum
}

// bids returns the demand of each shard's pages over a horizon, in seconds.
func (n *Node) bids(horizon float64) (all []refresh.Bid) {
	n.each(func(s *crawl.Shard, now time.Time) { all = append(all, s.Bid(horizon, now)) })
	return all
}

// Bid returns the demand of the node's pages over a horizon, in seconds.
func (n *Node) Bid(horizon float64) refresh.Bid {
	all := n.bids(horizon)
	return func(threshold float64) allocate.Demand {
		sum := allocate.Demand{Next: -1}
		for _, bid := range all {
			sum = sum.And(bid(threshold))
		}
		return sum
	}
}

// divideBudget divides the node's budget among its shards. A single node has the whole budget.
func (n *Node) divideBudget(t share.Total) ([]share.Part, error) {
	wants, sum := n.wants()
	if t.Horizon == 0 {
		t = share.Of(t.Requests, t.Interval, t.Discovery, sum.Pages)
	}
	bids := n.bids(t.Horizon)
	if len(wants) != len(n.loops) || len(bids) != len(n.loops) {
		return nil, errClosed
	}
	return share.Divide(t, wants, func(threshold float64) (all []allocate.Demand, _ error) {
		for _, bid := range bids {
			all = append(all, bid(threshold))
		}
		return all, nil
	})
}

// granted returns the budget that the node divides among its shards, or zero before the first grant.
func (n *Node) granted() share.Total {
	total := n.Total()
	if n.opt.Cluster == nil || total.Requests == 0 {
		return total
	}
	g := n.grant.Load()
	if g == nil {
		return share.Total{}
	}
	total.Requests, total.Visits, total.Horizon, total.Discovery = g.Requests, g.Visits, g.Horizon, g.Discovery
	return total
}

// reloaded returns the shards' parts of a new budget, or nil if their parts stay.
func (n *Node) reloaded(r *crawl.Refresh) []share.Part {
	if r == nil || n.opt.Cluster != nil {
		return nil
	}
	total := n.Total()
	total.Requests = r.Budget
	parts, err := n.divideBudget(total)
	if err != nil {
		return n.evenly(r.Budget)
	}
	return parts
}

// grantedPages returns the maximum number of pages that the node's run may store, or -1 for none.
func (n *Node) grantedPages() int64 {
	if g := n.grant.Load(); g != nil && g.Pages > 0 {
		return g.Pages
	}
	return -1
}

// shareBudget divides the budget again: at intervals, and at once after a new grant.
func (n *Node) shareBudget() {
	n.ticks++
	g := n.grant.Load()
	if !n.several() || n.ticks%shareEvery != 1 && g == n.shared {
		return
	}
	n.shared = g
	total := n.granted()
	if total.Requests == 0 {
		return
	}
	parts, err := n.divideBudget(total)
	if err != nil {
		return // the node ends
	}
	for i, part := range parts {
		n.loops[i].mail.put(letter{event: crawl.Budget{Part: part}})
	}
}

// Report returns what the node wants and has, for the next division among nodes. A node that finds no pages returns its
// grant.
func (n *Node) Report() share.Report {
	_, wants := n.wants()
	r := share.Report{Wants: wants, Run: n.storedByRun(), Stored: map[weburl.Partition]int64{}, Traffic: n.tally.traffic()}
	if g := n.grant.Load(); g != nil {
		r.Granted, r.Seen = g.Pages, g.division
		if wants.New == 0 && wants.Pages == 0 && g.Pages > r.Run {
			back := *g
			back.Pages = r.Run
			if n.grant.CompareAndSwap(g, &back) {
				r.Granted = r.Run
			}
		}
	}
	for _, l := range n.loops {
		l.ask(func(*crawl.Shard, time.Time) { l.countStored(r.Stored) }) // the store is open while the loop runs
	}
	return r
}

// countStored counts the pages of each of the shard's partitions.
func (l *loop) countStored(stored map[weburl.Partition]int64) {
	for p := range l.owners {
		if int(l.owners[p].Load()) != l.number {
			continue
		}
		if counters, err := l.store.Counters(weburl.Partition(p)); err == nil {
			stored[weburl.Partition(p)] = counters.States[store.StateLive]
		}
	}
}

// storedByRun returns the number of pages that the shards have stored since they were opened.
func (n *Node) storedByRun() (pages int64) {
	n.each(func(s *crawl.Shard, _ time.Time) { pages += s.Stored() })
	return pages
}

// granting is a grant, and the number of its division.
type granting struct {
	share.Grant
	division uint64
}

// Grant sets the node's part of the crawl's limits, from the division with that number.
func (n *Node) Grant(g share.Grant, division uint64) {
	n.grant.Store(&granting{g, division})
	n.in.SetPart(g.Traffic)
	n.out.SetPart(g.Traffic)
	if g.Over && n.current().MaxPages > 0 {
		n.tell(crawl.End{Reason: crawl.MaxPages})
	}
	n.stir()
}

// knownPages returns the number of pages that each shard knows.
func (n *Node) knownPages() []int64 {
	var known []int64
	n.each(func(s *crawl.Shard, _ time.Time) { known = append(known, s.Held().Known) })
	return known
}
