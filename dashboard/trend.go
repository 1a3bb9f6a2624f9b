package dashboard

import (
	"context"
	"sync"
	"time"

	"freshet/clock"
)

// trendPoints is how many readings of a run are remembered, at most.
const trendPoints = 480

// A Trend remembers readings of the status during a run. It is bounded: when it is full, it drops every second
// reading and reads half as often from then on.
type Trend struct {
	mu       sync.Mutex
	readings []reading
	every    time.Duration // of the machine's time
}

// reading is what a Trend keeps of a status.
type reading struct {
	atS                    float64 // since the run began, by the crawl's clock
	fetched, failed, bytes int64
	pending                int64
	kept                   bool // pages are kept fresh: the next fields are set
	fresh, ageS            float64
	expected, found        float64
	active, allowed        int
}

// NewTrend returns a Trend that remembers nothing yet.
func NewTrend() *Trend { return &Trend{every: time.Second} }

// Run reads a Reader's status regularly until ctx ends.
func (t *Trend) Run(ctx context.Context, r Reader) {
	for {
		if n, err := readNow(r); err == nil {
			t.note(n)
		}
		if clock.Real().Sleep(ctx, t.pause()) != nil {
			return
		}
	}
}

func (t *Trend) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.every
}

func (t *Trend) note(n now) {
	m := reading{atS: n.DurationS, fetched: n.fetched(), failed: n.Failed, bytes: n.Bytes, pending: n.QueuedNew,
		active: n.Fleet.Active, allowed: n.Fleet.Allowed}
	if f := n.Refresh; f != nil && f.Pages > 0 {
		m.kept = true
		m.fresh, m.ageS, m.expected, m.found = f.Freshness, f.MeanAgeS, f.ExpectedChanged, f.FoundChanged
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.readings) == trendPoints {
		for i := range trendPoints / 2 {
			t.readings[i] = t.readings[2*i+1]
		}
		t.readings, t.every = t.readings[:trendPoints/2], 2*t.every
	}
	t.readings = append(t.readings, m)
}

// keptFresh returns the readings with a freshness.
func keptFresh(all []reading) (some []reading) {
	for _, m := range all {
		if m.kept {
			some = append(some, m)
		}
	}
	return some
}

// past returns what is remembered, oldest first.
func (t *Trend) past() []reading {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]reading(nil), t.readings...)
}

// level returns a line through a value of each reading.
func level(name string, all []reading, of func(reading) float64) line {
	l := line{Name: name}
	for _, m := range all {
		l.points = append(l.points, point{m.atS, of(m)})
	}
	return l
}

// rate returns a line of the growth of a count, a second of the crawl's clock.
func rate(name string, all []reading, of func(reading) int64) line {
	l := line{Name: name}
	for i := 1; i < len(all); i++ {
		if passed := all[i].atS - all[i-1].atS; passed > 0 {
			l.points = append(l.points, point{all[i].atS, float64(of(all[i])-of(all[i-1])) / passed})
		}
	}
	return l
}
