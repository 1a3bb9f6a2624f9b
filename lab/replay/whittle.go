package replay

import "freshet/refresh"

// A whittle policy is the index rule of Avrachenkov and Borkar (2018) with the estimator of Avrachenkov, Patil and
// Thoppe (2020) by the law of large numbers. If m of n crawls over a time T saw a change, the rate is m n / (T (n -
// m)). It learns each page alone. It adds half a crawl to each kind: without that, it would never visit again a page
// that it never saw change. A page without a visit has the rate of all pages together.
type whittle struct {
	ranked
	counts []crawls // by ID
	all    crawls
}

// crawls counts the crawls of a page, those that saw a change, and their time.
type crawls struct{ number, changed, time float64 }

func (c crawls) rate() float64 {
	return (c.changed + 0.5) * (c.number + 1) / (c.time * (c.number - c.changed + 0.5))
}

func newWhittle() *whittle {
	w := &whittle{}
	w.rank(w.value)
	return w
}

func (w *whittle) value(id refresh.ID, at float64) float64 {
	c := w.counts[id]
	if c.number == 0 {
		c = w.all
	}
	p := &w.pages[id]
	if c.number == 0 {
		return p.weight * (at - p.visited)
	}
	return p.weight * worth(c.rate(), at-p.visited)
}

func (w *whittle) Add(id refresh.ID, page refresh.Page) {
	for int(id) >= len(w.counts) {
		w.counts = append(w.counts, crawls{})
	}
	w.counts[id] = crawls{}
	w.ranked.Add(id, page)
}

func (w *whittle) Visited(id refresh.ID, v refresh.Visit) {
	if v.Outcome != refresh.Unknown {
		changed := 0.0
		if v.Outcome == refresh.Changed {
			changed = 1
		}
		for _, c := range []*crawls{&w.counts[id], &w.all} {
			c.number++
			c.changed += changed
			c.time += v.At - w.pages[id].visited
		}
	}
	w.ranked.Visited(id, v)
}
