package discovery_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"freshet/fleet"
	"freshet/sim/discovery"
)

// TestProcessing runs a crawl that must process its pages, once for each rule for the number of fetchers. It fetches
// all pages, with no more active fetchers than the rule allows. The switched fleet begins without knowing λ and μ, yet
// costs less than too few or too many fetchers.
func TestProcessing(t *testing.T) {
	web := chain{sites: 200, pages: 10}
	costs := map[fleet.Rule]float64{}
	for _, rule := range []fleet.Rule{fleet.Auto, fleet.Stable, 3, 64} {
		const gamma = 100.0
		var fetches []discovery.Fetch
		r, err := discovery.Crawl(t.Context(), web, discovery.Options{
			Connections: 64, Delay: time.Second, Seed: 1,
			Processing: &discovery.Processing{Workers: 1, Queue: 20, Time: time.Second / 4, Rule: rule, Gamma: gamma},
			Fetched:    func(f discovery.Fetch) { fetches = append(fetches, f) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Fetched != web.Pages() {
			t.Errorf("%v: %d pages of %d", rule, r.Fetched, web.Pages())
		}
		if most := active(fetches); rule > 0 && most > int(rule) || most > 64 {
			t.Errorf("%v: %d fetchers", rule, most)
		}
		costs[rule] = (gamma*r.Fleet.Starved + float64(r.Fetched)/r.Busy*r.Fleet.Waited) / r.Duration
	}
	if auto := costs[fleet.Auto]; !(auto < costs[3] && auto < costs[64]) {
		t.Errorf("costs %v: want the switched fleet's less than those of 3 and of 64 fetchers", costs)
	}
}

// active returns the largest number of fetches at one time.
func active(fetches []discovery.Fetch) (most int) {
	type edge struct {
		at   float64
		step int
	}
	var edges []edge
	for _, f := range fetches {
		edges = append(edges, edge{f.Start, 1}, edge{f.End, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	now := 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

// TestFullQueue gives the queue one place beside the worker's. The crawl loses no page, and its fetchers wait but
// finish.
func TestFullQueue(t *testing.T) {
	r, err := discovery.Crawl(t.Context(), chain{sites: 30, pages: 1}, discovery.Options{
		Connections: 10, Processing: &discovery.Processing{Workers: 1, Queue: 2, Time: 100 * time.Second, Rule: 10, Gamma: 1},
	})
	if err != nil || r.Fetched != 30 || !(r.Fleet.Waited > r.Duration) {
		t.Errorf("%+v, error %v: want 30 pages, and several fetchers that wait most of the time", r, err)
	}
}

func TestWrongProcessing(t *testing.T) {
	for name, p := range map[string]discovery.Processing{
		"workers": {Queue: 3, Time: 1}, "queue": {Workers: 2, Queue: 2, Time: 1}, "time": {Workers: 1, Queue: 3},
		"gamma": {Workers: 1, Queue: 3, Time: 1, Gamma: -1},
	} {
		if _, err := discovery.Crawl(t.Context(), chain{sites: 1, pages: 1}, discovery.Options{Processing: &p}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
