package discovery_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/clock"
	"freshet/frontier"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

// chain is a web of sites with equally many pages, one after the other. Page i of a site links to page i+1 of its site,
// or of all sites if across is set.
type chain struct {
	sites, pages int
	across       bool
}

func (w chain) Sites() int { return w.sites }
func (w chain) Pages() int { return w.sites * w.pages }
func (w chain) Range(site uint32) (first, end uint32) {
	return site * uint32(w.pages), (site + 1) * uint32(w.pages)
}
func (w chain) SiteOf(page uint32) uint32               { return page / uint32(w.pages) }
func (w chain) Home(site uint32) (page uint32, ok bool) { return site * uint32(w.pages), true }
func (w chain) Server(uint32) discovery.Server          { return discovery.Server{Latency: 1, Rate: 100} }
func (w chain) Bytes(uint32) float64                    { return 200 }

func (chain) Outside(uint32) int { return 0 }

func (w chain) AppendLinks(dst []uint32, page uint32) []uint32 {
	if (page+1)%uint32(w.pages) == 0 {
		return dst
	}
	if !w.across {
		return append(dst, page+1)
	}
	for site := range uint32(w.sites) {
		dst = append(dst, site*uint32(w.pages)+page%uint32(w.pages)+1)
	}
	return dst
}

