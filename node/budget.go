package node

import (
	"math"
	"slices"
	"time"

	"freshet/crawl"
)

// A budget of requests is divided among the shards by the pages that they know: a tenth is divided evenly, so that a
// shard which knows few pages yet may find more.

const evenShare = 0.1

// budgets divides a budget among shards that know so many pages each. Every one gets a request at least; the budget has
// as many.
func budgets(total int64, pages []int64) []int64 {
	all := int64(0)
	for _, n := range pages {
		all += n
	}
	parts := make([]int64, len(pages))
	rest, given, upTo := max(0, total-int64(len(pages))), int64(0), 0.0
	for i, n := range pages {
		share := 1 / float64(len(pages))
		if all > 0 {
			share = evenShare*share + (1-evenShare)*float64(n)/float64(all)
		}
		upTo += share
		next := int64(math.Round(float64(rest) * min(upTo, 1)))
		parts[i] = 1 + next - given
		given = next
	}
	return parts
}

func budgetOf(r *crawl.Refresh) int64 {
	if r == nil {
		return 0
	}
	return r.Budget
}

// part returns what a shard is told of how the crawl keeps its copy fresh.
func (l *loop) part(r *crawl.Refresh, of []int64) *crawl.Refresh {
	if r == nil {
		return nil
	}
	mine := *r
	mine.Budget = of[l.number]
	return &mine
}

// budgets divides a budget among all shards of the crawl, of which the node's own know so many pages each, and returns
// the parts of these.
func (n *Node) budgets(total int64, pages []int64) []int64 {
	if n.opt.Cluster == nil {
		return budgets(total, pages)
	}
	return budgets(total, slices.Concat(pages, n.opt.Cluster.Known()))[:len(pages)]
}

// shareBudget divides the budget anew.
func (n *Node) shareBudget() {
	refresh := n.current().Refresh
	if !n.several() || refresh == nil {
		return
	}
	for i, requests := range n.budgets(refresh.Budget, n.knownPages()) {
		n.loops[i].mail.put(letter{event: crawl.Budget{Requests: requests}})
	}
}

// knownPages returns how many pages each shard knows.
func (n *Node) knownPages() []int64 {
	var known []int64
	n.each(func(s *crawl.Shard, _ time.Time) { known = append(known, s.Held().Known) })
	return known
}
