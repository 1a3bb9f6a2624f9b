package crawl

import (
	"math"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// reweighing requests new weights for the pages that are kept fresh, and applies them.
type reweighing struct {
	next  refresh.ID // next page to weigh
	end   refresh.ID // before which pages are weighed: those known when the weights came
	under bool       // a request for weights is under way
	begun bool
	at    time.Time // time of the last request
}

// reweigh continues applying the last weights, and requests new ones if that is due.
func (s *Shard) reweigh() {
	f := s.fresh
	k := &f.reweighing
	switch {
	case f.asked.Reweigh <= 0 || k.under:
	case k.next < k.end:
		f.reweighSome()
		s.wakeAt(s.now)
	case !k.begun || s.now.Sub(k.at) >= f.asked.Reweigh:
		k.begun, k.under, k.at = true, true, s.now
		s.out.Reweigh = true
	default:
		s.wakeAt(k.at.Add(f.asked.Reweigh))
	}
}

// reweighed accepts new weights. If there are none, the present ones stay.
func (f *fresh) reweighed(told Reweighed) {
	k := &f.reweighing
	k.under = false
	if told.Weight != nil {
		f.asked.Weight, f.asked.Embarrassment = told.Weight, told.Embarrassment
		k.next, k.end = 0, f.table.end()
	}
}

// reweighSome sets the weights of some more pages.
func (f *fresh) reweighSome() {
	k := &f.reweighing
	for end := min(k.next+reweighedAtOnce, k.end); k.next < end; k.next++ {
		if _, kept := f.keeper.Site(k.next); !kept {
			continue
		}
		u, page := f.url(k.next), &f.table.pages[k.next]
		if u.IsZero() {
			continue
		}
		if weight := f.weightOf(u); float32(weight) != page.weight {
			page.weight = float32(weight)
			f.keeper.Weigh(k.next, weight)
		}
	}
}

// weightOf returns the weight of a page.
func (f *fresh) weightOf(u weburl.URL) float64 { return math.Max(0, f.asked.Weight(u)) }
