package live

import (
	"math"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/node"
	"freshet/sim"
)

const day = 24 * time.Hour

// month is a web and a crawl of it, in a bubble.
type month struct {
	seed         uint64
	pages, sites int
	budget       int64
	days, from   int // it is scored from a day on
	policy       string
	delay        time.Duration
}

// score has the true and the estimated freshness, on average over the scored days.
type score struct {
	truth, estimate, uniform float64
	outside                  float64 // share of the samples in which the truth was outside the estimate's bounds
	requests                 int64   // the most in a day
	pages                    int64
}

func (m month) run(t *testing.T, fs vfs.FS) score {
	t.Helper()
	c := clock.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 8640)
	web, err := sim.NewWeb(sim.Config{Seed: m.seed, Sites: m.sites, Pages: m.pages, Bytes: 500, Clock: c, Latency: -1, Bandwidth: -1})
	if err != nil {
		t.Fatal(err)
	}
	judge := sim.NewJudge(web)
	n := newNetwork(web)
	engine, err := node.Open(node.Options{
		Dir: "data", FS: fs, Partitions: 2, Clock: c, UserAgent: "freshet-test", Connections: 16, Seeds: web.Homes(),
		RetryDelay: time.Hour, For: time.Duration(m.days) * day, WARCLevel: new(0), DiscoveryShare: new(0.5), Delay: m.delay,
		Refresh: &crawl.Refresh{Budget: m.budget, Policy: m.policy, OnVisit: judge.Visited},
		Fetch:   fetch.Options{Resolver: n, Dial: n.dial},
	})
	if err != nil {
		t.Fatal(err)
	}
	var s score
	samples := 0.0
	done := make(chan struct{})
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for i := 1; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(c.Machine(day / 4)):
			}
			if i < 4*m.from {
				continue
			}
			now := c.Now()
			crawler, uniform := judge.Verdicts(now)
			s.truth += crawler.Freshness
			s.uniform += uniform.Freshness
			window := engine.Freshness()
			s.estimate += window.Freshness
			if crawler.Freshness < window.Low || crawler.Freshness > window.High {
				s.outside++
			}
			if d := window.Pages - int64(crawler.Pages); d < -2 || d > 2 { // both are asked while the crawl goes on
				t.Errorf("the window counts %d pages, and %d have a copy", window.Pages, crawler.Pages)
			}
			samples++
			s.requests = max(s.requests, engine.Status().Refresh.Last)
			s.pages = int64(crawler.Pages)
		}
	}()
	summary, err := engine.Run(t.Context(), t.Context())
	if err != nil || summary.StoppedBy != crawl.TimeUp {
		t.Errorf("stopped by %s, error %v", summary.StoppedBy, err)
	}
	close(done)
	<-sampled
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	n.stop()
	s.truth, s.uniform, s.estimate, s.outside = s.truth/samples, s.uniform/samples, s.estimate/samples, s.outside/samples
	return s
}

// TestMonth keeps the demo's web fresh for 30 days. From day 5 on, what the window says of the copy is within 2 points
// of the truth on average, and the truth is better than visiting all pages alike would make it, within the budget. A
// single day is off by more: of 400 pages, each fresh or stale by chance, the truth itself scatters by 1.3 points.
// FRESHET_SEEDS sets the number of webs.
func TestMonth(t *testing.T) {
	webs := 1
	if n, err := strconv.Atoi(os.Getenv("FRESHET_SEEDS")); err == nil {
		webs = n
	}
	for seed := range uint64(webs) {
		synctest.Test(t, func(t *testing.T) {
			m := month{seed: 1 + seed, pages: 400, sites: 8, budget: 800, days: 30, from: 5}
			s := m.run(t, vfs.NewMem())
			t.Logf("web %d, %d pages: true freshness %.4f, estimate %.4f, uniform %.4f, at most %d requests a day", m.seed, s.pages, s.truth, s.estimate, s.uniform, s.requests)
			if math.Abs(s.truth-s.estimate) > 0.02 {
				t.Errorf("web %d: the estimate %.4f is more than 2 points from the truth %.4f", m.seed, s.estimate, s.truth)
			}
			if s.truth <= s.uniform {
				t.Errorf("web %d: freshness %.4f, and uniform has %.4f", m.seed, s.truth, s.uniform)
			}
			if most := m.budget + m.budget/100 + 1; s.requests > most {
				t.Errorf("web %d: %d requests in a day, want %d at most", m.seed, s.requests, most)
			}
		})
	}
}