// TestTimes compares crawls with times worked out by hand. A page takes a latency of 1 s, and 2 s for its bytes.
func TestTimes(t *testing.T) {
	const w = 15 * time.Second
	for name, test := range map[string]struct {
		web     chain
		options discovery.Options
		want    discovery.Result
	}{
		"one site": {chain{1, 4, false}, discovery.Options{Delay: w},
			discovery.Result{Fetched: 4, Known: 4, Links: 3, Bytes: 800, Duration: 4*3 + 3*15, Busy: 12}},
		"kept connections": {chain{1, 4, false}, discovery.Options{Delay: w, PerConnection: 3},
			discovery.Result{Fetched: 4, Known: 4, Links: 3, Bytes: 800, Duration: 4*2 + 2*1 + 15, Busy: 10}},
		"one fetcher": {chain{6, 1, false}, discovery.Options{Delay: w},
			discovery.Result{Fetched: 6, Known: 6, Bytes: 1200, Duration: 18, Busy: 18}},
		"many": {chain{6, 2, false}, discovery.Options{Delay: w, Connections: 6},
			discovery.Result{Fetched: 12, Known: 12, Links: 6, Bytes: 2400, Duration: 3 + 15 + 3, Busy: 36}},
		// The queue is empty when the first page comes, so the crawl decides its link at once.
		"hungry": {chain{1, 2, false}, discovery.Options{Wait: 20 * time.Second},
			discovery.Result{Fetched: 2, Known: 2, Links: 1, Bytes: 400, Duration: 3 + 3, Busy: 6}},
		"narrow link": {chain{1, 2, false}, discovery.Options{Bandwidth: 50},
			discovery.Result{Fetched: 2, Known: 2, Links: 1, Bytes: 400, Duration: 10, Busy: 10}},
		// The first of two starts alone, at 100 bytes/s. The second shares the link, at 50 bytes/s.
		"shared link": {chain{2, 1, false}, discovery.Options{Bandwidth: 100, Connections: 2},
			discovery.Result{Fetched: 2, Known: 2, Bytes: 400, Duration: 1 + 4, Busy: 3 + 5}},
		"robots": {chain{1, 2, false}, discovery.Options{Delay: w, Robots: true},
			discovery.Result{Fetched: 2, Known: 2, Links: 1, Bytes: 400, Duration: 6 + 15 + 3 + 15 + 3, Busy: 12}},
		"limit": {chain{1, 4, false}, discovery.Options{MaxPages: 2},
			discovery.Result{Fetched: 2, Known: 3, Links: 2, Bytes: 400, Duration: 6, Busy: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := discovery.Crawl(t.Context(), test.web, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPolite holds every crawl of a small web to its law. It fetches each page once, at most r at a time and one of a
// site, and waits w between an answer and the next connection. The same crawl makes the same fetches.
func TestPolite(t *testing.T) {
	web, _, err := graph.Generate(t.Context(), graph.Recipe{Seed: 5, Sites: 30, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := discovery.Options{
			Ordering:    rapid.SampledFrom([]frontier.Ordering{nil, frontier.Depth{}, frontier.OPIC{}, frontier.CashSum{}, frontier.Batch{Every: frontier.Every{Share: 0.1}}, frontier.Partial{Every: frontier.Every{Pages: 50}}}).Draw(t, "ordering"),
			Connections: rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "r"),
			Delay:       time.Duration(rapid.IntRange(0, 20).Draw(t, "w")) * time.Second,
			Wait:        time.Duration(rapid.IntRange(0, 3).Draw(t, "wait")) * time.Second,
			Bandwidth:   rapid.SampledFrom([]float64{0, 1000, 1e6}).Draw(t, "bandwidth"),
			Robots:      rapid.Bool().Draw(t, "robots"),
		}
		var fetches []discovery.Fetch
		o.Fetched = func(f discovery.Fetch) { fetches = append(fetches, f) }
		result, err := discovery.Crawl(t.Context(), web, o)
		if err != nil {
			t.Fatal(err)
		}
		first := slices.Clone(fetches)
		fetches = nil
		if again, err := discovery.Crawl(t.Context(), web, o); err != nil || again != result || !slices.Equal(fetches, first) {
			t.Fatalf("%+v, and again %+v, error %v", result, again, err)
		}
		if result.Fetched != web.Pages() {
			t.Fatalf("%d pages fetched of %d", result.Fetched, web.Pages())
		}
		holdPolite(t, o, fetches)
	})
}

func holdPolite(t *rapid.T, o discovery.Options, fetches []discovery.Fetch) {
	t.Helper()
	type edge struct {
		at   float64
		step int
	}
	var edges []edge
	done, end := map[uint32]bool{}, map[uint32]float64{}
	const slip = 1e-6 // s: times are nanoseconds in the frontier
	for _, f := range fetches {
		if done[f.Page] {
			t.Fatalf("page %d after it was fetched", f.Page)
		}
		done[f.Page] = true
		if last, ok := end[f.Site]; ok && f.Start < last+o.Delay.Seconds()-slip {
			t.Fatalf("site %d asked at %v, %v after the answer at %v", f.Site, f.Start, f.Start-last, last)
		}
		end[f.Site] = f.End
		edges = append(edges, edge{f.Start, 1}, edge{f.End, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	active := 0
	for _, e := range edges {
		if active += e.step; active > o.Connections {
			t.Fatalf("%d at a time, want %d at most", active, o.Connections)
		}
	}
}

// TestOracle holds that an ordering may use the pages' numbers. The one that wants the highest gets them in falling
// order.
func TestOracle(t *testing.T) {
	var order []uint32
	_, err := discovery.Crawl(t.Context(), chain{sites: 5, pages: 1}, discovery.Options{
		Ordering: highest{}, Fetched: func(f discovery.Fetch) { order = append(order, f.Page) },
	})
	if want := []uint32{4, 3, 2, 1, 0}; err != nil || !slices.Equal(order, want) {
		t.Errorf("order %v, want %v; error %v", order, want, err)
	}
}

type highest struct{}

func (highest) PageOrder(l weburl.Link) uint64            { return 100 - uint64(discovery.PageOf(l)) }
func (highest) SitePriority(s frontier.SiteState) float64 { return -float64(s.Top.Order) }

// TestDepth holds that a shorter way lowers a page's depth, in a web where all sites link to all.
func TestDepth(t *testing.T) {
	depths := map[int]int{}
	_, err := discovery.Crawl(t.Context(), chain{sites: 4, pages: 3, across: true}, discovery.Options{
		Known: func(_ uint32, a discovery.Arrival) { depths[a.Depth]++ },
	})
	if diff := gocmp.Diff(map[int]int{0: 4, 1: 4, 2: 4}, depths); diff != "" || err != nil {
		t.Errorf("depths (-want +got):\n%s%v", diff, err)
	}
}

func TestWrongCrawls(t *testing.T) {
	web := chain{sites: 2, pages: 2}
	for name, o := range map[string]discovery.Options{
		"connections": {Connections: -1}, "bandwidth": {Bandwidth: math.NaN()}, "wait": {Wait: -1}, "pages": {MaxPages: -1},
		"delay": {Delay: -1}, "per connection": {PerConnection: -1},
	} {
		if _, err := discovery.Crawl(t.Context(), web, o); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	if _, err := discovery.Crawl(t.Context(), chain{}, discovery.Options{}); err == nil {
		t.Error("a web of no page: want an error")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := discovery.Crawl(ended, web, discovery.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A crawl of a small web by two fetchers.
func Example() {
	web, _, err := graph.Generate(context.Background(), graph.Recipe{Seed: 1, Sites: 20, HomeShare: 0.6})
	if err != nil {
		panic(err)
	}
	r, err := discovery.Crawl(context.Background(), web, discovery.Options{Connections: 2, Delay: 15 * time.Second})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d of %d pages in %.0f s, fetchers busy for %.0f %% of it\n", r.Fetched, web.Pages(), r.Duration, 100*r.Utilisation(2))
	// Output:
	// 1349 of 1349 pages in 17922 s, fetchers busy for 3 % of it
}

// wide is a web of sites of 100 pages, each with 59 links. That was the mean of all links of a page of the web in 2002.
// Three of four stay inside the site. The links cost next to nothing to compute, so the benchmark measures the
// simulator.
type wide struct{ sites int }

const wideLinks, widePages = 59, 100

func (w wide) Sites() int { return w.sites }
func (w wide) Pages() int { return w.sites * widePages }
func (w wide) Range(site uint32) (first, end uint32) {
	return site * widePages, (site + 1) * widePages
}
func (w wide) SiteOf(page uint32) uint32               { return page / widePages }
func (w wide) Home(site uint32) (page uint32, ok bool) { return site * widePages, true }
func (w wide) Server(uint32) discovery.Server          { return discovery.Server{Latency: 0.3, Rate: 30_000} }
func (w wide) Bytes(uint32) float64                    { return 24_000 }

func (wide) Outside(uint32) int { return 0 }

func (w wide) AppendLinks(dst []uint32, page uint32) []uint32 {
	first, random := page/widePages*widePages, uint64(page)*0x9e3779b97f4a7c15+1
	dst = append(dst, first+(page-first+1)%widePages)
	for i := range uint32(wideLinks - 1) {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		if i%4 == 0 {
			dst = append(dst, uint32(random%uint64(w.Pages())))
		} else {
			dst = append(dst, first+uint32(random%widePages))
		}
	}
	return dst
}

// BenchmarkCrawl crawls webs of 59 links a page: a stored web, and stateless ones, which compute their links. Rates are
// by processor time.
func BenchmarkCrawl(b *testing.B) {
	stored, _, err := graph.Generate(b.Context(), graph.Recipe{Seed: 1, Sites: 1500, HomeShare: 0.6})
	if err != nil {
		b.Fatal(err)
	}
	benchmark := func(name string, web discovery.Web, most int) {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			var r discovery.Result
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := clock.Processor()
			for b.Loop() {
				if r, err = discovery.Crawl(b.Context(), web, discovery.Options{Connections: 256, Delay: 15 * time.Second, MaxPages: most}); err != nil {
					b.Fatal(err)
				}
			}
			end := clock.Processor()
			seconds := (end - start).Seconds() / float64(b.N)
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(r.Fetched)/seconds, "pages/s")
			b.ReportMetric(float64(r.Links)/seconds, "links/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(r.Known), "B/page")
		})
	}
	for _, sites := range []int{1000, 10_000, 100_000} {
		web := wide{sites}
		benchmark(fmt.Sprintf("web=wide/pages=%d", web.Pages()), web, 1_000_000)
	}
	benchmark(fmt.Sprintf("web=stored/pages=%d", stored.Pages()), stored, 0)
	for _, sites := range []int{1600, 16_000, 160_000} {
		web, err := graph.NewStateless(1, sites)
		if err != nil {
			b.Fatal(err)
		}
		benchmark(fmt.Sprintf("web=stateless/pages=%d", web.Pages()), web, 100_000)
	}
}
