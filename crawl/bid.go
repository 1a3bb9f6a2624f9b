package crawl

import (
	"time"

	"freshet/crawl/keepfresh"
	"freshet/crawl/share"
	"freshet/refresh"
)

// Wants returns what the shard needs of the crawl's budget.
func (s *Shard) Wants() share.Wants {
	w := share.Wants{New: int64(s.front.Stats().QueuedNew)}
	if s.fresh != nil {
		w.Pages = int64(s.fresh.table.len())
	}
	return w
}

// mostBidding is the maximum number of pages that a bid samples.
const mostBidding = 4096

// Bid returns the demand for visits of the pages that the shard keeps fresh, over a horizon in seconds. It may be
// called while the shard runs. O(pages), for at most 4,096 of them.
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

// setPlanned sets a planning policy's part of the budget.
func (f *fresh) setPlanned(part share.Part) {
	if planned, ok := f.policy.(refresh.Budgeted); ok && part.Visits > 0 {
		planned.SetBudget(part.PerSecond(), part.Horizon)
	}
}
