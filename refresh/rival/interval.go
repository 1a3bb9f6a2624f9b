package rival

import (
	"fmt"
	"math"

	"freshet/refresh"
)

const day = 86400.0

// An Adaptive policy gives each page an interval, which shrinks after a change and grows after a visit without one.
// It visits the page that is due first.
type Adaptive struct {
	first float64
	adapt func(p *page, v refresh.Visit) (due float64)
	due   refresh.Queue
	pages []page
}

// A page holds the interval and the time of the last observed change.
type page struct {
	interval, modified float64
	known              bool
}

// NewNutch returns the rule of Apache Nutch's AdaptiveFetchSchedule with its default constants. The interval starts
// at 30 days. It is multiplied by 1.4 after a visit without a change and by 0.8 after a change, up to a year. The
// next visit is moved towards the last change by 0.3 of the time since it; here that time is at most the interval.
func NewNutch() *Adaptive {
	return &Adaptive{first: 30 * day, adapt: func(p *page, v refresh.Visit) float64 {
		switch v.Outcome {
		case refresh.Changed:
			p.interval *= 0.8
			p.modified = v.At
			if v.Modified > 0 {
				p.modified = v.Modified
			}
		case refresh.Unchanged:
			p.interval *= 1.4
		}
		since := v.At - p.modified
		p.interval = math.Min(math.Max(math.Max(p.interval, since), 60), 365*day)
		return v.At - 0.3*math.Min(since, p.interval) + p.interval
	}}
}

// NewStormCrawler returns the rule of StormCrawler's AdaptiveScheduler with its default constants. The interval
// starts at a day. It is halved after a change, down to an hour, and multiplied by 1.5 without one, up to two weeks.
func NewStormCrawler() *Adaptive {
	return &Adaptive{first: day, adapt: func(p *page, v refresh.Visit) float64 {
		switch v.Outcome {
		case refresh.Changed:
			p.interval = math.Max(3600, p.interval/2)
		case refresh.Unchanged:
			p.interval = math.Min(14*day, 1.5*p.interval)
		}
		return v.At + p.interval
	}}
}

// Add makes the page due after the first interval.
func (a *Adaptive) Add(id refresh.ID, p refresh.Page) {
	for int(id) >= len(a.pages) {
		a.pages = append(a.pages, page{})
	}
	if a.pages[id].known {
		panic(fmt.Sprintf("rival: page %d is added twice", id))
	}
	a.pages[id] = page{interval: a.first, modified: p.Fresh, known: true}
	a.due.Set(id, p.Fresh+a.first)
}

// Remove forgets the page.
func (a *Adaptive) Remove(id refresh.ID) {
	a.must(id).known = false
	a.due.Drop(id)
}

// Weigh changes nothing: these rules ignore weights.
func (a *Adaptive) Weigh(id refresh.ID, _ float64) { a.must(id) }

// Visited adapts the interval. A failed visit does not change it.
func (a *Adaptive) Visited(id refresh.ID, v refresh.Visit) {
	p := a.must(id)
	if v.Outcome == refresh.Unknown {
		a.due.Set(id, v.At+p.interval)
		return
	}
	a.due.Set(id, a.adapt(p, v))
}

// Next returns the page that is due first, even if it is not due yet.
func (a *Adaptive) Next(float64) (refresh.ID, float64, bool) {
	if a.due.Len() == 0 {
		return 0, math.Inf(1), false
	}
	id, at := a.due.Pop()
	return id, at, true
}

func (a *Adaptive) must(id refresh.ID) *page {
	if int(id) >= len(a.pages) || !a.pages[id].known {
		panic(fmt.Sprintf("rival: no page %d", id))
	}
	return &a.pages[id]
}
