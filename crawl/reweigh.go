package crawl

import (
	"math"
	"time"

	"freshet/refresh"
	"freshet/weburl"
)

// reweighing has the weights of the pages that are kept fresh told again, and gives them to the pages.
type reweighing struct {
	next  refresh.ID // page to be weighed, of those that were there when the weights were told
	end   refresh.ID // before which they are
	under bool       // way
	begun bool
	at    time.Time // of the last
}

// reweigh goes on weighing pages by the weights that were told last, and asks for others if that is due.
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

// reweighed sets other weights. If none are known, the present ones stay.
func (f *fresh) reweighed(told Reweighed) {
	k := &f.reweighing
	k.under = false
	if told.Weight != nil {
		f.asked.Weight, f.asked.Embarrassment = told.Weight, told.Embarrassment
		k.next, k.end = 0, f.table.end()
	}
}

// reweighSome gives some further pages their weights.
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

// weightOf returns what a page weighs.
func (f *fresh) weightOf(u weburl.URL) float64 { return math.Max(0, f.asked.Weight(u)) }
