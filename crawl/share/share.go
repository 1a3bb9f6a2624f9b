// Package share divides what a whole crawl may use among its parts: the shards of a node, or the nodes of a cluster.
//
// A visit is worth something, and one threshold holds for all parts: each visits those of its pages whose visits are
// worth more. The parts agree on the threshold at which they ask together for as many visits as the budget has
// (allocate.Agree). So pages compete as if one machine knew them all. New pages, of whose worth nothing is known, have
// the share of the budget that is owed to discovery. Each part has as much of it as its new pages can use until the
// next division. Where that is more than there is, parts that want more have equally much: the many pages of one do not
// starve the few of another.
//
// The package decides, and asks nobody: whoever divides tells it what the parts answer.
package share

import (
	"cmp"
	"math"
	"slices"

	"freshet/allocate"
)

// Total is what all parts have together.
type Total struct {
	Requests  int64   `json:"requests"`  // an interval
	Visits    int64   `json:"visits"`    // over the horizon, of those that a policy plans
	Horizon   float64 `json:"horizon_s"` // over which the worth of visits is compared
	Interval  float64 `json:"interval_s"`
	Discovery float64 `json:"discovery"` // share of the requests that is owed to new pages
}

// ahead is how many visits a page, on average, a horizon has: as many as policy plan looks ahead.
const ahead = 2

// Of returns what a budget of requests an interval has for so many pages.
func Of(requests int64, interval, discovery float64, pages int64) Total {
	perSecond := float64(requests) / interval
	t := Total{Requests: requests, Interval: interval, Discovery: discovery}
	t.Horizon = math.Max(interval, ahead*float64(pages)/perSecond)
	t.Visits = int64(math.Min(math.Floor(perSecond*t.Horizon+rounding), math.MaxInt32/2))
	return t
}

// rounding is what a whole number may have lost by being divided.
const rounding = 1e-6

// Wants is what a part says before it is asked for its visits.
type Wants struct {
	New   int64 `json:"new"`   // pages that wait for their first visit
	Pages int64 `json:"pages"` // that are kept fresh
}

// And returns what two parts want.
func (w Wants) And(o Wants) Wants { return Wants{w.New + o.New, w.Pages + o.Pages} }

// Part is what a part gets.
type Part struct {
	Requests int64   `json:"requests"` // an interval, one at least
	Visits   int64   `json:"visits"`   // over the horizon
	Horizon  float64 `json:"horizon_s"`
	// Discovery is the share of the requests that is owed to new pages. A part without new pages has the share of the
	// total, for those that it may find.
	Discovery float64 `json:"discovery"`
}

// PerSecond returns how many visits a second a policy plans with.
func (p Part) PerSecond() float64 { return (float64(p.Visits) + 1e-3) / p.Horizon }

// again is about how many seconds it takes until a total is divided again.
const again = 5

// Divide divides a total among parts that want something. Ask tells all parts a threshold, and returns what they ask
// for at it. The error is ask's.
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

// evenly divides a total: nobody gets more than it needs, and what it leaves is for those that need more.
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

// Split divides a whole number by weights, which may all be 0: evenly then. Each part is 1 at least; the whole has as
// many.
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
