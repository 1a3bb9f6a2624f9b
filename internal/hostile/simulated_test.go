package hostile

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/internal/honesty"
	"freshet/node"
	"freshet/seen"
	"freshet/sim/discovery"
	"freshet/sim/graph"
)

// TestSimulated holds the simulator to the engine: honest sites that really take their time, crawled
// live, and the same web in the simulator. With one fetcher both fetch the same pages in the same order;
// with many, duration and utilisation differ by 5 % at most.
func TestSimulated(t *testing.T) {
	generated, _, err := graph.Generate(t.Context(), graph.Recipe{Seed: 11, Sites: 24, HomeShare: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	web := slow{generated}
	for _, order := range []string{"length", "depth", "in-links", "opic", "cash-sum", "batch:20", "partial:20"} {
		for _, connections := range []int{1, 64} {
			t.Run(fmt.Sprintf("order=%s/connections=%d", order, connections), func(t *testing.T) {
				plan := honesty.Trial{Order: order, Connections: connections, Delay: 2 * time.Second}
				simulated, err := plan.Simulate(t.Context(), web, seen.DefaultWait)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					compare(t, crawlLive(t, web, plan), simulated, connections)
				})
			})
		}
	}
}

// slow is a web that takes its time. The crawl decides a page's links, and the cash that other pages then pass on,
// before the next answer ends.
type slow struct{ discovery.Web }

func (w slow) Server(site uint32) discovery.Server {
	s := w.Web.Server(site)
	s.Latency += 2
	return s
}

// crawlLive crawls the web with the engine, over a network in memory with servers that sleep.
func crawlLive(t *testing.T, web discovery.Web, plan honesty.Trial) honesty.Story {
	t.Helper()
	n := newNetwork(t, clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1))
	trial := trial{delay: plan.Delay, rate: 1, options: func(o *node.Options) {
		var err error
		if o.Seeds, err = honesty.Homes(web); err != nil {
			t.Fatal(err)
		}
		o.Order, o.Connections = plan.Order, plan.Connections
		o.Fetch.FirstByteTimeout, o.Fetch.TotalTimeout = time.Hour, time.Hour
	}}
	for site := range uint32(web.Sites()) {
		n.host(honesty.Host(site), server{answer: slowly(n.clock, web, site)})
	}
	start := n.clock.Now()
	engine, err := node.Open(trial.engineOptions(t, n))
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
	var s honesty.Story
	for _, r := range n.requests(func(*request) string { return "" })[""] {
		asked := honesty.Request{Start: r.start.Sub(start).Seconds(), End: r.end.Sub(start).Seconds()}
		s.Duration = max(s.Duration, asked.End)
		s.Busy += asked.End - asked.Start
		if page, ok := honesty.PageOf(r.path); ok {
			asked.Page = page
			s.Requests = append(s.Requests, asked)
		}
	}
	return s
}

// slowly answers as the web says: after the site's latency, and the time that the page's bytes would
// take. A site has no robots.txt.
func slowly(c *clock.Clock, web discovery.Web, site uint32) answer {
	return func(out io.Writer, r *http.Request) bool {
		size, text := float64(discovery.RobotsBytes), status(http.StatusNotFound)
		if page, ok := honesty.PageOf(r.URL.Path); ok {
			size, text = web.Bytes(page), html(honesty.HTML(web, page))
		}
		if c.Sleep(r.Context(), honesty.Took(web.Server(site), size)) != nil {
			return false
		}
		_, err := io.WriteString(out, text)
		return err == nil
	}
}

func compare(t *testing.T, live, simulated honesty.Story, connections int) {
	t.Helper()
	if i := honesty.Same(live, simulated); connections == 1 && i < len(simulated.Requests) {
		t.Errorf("live %d pages and simulated %d, the same for the first %d; then %v and %v",
			len(live.Requests), len(simulated.Requests), i, around(live, i), around(simulated, i))
	}
	for _, figure := range []struct {
		name            string
		live, simulated float64
	}{
		{"pages", float64(len(live.Requests)), float64(len(simulated.Requests))},
		{"duration", live.Duration, simulated.Duration},
		{"utilisation", live.Utilisation(connections), simulated.Utilisation(connections)},
	} {
		if !(math.Abs(figure.live-figure.simulated) <= 0.05*figure.simulated) {
			t.Errorf("%s %v live, %v simulated", figure.name, figure.live, figure.simulated)
		}
	}
}

func around(s honesty.Story, i int) []uint32 {
	pages := s.Pages()
	return pages[min(i, len(pages)):min(i+5, len(pages))]
}
