package dashboard

import (
	"context"
	"sync"
	"time"
	"unique"

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
	sites                  []siteReading // the 50 with the most pages that are kept fresh
}

// siteReading is what a reading keeps of a site. A full Trend has 384 kB of them.
type siteReading struct {
	site        unique.Handle[string]
	fresh, ageS float32
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
		for site, one := range f.Sites {
			m.sites = append(m.sites, siteReading{unique.Make(site), float32(one.Freshness), float32(one.MeanAgeS)})
		}
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

// ofSites returns the past of each site: how fresh it was, and how old.
func ofSites(past []reading) map[string]*sitePast {
	all := map[string]*sitePast{}
	for _, m := range past {
		for _, one := range m.sites {
			name := one.site.Value()
			if all[name] == nil {
				all[name] = new(sitePast)
			}
			all[name].fresh = append(all[name].fresh, point{m.atS, float64(one.fresh)})
			all[name].age = append(all[name].age, point{m.atS, float64(one.ageS)})
		}
	}
	return all
}

// sitePast is the past of a site.
type sitePast struct{ fresh, age []point }

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
