package replay

import (
	"math"

	"freshet/refresh"
)

// An oracle is the index rule with the true mean rate of each page.
type oracle struct {
	ranked
	before []float64 // by ID, changes/s
	after  []float64 // from turn on
	turn   float64
}

// newOracle returns the policy that knows each page's number of updates over its life in the window.
func newOracle(w *World) *oracle {
	rates := meanRates(w, 0, w.Window)
	return makeOracle(rates, rates, math.Inf(1))
}

// newScoredOracle returns the policy that knows that number for the learning part and for the scored part. Until its
// first visit in the scored part, a page has the larger of the two values.
func newScoredOracle(w *World) *oracle {
	turn := w.Window - w.Score
	return makeOracle(meanRates(w, 0, turn), meanRates(w, turn, w.Window), turn)
}

func makeOracle(before, after []float64, turn float64) *oracle {
	o := &oracle{before: before, after: after, turn: turn}
	o.rank(o.value)
	return o
}

// meanRates returns each page's updates per second over its life between two times.
func meanRates(w *World, from, to float64) []float64 {
	rates := make([]float64, len(w.Lives))
	for i, l := range w.Lives {
		n := 0
		for _, u := range l.Updates {
			if u >= from && u < to {
				n++
			}
		}
		if n > 0 {
			rates[i] = float64(n) / (math.Min(l.End, to) - math.Max(l.Born, from))
		}
	}
	return rates
}

// value returns w (1 - (1+dt) e^-dt)/d.
func (o *oracle) value(id refresh.ID, at float64) float64 {
	p := &o.pages[id]
	t := at - p.visited
	if at < o.turn {
		return p.weight * worth(o.before[id], t)
	}
	v := worth(o.after[id], t)
	if p.visited < o.turn {
		v = math.Max(v, worth(o.before[id], t))
	}
	return p.weight * v
}

func worth(rate, t float64) float64 {
	if rate == 0 {
		return 0
	}
	return (1 - (1+rate*t)*math.Exp(-rate*t)) / rate
}

// ranked is an index policy: it visits the page of the highest value.
type ranked struct {
	known
	ranking refresh.Ranking
	now     float64
}

// rank sets the function that values a visit to a page at a time.
func (r *ranked) rank(value func(id refresh.ID, at float64) float64) {
	r.ranking = refresh.Ranking{Value: value, Since: func(id refresh.ID) float64 { return r.pages[id].visited }, Root: math.Sqrt}
}

func (r *ranked) Add(id refresh.ID, page refresh.Page) {
	r.add(id, page)
	r.now = math.Max(r.now, page.Fresh)
	r.ranking.Place(id, r.now)
}

func (r *ranked) Remove(id refresh.ID) { r.ranking.Drop(id) }

func (r *ranked) Weigh(id refresh.ID, weight float64) {
	r.pages[id].weight = weight
	r.ranking.Again(id, r.now)
}

func (r *ranked) Visited(id refresh.ID, v refresh.Visit) {
	r.now = v.At
	r.pages[id].visited = v.At
	r.ranking.Place(id, v.At)
}

func (r *ranked) Next(now float64) (refresh.ID, float64, bool) {
	r.now = now
	id, ok := r.ranking.Pick(now)
	return id, now, ok
}

// known is what these policies record about pages.
type known struct {
	pages []struct{ visited, weight float64 }
}

func (k *known) add(id refresh.ID, page refresh.Page) {
	for int(id) >= len(k.pages) {
		k.pages = append(k.pages, struct{ visited, weight float64 }{})
	}
	k.pages[id].visited, k.pages[id].weight = page.Fresh, page.Weight
}
