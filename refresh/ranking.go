package refresh

import (
	"math"
	"slices"
)

// A Ranking finds the page with the highest value now, although all values change all the time. It relies on two
// laws. The value of a page rises from one visit to the next. And it rises no faster than a power of the time since
// the visit. So a page with a low value need not be valued again for a while. Such pages are cold: they wait for the
// time at which they could reach the bar. Pages that have reached the bar are hot. Each pick values some of the hot
// pages again. If there are too many hot pages the bar rises; if there are none it falls.
type Ranking struct {
	// Value returns the value of a visit at a time, which may be in the future.
	Value func(id ID, at float64) float64
	// Since returns the time from which the page's value rises.
	Since func(id ID) float64
	// Root inverts the largest power of the time since the visit by which values grow: math.Sqrt for freshness.
	Root func(float64) float64
	// Steady returns for how long the page's value obeys that; nil: always.
	Steady func(id ID) float64

	cold   Queue     // by the time to value again
	hot    Queue     // by -value, when valued last
	bar    float64   // pages below are cold
	picks  int       // since all hot pages were valued
	span   float64   // approximate time between two visits of a page
	valued []float64 // by ID, while draw sets the bar: values; NaN if the page was placed since
	walk   []ID      // scratch
}

// Len returns the number of ranked pages.
func (r *Ranking) Len() int { return r.cold.Len() + r.hot.Len() }

// Has reports whether the page is ranked.
func (r *Ranking) Has(id ID) bool { return r.cold.Has(id) || r.hot.Has(id) }

// Place ranks the page again: it was added or visited, or the beliefs about it have changed.
func (r *Ranking) Place(id ID, now float64) {
	if r.bar == 0 {
		r.picks = math.MaxInt32 // the first pick values all pages
	}
	if int(id) < len(r.valued) {
		r.valued[id] = math.NaN()
	}
	r.part(id, now, r.Value(id, now))
}

// part puts a page with value v among the hot or the cold.
func (r *Ranking) part(id ID, now, v float64) {
	r.cold.place = Grown(r.cold.place, id)
	r.hot.place = r.cold.place
	if v >= r.bar {
		r.cold.Drop(id)
		r.hot.Set(id, -v)
		return
	}
	r.hot.Drop(id)
	r.cold.Set(id, r.reach(id, now, v))
}

// Again is Place, but does nothing for a page that is not ranked.
func (r *Ranking) Again(id ID, now float64) {
	if r.Has(id) {
		r.Place(id, now)
	}
}

// Drop takes the page out.
func (r *Ranking) Drop(id ID) {
	r.cold.Drop(id)
	r.hot.Drop(id)
}

// Pick takes out the page with the highest value. On average it costs O(log n) and some tens of values.
func (r *Ranking) Pick(now float64) (ID, bool) {
	r.prepare(now, nil)
	id, _, ok := r.best()
	if ok {
		r.take(id, now)
	}
	return id, ok
}

// prepare values again the pages that are due. Then the first hot page has the highest value. Between pieces, pages
// may be placed, dropped and taken.
func (r *Ranking) prepare(now float64, p *pieces) {
	for r.cold.Len() > 0 {
		id, at := r.cold.First()
		if at > now {
			break
		}
		r.Place(id, now)
		p.did(1)
	}
	switch n := r.Len(); {
	case n == 0:
	case r.hot.Len() == 0:
		r.draw(&r.cold, now, p)
	case r.picks <= r.hot.Len()/16:
	case r.hot.Len() > max(32, n/4):
		r.picks = 0
		r.draw(&r.hot, now, p)
	default:
		r.picks = 0
		r.look(now, p)
	}
}

// best returns the hot page with the highest value, and the value as of its last valuation. O(1).
func (r *Ranking) best() (id ID, value float64, ok bool) {
	if r.hot.Len() == 0 {
		return 0, 0, false
	}
	r.picks++
	id, value = r.hot.First()
	return id, -value, true
}

// take takes out the page for a visit now. O(log n).
func (r *Ranking) take(id ID, now float64) {
	r.Drop(id)
	r.span += (now - r.Since(id) - r.span) / 64
}

// look values the hot pages again.
func (r *Ranking) look(now float64, p *pieces) {
	r.walk = append(r.walk[:0], r.hot.ids...) // the queue changes meanwhile
	for _, id := range r.walk {
		if r.hot.Has(id) {
			r.hot.Set(id, -r.Value(id, now))
		}
		p.did(1)
	}
}

// draw sets the bar so that one page in 16 is hot, and parts the pages of q by it. q is the hot pages if there are
// too many of them, and the cold ones if none is hot.
func (r *Ranking) draw(q *Queue, now float64, p *pieces) {
	r.valued = make([]float64, len(q.place))
	values := make([]float64, 0, q.Len())
	all := slices.Clone(q.ids)
	for _, id := range all {
		if q.Has(id) {
			r.valued[id] = r.Value(id, now)
			values = append(values, r.valued[id])
		}
		p.did(1)
	}
	if len(values) == 0 { // all were dropped meanwhile
		r.valued = nil
		return
	}
	r.bar = highest(values, r.Len()/16)
	for _, id := range all {
		if q.Has(id) {
			v := math.NaN()
			if int(id) < len(r.valued) {
				v = r.valued[id]
			}
			if math.IsNaN(v) {
				v = r.Value(id, now)
			}
			r.part(id, now, v)
		}
		p.did(1)
	}
	r.valued = nil
	q.trim()
}

// highest returns the (n+1)th highest value. It reorders the values.
func highest(values []float64, n int) float64 {
	slices.Sort(values)
	return values[max(0, len(values)-1-n)]
}

// reach returns a time after now up to which the page, with value v below the bar now, stays below it.
func (r *Ranking) reach(id ID, now, v float64) float64 {
	since := r.Since(id)
	age := math.Max(now-since, 0)
	ahead := age
	if 16*v < r.bar { // far below: value it at the usual time between visits
		ahead = math.Max(age, r.span)
		v = r.Value(id, since+ahead)
		for v >= r.bar && ahead > 1.01*age {
			ahead = math.Max(age, ahead/2)
			v = r.Value(id, since+ahead)
		}
	}
	stretch := 4.0
	if r.bar < 16*v {
		stretch = r.Root(r.bar / v)
	}
	again := math.Max(since+stretch*ahead, now+r.span/128+1e-3)
	if r.Steady != nil {
		again = math.Min(again, now+r.Steady(id))
	}
	if least := now + 1e-3; !(again > least) { // else the page would be valued forever
		return least
	}
	return again
}
