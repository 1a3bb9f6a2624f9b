package fleet

import "math"

// sums are what a Controller counts.
type sums struct {
	time, starved, loaded float64 // seconds; with a worker that starves, and with none
	busy, waiting         float64 // seconds of fetchers: at work, and waiting for a place in the queue
	fetched               float64 // pages brought
	processed             float64 // pages that left while no worker starved
	gaps, gapSum, gapSq   float64 // gaps between two of these in a row: number, seconds, squares
}

// gap counts a time between two departures; NaN if the queue was not busy throughout.
func (s *sums) gap(seconds float64) {
	if seconds >= 0 {
		s.gaps++
		s.gapSum += seconds
		s.gapSq += seconds * seconds
	}
}

// add multiplies s by keep and adds t.
func (s *sums) add(t *sums, keep float64) {
	for _, f := range []struct {
		sum *float64
		by  float64
	}{
		{&s.time, t.time}, {&s.starved, t.starved}, {&s.loaded, t.loaded}, {&s.busy, t.busy}, {&s.waiting, t.waiting},
		{&s.fetched, t.fetched}, {&s.processed, t.processed}, {&s.gaps, t.gaps}, {&s.gapSum, t.gapSum}, {&s.gapSq, t.gapSq},
	} {
		*f.sum = *f.sum*keep + f.by
	}
}

// unlike reports whether the rates of the two differ by more than chance explains, given the number of events in
// both. Then something has changed, and the older counts are of no use.
func (s *sums) unlike(t *sums) bool {
	const (
		certain = 40
		factor  = 1.6
	)
	return min(s.fetched, t.fetched) >= certain && apart(s.fetched/s.busy, t.fetched/t.busy, factor) ||
		min(s.processed, t.processed) >= certain && apart(s.processed/s.loaded, t.processed/t.loaded, factor)
}

// variation returns the squared coefficient of variation of the gaps, NaN if there are too few.
func (s *sums) variation() float64 {
	if s.gaps < enough {
		return math.NaN()
	}
	mean := s.gapSum / s.gaps
	return max(0, s.gapSq/s.gaps/(mean*mean)-1)
}

// A Reading is what a Controller measures and does.
type Reading struct {
	Allowed int // fetchers that may be active
	Active  int // fetchers, those that wait for a place included
	Queue   int // pages in the queue
	Waiting int // fetchers that hold a page and wait for a place

	ArrivalRate float64 // λ; 0 if not known yet
	ServiceRate float64 // μ; 0 if not known yet
	// Variation is the squared coefficient of variation of the times between pages that leave the
	// queue while no worker starves; the model takes it for 1. NaN if not known.
	Variation float64
	Gamma     float64 // γ, as in force

	Starvation float64 // share of time in about the last ten seconds in which a worker starved
	Loss       float64 // pages a second that fetchers would have brought had they not waited
	Cost       float64 // γ·Starvation + Loss

	// The plan's best fixed number and switching curves. Zero and nil before there is a plan.
	Fixed    Static
	Switched *Dynamic

	// Totals since the beginning: seconds; seconds in which a worker starved; seconds of fetchers waiting and at
	// work; pages brought; and changes of the number allowed.
	Time, Starved, Waited, Busy, Fetched float64
	Changes                              int64

	Consumers []Consumer // by name
}

// Read returns the present readings.
func (c *Controller) Read(now float64) Reading {
	c.advance(now)
	recent, total := c.recent, c.total
	recent.add(&c.window, 1)
	total.add(&c.window, 1)
	m := c.model()
	r := Reading{
		Allowed: c.Allowed(), Active: c.active, Queue: min(c.inside, c.Queue), Waiting: c.waiting(),
		ArrivalRate: m.ArrivalRate, ServiceRate: m.ServiceRate, Variation: recent.variation(), Gamma: m.Gamma,
		Time: total.time, Starved: total.starved, Waited: total.waiting, Busy: total.busy, Fetched: total.fetched,
		Changes: c.changes, Consumers: c.sorted(),
	}
	if recent.time > 0 {
		r.Starvation, r.Loss = recent.starved/recent.time, m.ArrivalRate*recent.waiting/recent.time
	}
	r.Cost = m.Gamma*r.Starvation + r.Loss
	if c.plan != nil {
		r.Fixed, r.Switched = c.plan.Fixed, c.plan.Switched
	}
	return r
}
