package hostile

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/crawl"
	"freshet/frontier"
	"freshet/sim/discovery"
	"freshet/sim/graph"
	"freshet/weburl"
)

// lag is how long the engine lets links wait, at most, before it decides which of them are new.
const lag = 150 * time.Millisecond

// TestSimulated holds the simulator to the engine: honest sites that really take their time, crawled
// live, and the same web in the simulator. With one fetcher both fetch the same pages in the same order;
// with many, duration and utilisation differ by 5 % at most.
func TestSimulated(t *testing.T) {
	web, _, err := graph.Generate(t.Context(), graph.Recipe{Seed: 11, Sites: 24, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"length", "depth"} {
		for _, connections := range []int{1, 64} {
			t.Run(fmt.Sprintf("order=%s/connections=%d", order, connections), func(t *testing.T) {
				simulated := simulate(t, web, order, connections)
				synctest.Test(t, func(t *testing.T) {
					live := crawlLive(t, web, order, connections)
					compare(t, live, simulated, connections)
				})
			})
		}
	}
}

// story is what a crawl did.
type story struct {
	pages          []uint32 // in the order in which they were asked for
	duration, busy float64  // s, of all requests
}

const politeness = 2 * time.Second // w

func simulate(t *testing.T, web discovery.Web, order string, connections int) story {
	t.Helper()
	ordering, err := frontier.ParseOrdering(order)
	if err != nil {
		t.Fatal(err)
	}
	var fetches []discovery.Fetch
	result, err := discovery.Crawl(t.Context(), web, discovery.Options{
		Ordering: ordering, Connections: connections, Delay: politeness, Lag: lag, Robots: true,
		Fetched: func(f discovery.Fetch) { fetches = append(fetches, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(fetches, func(a, b discovery.Fetch) int { return cmp.Compare(a.Start, b.Start) })
	s := story{duration: result.Duration, busy: result.Busy}
	for _, f := range fetches {
		s.pages = append(s.pages, f.Page)
	}
	return s
}

// crawlLive crawls the web with the engine, over a network in memory whose servers sleep.
func crawlLive(t *testing.T, web discovery.Web, order string, connections int) story {
	t.Helper()
	n := newNetwork(t, clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1))
	trial := trial{delay: politeness, rate: 1, options: func(o *crawl.Options) {
		o.Seeds = nil // those of trial
		for site := range uint32(web.Sites()) {
			home, _ := web.Home(site)
			o.Seeds = append(o.Seeds, pageURL(t, web, home))
		}
		o.Order, o.Connections = order, connections
		o.Fetch.FirstByteTimeout, o.Fetch.TotalTimeout = time.Hour, time.Hour
	}}
	for site := range uint32(web.Sites()) {
		n.host(hostOf(site), server{answer: slowly(n.clock, web, site)})
	}
	start := n.clock.Now()
	engine, err := crawl.Open(trial.engineOptions(t, n))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	n.work.Wait()
	var s story
	for _, r := range n.requests(func(*request) string { return "" })[""] {
		s.duration = max(s.duration, r.end.Sub(start).Seconds())
		s.busy += r.end.Sub(r.start).Seconds()
		if r.path != "/robots.txt" {
			s.pages = append(s.pages, pageNumber(t, r.path))
		}
	}
	return s
}

func hostOf(site uint32) string { return fmt.Sprintf("%09d.test", site) }

func pageURL(t *testing.T, web discovery.Web, page uint32) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(fmt.Sprintf("http://%s/page/%d", hostOf(web.SiteOf(page)), page))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func pageNumber(t *testing.T, path string) (page uint32) {
	t.Helper()
	if _, err := fmt.Sscanf(path, "/page/%d", &page); err != nil {
		t.Errorf("asked for %s", path)
	}
	return page
}

// slowly answers as the web says: after the site's latency, and the time that the page's bytes would
// take. A site has no robots.txt.
func slowly(c *clock.Clock, web discovery.Web, site uint32) answer {
	speed := web.Server(site)
	return func(out io.Writer, r *http.Request) bool {
		var page uint32
		size, text := float64(discovery.RobotsBytes), status(http.StatusNotFound)
		if _, err := fmt.Sscanf(r.URL.Path, "/page/%d", &page); err == nil {
			size, text = web.Bytes(page), html(linksOf(web, page))
		}
		seconds := speed.Latency + size/speed.Rate
		if c.Sleep(r.Context(), time.Duration(math.Round(seconds*1e9))) != nil {
			return false
		}
		_, err := io.WriteString(out, text)
		return err == nil
	}
}

func linksOf(web discovery.Web, page uint32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>Page %d</title>", page)
	for _, to := range web.AppendLinks(nil, page) {
		fmt.Fprintf(&b, `<a href="http://%s/page/%d">%[2]d</a>`, hostOf(web.SiteOf(to)), to)
	}
	return b.String()
}

func compare(t *testing.T, live, simulated story, connections int) {
	t.Helper()
	if connections == 1 && !slices.Equal(live.pages, simulated.pages) {
		i := 0
		for i < min(len(live.pages), len(simulated.pages)) && live.pages[i] == simulated.pages[i] {
			i++
		}
		t.Errorf("live %d pages and simulated %d, the same for the first %d; then %v and %v",
			len(live.pages), len(simulated.pages), i, around(live.pages, i), around(simulated.pages, i))
	}
	for _, figure := range []struct {
		name            string
		live, simulated float64
	}{
		{"pages", float64(len(live.pages)), float64(len(simulated.pages))},
		{"duration", live.duration, simulated.duration},
		{"utilisation", live.busy / live.duration, simulated.busy / simulated.duration},
	} {
		if !(math.Abs(figure.live-figure.simulated) <= 0.05*figure.simulated) {
			t.Errorf("%s %v live, %v simulated", figure.name, figure.live, figure.simulated)
		}
	}
}

func around(pages []uint32, i int) []uint32 { return pages[min(i, len(pages)):min(i+5, len(pages))] }
