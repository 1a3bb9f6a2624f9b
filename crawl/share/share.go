// Package share divides the limits of a whole crawl among its parts: the shards of a node, or the nodes of a cluster.
//
// One threshold holds for all parts: each part visits those of its pages whose visits are worth more than it. The parts
// agree on the threshold at which, together, they ask for as many visits as the budget has (allocate.Agree). So pages
// compete as if one machine knew them all. The worth of new pages is unknown, so they get the share of the budget that
// is reserved for discovery. Each part gets as much of that as its new pages can use until the next division. If there
// is not enough, the parts that want more get equally much: the many new pages of one part do not starve the few of
// another.
//
// The package only decides. The caller collects the parts' answers and passes them in.
package share

import (
	"cmp"
	"math"
	"slices"

	"freshet/allocate"
)

// Total is the budget of all parts together.
type Total struct {
	Requests  int64   `json:"requests"`  // per interval
	Visits    int64   `json:"visits"`    // planned visits over the horizon
	Horizon   float64 `json:"horizon_s"` // over which the worth of visits is compared
	Interval  float64 `json:"interval_s"`
	Discovery float64 `json:"discovery"` // share of the requests that is reserved for new pages
}

// ahead is the mean number of visits per page in a horizon. It equals how far policy plan looks ahead.
const ahead = 2

// Of returns the total for a budget of requests per interval and a number of pages.
func Of(requests int64, interval, discovery float64, pages int64) Total {
	perSecond := float64(requests) / interval
	t := Total{Requests: requests, Interval: interval, Discovery: discovery}
	t.Horizon = math.Max(interval, ahead*float64(pages)/perSecond)
	t.Visits = int64(math.Min(math.Floor(perSecond*t.Horizon+rounding), math.MaxInt32/2))
	return t
}

// rounding is the largest rounding error of a whole number that was divided and multiplied again.
const rounding = 1e-6

// Wants is what a part reports before the division.
type Wants struct {
	New   int64 `json:"new"`   // pages that wait for their first visit
	Pages int64 `json:"pages"` // pages that are kept fresh
}

// And returns the sum of what two parts want.
func (w Wants) And(o Wants) Wants { return Wants{w.New + o.New, w.Pages + o.Pages} }

// Part is one part's share of the total.
type Part struct {
	Requests int64   `json:"requests"` // per interval, at least 1
	Visits   int64   `json:"visits"`   // over the horizon
	Horizon  float64 `json:"horizon_s"`
	// Discovery is the share of the requests that is reserved for new pages. A part without new pages has the total's
	// share, for new pages that it may find.
	Discovery float64 `json:"discovery"`
}

// PerSecond returns the number of visits per second with which a policy plans.
func (p Part) PerSecond() float64 { return (float64(p.Visits) + 1e-3) / p.Horizon }

// again is about how many seconds pass between two divisions.
const again = 5

// Divide divides a total among parts. ask returns the demand of each part at a threshold. Divide returns the error of
// ask.
func Divide(t Total, wants []Wants, ask func(threshold float64) ([]allocate.Demand, error)) ([]Part, error) {
	visits, _, err := allocate.Agree(t.Visits, ask)
	if err != nil {
		return nil, err
	}
	given := int64(0)
	for _, v := range visits {
		given += v
	}
	discovery := t.Discovery
	if given == 0 {
		discovery = 1
	}
	needs := make([]float64, len(wants))
	for i, w := range wants {
		needs[i] = float64(w.New) * t.Interval / again
	}
	fresh, left := evenly(discovery*float64(t.Requests), needs), float64(t.Requests)
	for _, requests := range fresh {
		left -= requests
	}
	weights := slices.Clone(fresh)
	for i := range weights {
		if given > 0 {
			weights[i] += left * float64(visits[i]) / float64(given)
		}
	}
	parts := make([]Part, len(wants))
	for i, requests := range Split(t.Requests, weights) {
		parts[i] = Part{Requests: requests, Visits: visits[i], Horizon: t.Horizon, Discovery: t.Discovery}
		if fresh[i] > 0 {
			parts[i].Discovery = fresh[i] / weights[i]
		}
	}
	return parts, nil
}

// evenly divides a total. No part gets more than it needs, and the rest is for parts that need more.
func evenly(total float64, needs []float64) []float64 {
	order := make([]int, len(needs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(needs[a], needs[b]) })
	parts := make([]float64, len(needs))
	for before, i := range order {
		parts[i] = min(needs[i], total/float64(len(needs)-before))
		total -= parts[i]
	}
	return parts
}

// Split divides a whole number in proportion to weights, or evenly if all are 0. Each part is at least 1. The parts sum
// to the total, unless there are more of them.
func Split(total int64, weights []float64) []int64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	parts := make([]int64, len(weights))
	rest, given, upTo := max(0, total-int64(len(weights))), int64(0), 0.0
	for i, w := range weights {
		if sum > 0 {
			upTo += w / sum
		} else {
			upTo += 1 / float64(len(weights))
		}
		next := int64(math.Round(float64(rest) * math.Min(upTo, 1)))
		if i == len(weights)-1 {
			next = rest
		}
		parts[i] = 1 + next - given
		given = next
	}
	return parts
}
