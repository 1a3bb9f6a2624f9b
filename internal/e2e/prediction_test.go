package e2e

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/importance"
	"freshet/internal/honesty"
	"freshet/internal/sites"
	"freshet/seen"
	"freshet/sim/graph"
)

var (
	recorded   = flag.String("web", "", "for BenchmarkPrediction: file of the real sites' graph; recorded first if it is not there")
	livePages  = flag.Int("pages", 0, "for BenchmarkPrediction: pages of each live crawl, 0 for all")
	someOrders = flag.String("orders", "", "for BenchmarkPrediction: orderings, instead of all")
	someSites  = flag.String("sites", "", "for BenchmarkPrediction: sites, by their packages' names, instead of all but rust-doc")
)

// The crawls of BenchmarkPrediction: w and r.
const (
	predictedDelay       = 50 * time.Millisecond
	predictedConnections = 64
)

// BenchmarkPrediction crawls the real sites except rust-doc by every ordering that a live crawl has, at w = 0.05 s. An
// earlier crawl has recorded the graph of the sites. The simulator predicts each crawl from it, and the benchmark
// compares the two.
func BenchmarkPrediction(b *testing.B) {
	names := slices.DeleteFunc(sites.Names(), func(name string) bool { return name == "rust-doc" })
	if *someSites != "" {
		names = strings.Split(*someSites, ",")
	}
	installed := install(b, names...)
	web := recordedWeb(b, installed)
	for i, order := range []string{"length", "depth", "in-links", "opic", "cash-sum", "batch:440", "partial:440"} {
		if *someOrders != "" && !slices.Contains(strings.Split(*someOrders, ","), order) {
			continue
		}
		b.Run("order="+order, func(b *testing.B) {
			for b.Loop() {
				log := new(sites.Log)
				servers := serve(b, 80+i, log, sites.Options{}, installed...)
				s := crawlPredicted(b, filepath.Join(b.TempDir(), "data"), servers, order, "--max-pages", strconv.Itoa(*livePages))
				live := web.story(b, log.Exchanges())
				trial := honesty.Trial{Order: order, Connections: predictedConnections, Delay: predictedDelay}
				simulated, err := trial.Simulate(b.Context(), web.Stored, seen.DefaultWait)
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("%s: %d pages stored, stopped by %s", order, s.Pages, s.StoppedBy)
				web.compare(b, live, simulated)
			}
		})
	}
}

// crawlPredicted makes a crawl with the settings that the simulator predicts.
func crawlPredicted(b *testing.B, data string, servers []*sites.Server, order string, more ...string) summary {
	b.Helper()
	args := []string{"--delay", predictedDelay.String(), "--connections", strconv.Itoa(predictedConnections), "--order", order}
	return crawlUntilStopped(b, data, servers, append(args, more...)...)
}

// world has a recorded web, the worth of its pages, and their numbers by URL.
type world struct {
	*graph.Stored
	worth   []float64
	numbers map[string]uint32
}

// recordedWeb reads the recorded graph of the sites. If there is none it records one with a crawl by length. That
// crawl is as polite as the predicted ones. A crawl that never waits would measure how long answers wait for the
// processor: for some sites twenty times as long as for others.
func recordedWeb(b *testing.B, installed []sites.Site) *world {
	b.Helper()
	file := *recorded
	if file == "" {
		file = filepath.Join(b.TempDir(), "web.graph")
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		servers := serve(b, 79, new(sites.Log), sites.Options{}, installed...)
		data := filepath.Join(b.TempDir(), "recorded")
		s := crawlPredicted(b, data, servers, "length")
		b.Logf("recorded %d pages of %d sites in %.0f s", s.Pages, s.Sites, s.DurationS)
		run(b, binary, "export", "--data", data, "--graph", file)
	}
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := &world{numbers: map[string]uint32{}}
	if w.Stored, err = graph.Read(f, file); err != nil {
		b.Fatal(err)
	}
	if w.worth, err = w.Worth(importance.RankOptions{Tolerance: 1e-9}); err != nil {
		b.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), "\t")
		if name, _, _ := strings.Cut(rest, "\t"); kind == "page" || kind == "miss" {
			w.numbers[name] = uint32(len(w.numbers))
		}
	}
	if err := lines.Err(); err != nil || len(w.numbers) != w.Pages() {
		b.Fatalf("%s: %d names of %d pages; %v", file, len(w.numbers), w.Pages(), err)
	}
	misses := 0
	for page := range uint32(w.Pages()) {
		if w.Miss(page) {
			misses++
		}
	}
	b.Logf("%s: %d sites, %d pages, %d misses, %d links", file, w.Sites(), w.Pages()-misses, misses, w.Links().Links())
	return w
}

