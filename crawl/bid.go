package crawl

import (
	"time"

	"freshet/crawl/keepfresh"
	"freshet/crawl/share"
	"freshet/refresh"
)

// Wants returns what the shard wants of the crawl's budget.
func (s *Shard) Wants() share.Wants {
	w := share.Wants{New: int64(s.front.Stats().QueuedNew)}
	if s.fresh != nil {
		w.Pages = int64(s.fresh.table.len())
	}
	return w
}

// mostBidding is how many pages a bid looks at, at most.
const mostBidding = 4096

// Bid returns what the pages that the shard keeps fresh ask for over a horizon, in seconds. It may be asked while the
// shard goes on. O(pages), at most 4,096 of them.
func (s *Shard) Bid(horizon float64, now time.Time) refresh.Bid {
	f := s.fresh
	if f == nil {
		return refresh.Nothing
	}
	if plan, ok := f.policy.(*refresh.Plan); ok {
		return plan.Bid(keepfresh.Seconds(now), horizon, mostBidding)
	}
	pages, part := f.outlooks()
	return refresh.BidOf(pages, part, horizon)
}

// setPlanned tells a policy that plans which part of the budget it plans with.
func (f *fresh) setPlanned(part share.Part) {
	if planned, ok := f.policy.(refresh.Budgeted); ok && part.Visits > 0 {
		planned.SetBudget(part.PerSecond(), part.Horizon)
	}
}