// TestFirstDays holds that the truth is within the estimate's bounds in nine of ten samples of the first ten days, on
// four webs. The crawl still discovers pages, and visits feeds less often from day to day: for some days an estimate
// is some points too high.
func TestFirstDays(t *testing.T) {
	const webs = 4
	outside := 0.0
	for i := range webs {
		synctest.Test(t, func(t *testing.T) {
			m := month{seed: 21 + uint64(i), pages: 400, sites: 8, budget: 800, days: 10, from: 1}
			s := m.run(t, vfs.NewMem())
			t.Logf("web %d: true freshness %.4f, estimate %.4f, %.2f of the samples outside of its bounds", m.seed, s.truth, s.estimate, s.outside)
			outside += s.outside / webs
		})
	}
	if outside > 0.1 {
		t.Errorf("the truth is outside the estimate's bounds in %.2f of the samples, want 0.1 at most", outside)
	}
}

// TestPoliteMonth holds the estimate within 2 points of the truth, on average over eight webs, where politeness leaves
// a tenth of the budget. The crawl then visits most pages once or twice, and estimates them from others of their kind.
// The estimate of a single web is off by 2 points in one of three: its four thousand visits cannot tell more.
func TestPoliteMonth(t *testing.T) {
	const webs = 8
	off := 0.0
	for i := range webs {
		synctest.Test(t, func(t *testing.T) {
			m := month{seed: 3 + uint64(i), pages: 1600, sites: 4, budget: 1600, days: 30, from: 10, delay: 36 * time.Minute}
			s := m.run(t, vfs.NewMem())
			t.Logf("web %d, %d pages: true freshness %.4f, estimate %.4f, uniform %.4f, at most %d requests a day", m.seed, s.pages, s.truth, s.estimate, s.uniform, s.requests)
			off += (s.estimate - s.truth) / webs
		})
	}
	if math.Abs(off) > 0.02 {
		t.Errorf("on average the estimate is %+.4f off the truth, want 0.02 at most", off)
	}
}

// TestRestart holds that a crawl estimates its pages as before after it is opened again, from their stored visits.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 8640)
		web, err := sim.NewWeb(sim.Config{Seed: 3, Sites: 8, Pages: 80, Bytes: 500, Clock: c, Latency: -1, Bandwidth: -1})
		if err != nil {
			t.Fatal(err)
		}
		n := newNetwork(web)
		options := node.Options{
			Dir: "data", FS: vfs.NewMem(), Partitions: 2, Clock: c, UserAgent: "freshet-test", Connections: 16, Seeds: web.Homes(),
			RetryDelay: time.Hour, For: 6 * day, WARCLevel: new(0), DiscoveryShare: new(0.5),
			Refresh: &crawl.Refresh{Budget: 160}, Fetch: fetch.Options{Resolver: n, Dial: n.dial},
		}
		var before, after *crawl.Freshness
		for _, seen := range []**crawl.Freshness{&before, &after} {
			engine, err := node.Open(options)
			if err != nil {
				t.Fatal(err)
			}
			if seen == &after {
				after = engine.Freshness()
			} else if _, err := engine.Run(t.Context(), t.Context()); err != nil {
				t.Fatal(err)
			}
			if before == nil {
				before = engine.Freshness()
			}
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		}
		n.stop()
		if before.Pages < 50 || before.Pages != after.Pages || math.Abs(before.Freshness-after.Freshness) > 0.03 {
			t.Errorf("%d pages of freshness %.4f, and after the restart %d of %.4f", before.Pages, before.Freshness, after.Pages, after.Freshness)
		}
		t.Logf("freshness %.4f, after the restart %.4f", before.Freshness, after.Freshness)
	})
}
