package honesty

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/seen"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// orders are the orderings that a live crawl has.
func orders() []string {
	return []string{"length", "depth", "in-links", "opic", "cash-sum", "batch:8", "partial:8"}
}

func small(t testing.TB) *graph.Stored {
	t.Helper()
	web, _, err := graph.Generate(t.Context(), graph.Recipe{Seed: 11, Sites: 24, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	return web
}

// regular is a web where all pages of all sites take the same time. Every fifth site takes twice as long.
type regular struct {
	discovery.Web
	step float64 // s
}

func (w regular) Server(site uint32) discovery.Server {
	if site%5 == 4 {
		return discovery.Server{Latency: 2 * w.step}
	}
	return discovery.Server{Latency: w.step}
}

// tardy is a web with servers that are sometimes a little slower.
type tardy struct {
	discovery.Web
	by     float64 // s, at most
	random *rand.Rand
}

func (w tardy) Server(site uint32) discovery.Server {
	s := w.Web.Server(site)
	s.Latency += w.by * w.random.Float64()
	return s
}

// leaky is a web where some pages have many links that leave it. Such links get no part of the cash.
type leaky struct{ discovery.Web }

func (leaky) Leaving(page uint32) int { return int(page % 5 * 12) }

// spending is a leaky web where the links that leave it get their part of the cash.
type spending struct{ leaky }

func (w spending) Outside(page uint32) int { return w.Leaving(page) }

// The trials of the order by one fetcher: by these times no choice hangs on an instant.
const (
	step    = 300 * time.Millisecond
	between = 740 * time.Millisecond // w
	slip    = 0.03                   // s that a request may be late
)

func orderly(t testing.TB, order string) (Trial, discovery.Web) {
	return Trial{Order: order, Connections: 1, Delay: between, MaxPages: 35}, leaky{regular{small(t), step.Seconds()}}
}

// TestLeaving holds that it would show in the order if links that leave a web took their part of the cash. That
// the engine gives them none is TestOrder's.
func TestLeaving(t *testing.T) {
	for _, order := range []string{"opic", "cash-sum"} {
		trial, web := orderly(t, order)
		keeping, err := trial.Simulate(t.Context(), web, seen.DefaultWait)
		if err != nil {
			t.Fatal(err)
		}
		other, err := trial.Simulate(t.Context(), spending{web.(leaky)}, seen.DefaultWait)
		if err != nil {
			t.Fatal(err)
		}
		if n := Same(keeping, other); n == len(keeping.Requests) {
			t.Errorf("%s: the same %d requests", order, n)
		}
	}
}

// TestRobust holds that the order in TestOrder does not depend on exact times: late requests, and shorter or longer
// waits of links, do not change it.
func TestRobust(t *testing.T) {
	for _, order := range orders() {
		trial, web := orderly(t, order)
		want, err := trial.Simulate(t.Context(), web, seen.DefaultWait)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(40) {
			random := rand.New(rand.NewPCG(seed, 1))
			got, err := trial.Simulate(t.Context(), tardy{web, slip, random}, time.Duration(50+random.IntN(190))*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if n := Same(got, want); n < len(want.Requests) {
				t.Fatalf("%s, seed %d: the same for %d requests only", order, seed, n)
			}
		}
	}
}

// TestOrder crawls a web of 24 sites by one fetcher over real sockets. Its servers really sleep. The crawl fetches the
// pages in the order that the simulator predicts. A busy machine may make a crawl late; the test then repeats it.
func TestOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("servers that really sleep")
	}
	var crawls sync.WaitGroup // at the same time, as they do little but sleep
	verdicts := make([]verdict, len(orders()))
	for i, order := range orders() {
		crawls.Go(func() { verdicts[i] = judge(t, order, byte(100+i)) })
	}
	crawls.Wait()
	for i, order := range orders() {
		t.Run(order, func(t *testing.T) {
			if verdicts[i] == late {
				t.Skip("the machine was late in every crawl")
			}
		})
	}
}

// verdict is the result of a comparison of orders that did not fail.
type verdict int

const (
	same verdict = iota
	late
)

// judge crawls and compares, up to three times.
func judge(t *testing.T, order string, network byte) verdict {
	trial, web := orderly(t, order)
	simulated, err := trial.Simulate(t.Context(), web, seen.DefaultWait)
	if err != nil {
		t.Error(err)
		return same
	}
	servers, err := Serve(web, network)
	if err != nil {
		t.Error(err)
		return same
	}
	defer servers.Close()
	for range 3 {
		var live Story
		overslept := oversleeps(t, func() { live, err = trial.Crawl(t.Context(), servers, vfs.NewMem(), "data") })
		if err != nil {
			t.Error(err)
			return same
		}
		n := Same(live, simulated)
		if n == len(simulated.Requests) && n == len(live.Requests) {
			return same
		}
		lateness := max(lateness(live, simulated, n), overslept)
		t.Logf("%s: live %d pages and simulated %d, the same for the first %d; then %v and %v; %.0f ms late",
			order, len(live.Requests), len(simulated.Requests), n, around(live, n), around(simulated, n), 1e3*lateness)
		if lateness < slip {
			t.Errorf("%s: the order is another", order)
			return same
		}
	}
	return late
}

// oversleeps returns, in seconds, the longest delay of a sleep while do ran. On a busy machine a drain of links may be
// late by that much, though no request is: in a drain, goroutines wait for each other many times.
func oversleeps(t *testing.T, do func()) (most float64) {
	ctx, end := context.WithCancel(t.Context())
	var sleeping sync.WaitGroup
	sleeping.Go(func() {
		c := clock.Real()
		for {
			start := c.Now()
			if c.Sleep(ctx, time.Millisecond) != nil {
				return
			}
			most = max(most, c.Now().Sub(start).Seconds()-1e-3)
		}
	})
	do()
	end()
	sleeping.Wait()
	return most
}

// lateness returns the largest delay of a live step, of those between the first n requests, against the simulated one.
func lateness(live, simulated Story, n int) (most float64) {
	for i := range max(0, n-1) {
		most = max(most, live.Requests[i+1].Start-live.Requests[i].Start-(simulated.Requests[i+1].Start-simulated.Requests[i].Start))
	}
	return most
}

func around(s Story, i int) []uint32 {
	pages := s.Pages()
	return pages[min(i, len(pages)):min(i+5, len(pages))]
}

func TestRankCorrelation(t *testing.T) {
	for name, test := range map[string]struct {
		a, b   []uint32
		want   float64
		common int
	}{
		"same":     {[]uint32{4, 7, 1}, []uint32{4, 7, 1}, 1, 3},
		"reverse":  {[]uint32{4, 7, 1}, []uint32{1, 7, 4}, -1, 3},
		"swapped":  {[]uint32{1, 2, 3, 4}, []uint32{2, 1, 3, 4}, 1 - 6*2./(4*15), 4}, // 1 - 6 Σd²/(n(n²-1))
		"some":     {[]uint32{9, 1, 2, 8}, []uint32{1, 5, 2}, 1, 2},
		"disjoint": {[]uint32{1}, []uint32{2}, math.NaN(), 0},
	} {
		got, common := RankCorrelation(test.a, test.b)
		if !(math.Abs(got-test.want) < 1e-12 || math.IsNaN(got) && math.IsNaN(test.want)) || common != test.common {
			t.Errorf("%s: %v of %d pages, want %v of %d", name, got, common, test.want, test.common)
		}
	}
}

// faster is a web with servers that are that many times as fast.
type faster struct {
	discovery.Web
	by float64
}

func (w faster) Server(site uint32) discovery.Server {
	s := w.Web.Server(site)
	return discovery.Server{Latency: s.Latency / w.by, Rate: s.Rate * w.by}
}

// BenchmarkHonesty crawls a web of 100 sites and 740 pages by 64 fetchers, live and in the simulator, and sets
// side by side how long it took and how busy the fetchers were.
func BenchmarkHonesty(b *testing.B) {
	const connections = 64
	stored, _, err := graph.Generate(b.Context(), graph.Recipe{Seed: 71, Sites: 100, HomeShare: 0.6})
	if err != nil {
		b.Fatal(err)
	}
	web := faster{stored, 8}
	for i, order := range orders() {
		b.Run("order="+order, func(b *testing.B) {
			trial := Trial{Order: order, Connections: connections, Delay: 100 * time.Millisecond}
			servers, err := Serve(web, byte(110+i))
			if err != nil {
				b.Fatal(err)
			}
			defer servers.Close()
			var live, simulated Story
			for b.Loop() {
				if live, err = trial.Crawl(b.Context(), servers, vfs.Default, b.TempDir()); err != nil {
					b.Fatal(err)
				}
				if simulated, err = trial.Simulate(b.Context(), web, seen.DefaultWait); err != nil {
					b.Fatal(err)
				}
			}
			report(b, live, simulated, connections)
		})
	}
}

// report sets a live crawl beside a simulated one.
func report(b *testing.B, live, simulated Story, connections int) {
	correlation, common := RankCorrelation(live.Pages(), simulated.Pages())
	b.Logf("live %d pages in %.2f s, utilisation %.4f; simulated %d in %.2f s (%+.1f %%), %.4f (%+.1f %%); the first %d in the same order, rank correlation %.4f",
		len(live.Requests), live.Duration, live.Utilisation(connections),
		len(simulated.Requests), simulated.Duration, percent(simulated.Duration, live.Duration),
		simulated.Utilisation(connections), percent(simulated.Utilisation(connections), live.Utilisation(connections)),
		Same(live, simulated), correlation)
	if !slices.Equal(slices.Sorted(slices.Values(live.Pages())), slices.Sorted(slices.Values(simulated.Pages()))) {
		b.Logf("the pages are not the same: %d in common", common)
	}
	b.ReportMetric(math.Abs(percent(simulated.Duration, live.Duration)), "%-duration")
	b.ReportMetric(math.Abs(percent(simulated.Utilisation(connections), live.Utilisation(connections))), "%-utilisation")
	b.ReportMetric(correlation, "correlation")
}

// percent returns by how many percent of the second the first differs from it.
func percent(x, of float64) float64 { return 100 * (x - of) / of }