// story returns the crawl as the servers saw it.
func (w *world) story(b *testing.B, exchanges []sites.Exchange) (s honesty.Story) {
	b.Helper()
	unknown := 0
	for _, e := range exchanges {
		page, ok := w.numbers["http://"+e.Host+e.Target]
		switch {
		case ok:
			start := e.Start.Sub(exchanges[0].Start).Seconds()
			end := e.End.Sub(exchanges[0].Start).Seconds()
			s.Requests = append(s.Requests, honesty.Request{Page: page, Start: start, End: end})
			s.Duration = max(s.Duration, end)
		case e.Target != "/robots.txt":
			if unknown++; unknown < 5 {
				b.Logf("not in the recorded web: %s%s", e.Host, e.Target)
			}
		}
	}
	if unknown > 0 {
		b.Logf("%d requests for what is not in the recorded web", unknown)
	}
	slices.SortStableFunc(s.Requests, func(x, y honesty.Request) int { return int(math.Copysign(1, x.Start-y.Start)) })
	return s
}

// compare sets the order, the duration and the curve of PageRank by pages of two crawls side by side, the curve
// at every percent of the pages that the live one fetched. The order is compared as a whole and inside each
// site: the sites do not link to each other, so that how their pages mix is a matter of their speeds.
func (w *world) compare(b *testing.B, live, simulated honesty.Story) {
	b.Helper()
	correlation, common := honesty.RankCorrelation(live.Pages(), simulated.Pages())
	one, other := w.curve(live), w.curve(simulated)
	pages := min(len(one), len(other)) - 1
	apart, at := 0.0, 0
	for percent := 1; percent <= 100; percent++ {
		if d := math.Abs(one[percent*pages/100] - other[percent*pages/100]); d > apart {
			apart, at = d, percent
		}
	}
	n := len(live.Requests)
	b.Logf("live %d requests in %.1f s, simulated in %.1f s; rank correlation %.5f over %d, inside sites %.5f; PageRank of %d pages at most %.4f apart, at %d %%",
		n, live.Requests[n-1].End, simulated.Requests[min(n, len(simulated.Requests))-1].End, correlation, common, w.inside(live, simulated), pages, apart, at)
	var table strings.Builder
	for _, percent := range []int{1, 5, 10, 20, 30, 50, 70, 90} {
		i := percent * pages / 100
		fmt.Fprintf(&table, "  %d %%: %.4f, %.4f", percent, one[i], other[i])
	}
	b.Logf("PageRank live, simulated:%s", table.String())
	b.ReportMetric(correlation, "correlation")
	b.ReportMetric(100*apart, "points-apart")
}

// inside returns the mean rank correlation inside the sites, by their pages.
func (w *world) inside(live, simulated honesty.Story) float64 {
	split := func(s honesty.Story) [][]uint32 {
		pages := make([][]uint32, w.Sites())
		for _, page := range s.Pages() {
			site := w.SiteOf(page)
			pages[site] = append(pages[site], page)
		}
		return pages
	}
	one, other := split(live), split(simulated)
	sum, n := 0.0, 0.0
	for site := range one {
		if correlation, common := honesty.RankCorrelation(one[site], other[site]); common > 1 {
			sum += correlation * float64(common)
			n += float64(common)
		}
	}
	return sum / n
}

// curve returns the PageRank that 0, 1, … pages brought, misses left out.
func (w *world) curve(s honesty.Story) []float64 {
	curve := []float64{0}
	for _, r := range s.Requests {
		if !w.Miss(r.Page) {
			curve = append(curve, curve[len(curve)-1]+w.worth[r.Page])
		}
	}
	return curve
}
