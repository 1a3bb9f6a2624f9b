package discovery_test

import (
	"math"
	"testing"
	"time"

	"freshet/refresh"
	"freshet/sim"
	"freshet/sim/discovery"
)

// TestRefresh keeps 40 pages fresh with 4 requests a day by the uniform rule. Each page changes every ten days. Once
// all pages are found, each has a visit every ten days, so half of the copies are up to date.
func TestRefresh(t *testing.T) {
	const day = 24 * time.Hour
	visits := map[uint32]int{}
	var samples []discovery.Sample
	r, err := discovery.Crawl(t.Context(), chain{sites: 4, pages: 10}, discovery.Options{
		Connections: 4, Delay: 15 * time.Second, Robots: true,
		Fetched: func(f discovery.Fetch) { visits[f.Page]++ },
		Refresh: &discovery.Refresh{
			Policy: refresh.NewUniform(), Belief: refresh.NewIndex(refresh.Default()),
			Budget: 4, For: 400 * day, Every: day / 3, Share: 0.5,
			// each page changes at its own moment of the ten days
			Changes: func(page uint32, at float64) int { return int(at/(10*day.Seconds()) + float64(page)*0.377) },
			Sampled: func(s discovery.Sample) { samples = append(samples, s) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The crawl spends its budget and at most one request more. Requests for robots.txt, one a day and site, do not
	// count.
	if all := r.Fetched + r.Revisits; r.Fetched != 40 || all > 1601 || all < 1590 {
		t.Errorf("%d pages, %d visits: want 40 and 1600 in all", r.Fetched, r.Revisits)
	}
	for page, n := range visits {
		if n < 37 || n > 46 { // those found first have more
			t.Errorf("page %d: %d visits in 400 days, want one every ten", page, n)
		}
	}
	fresh, believed, n := 0.0, 0.0, 0.0
	for _, s := range samples {
		if s.At > 200*day.Seconds() {
			fresh, believed, n = fresh+s.Fresh, believed+s.Believed, n+1
		}
	}
	// The changes are spread evenly over the interval between visits, so a page is fresh for half of it. The belief
	// takes changes for random ones: it expects (1-e^-x)/x for the rate that it sees. If all visits see a change, they
	// show only that the page is not slow.
	if fresh /= n; math.Abs(fresh-0.5) > 0.05 {
		t.Errorf("freshness %.3f, want 0.5", fresh)
	}
	if believed /= n; !(believed > 0.05 && believed < 0.5) {
		t.Errorf("%.3f believed", believed)
	}
}

// TestPolitenessBinds holds that the default keeps pages fresher than equal visits do, even if sites may be asked for
// only a tenth of the budget. Its picks wait there, and the best goes first.
func TestPolitenessBinds(t *testing.T) {
	const pages, days, visits = 100, 60, 50 // of each site; visits a day that its interval allows
	fresh := func(policy refresh.Policy) (mean float64) {
		var samples []float64
		_, err := discovery.Crawl(t.Context(), chain{sites: 4, pages: pages}, discovery.Options{
			Connections: 4, Delay: 24 * time.Hour / visits, Robots: true,
			Refresh: &discovery.Refresh{
				Policy: policy, Budget: 10 * 4 * visits, For: days * 24 * time.Hour, Every: 6 * time.Hour, Share: 0.5,
				Changes: func(page uint32, at float64) int {
					n, _ := sim.NewProcess(uint64(page)).Changes(time.Duration(at * 1e9))
					return n
				},
				Sampled: func(s discovery.Sample) { samples = append(samples, s.Fresh) },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range samples[len(samples)/2:] {
			mean += f / float64(len(samples)-len(samples)/2)
		}
		return mean
	}
	ours, uniform := fresh(refresh.NewIndex(refresh.Default())), fresh(refresh.NewUniform())
	t.Logf("freshness %.4f, uniform %.4f", ours, uniform)
	if ours < uniform+0.02 {
		t.Errorf("freshness %.4f, and uniform has %.4f: want 0.02 more", ours, uniform)
	}
}

// TestRefreshOfTheUnchanging holds that copies of pages that never change are fresh, and that the policy comes to
// believe so.
func TestRefreshOfTheUnchanging(t *testing.T) {
	var last discovery.Sample
	index := refresh.NewIndex(refresh.Default())
	_, err := discovery.Crawl(t.Context(), chain{sites: 2, pages: 3}, discovery.Options{Refresh: &discovery.Refresh{
		Policy: index, Belief: index, Budget: 86, For: 1000 * time.Hour, Every: time.Hour,
		Changes: func(uint32, float64) int { return 0 }, Sampled: func(s discovery.Sample) { last = s },
	}})
	if err != nil || last.Pages != 6 || last.Fresh != 1 || last.Believed < 0.99 {
		t.Errorf("%+v, error %v", last, err)
	}
}

func TestWrongRefresh(t *testing.T) {
	good := discovery.Refresh{Policy: refresh.NewUniform(), Budget: 1, For: time.Hour, Changes: func(uint32, float64) int { return 0 }}
	for name, spoil := range map[string]func(*discovery.Refresh){
		"policy": func(r *discovery.Refresh) { r.Policy = nil }, "budget": func(r *discovery.Refresh) { r.Budget = 0 },
		"time": func(r *discovery.Refresh) { r.For = 0 }, "changes": func(r *discovery.Refresh) { r.Changes = nil },
		"samples": func(r *discovery.Refresh) { r.Sampled = func(discovery.Sample) {} },
		"share":   func(r *discovery.Refresh) { r.Share = 2 },
	} {
		bad := good
		spoil(&bad)
		if _, err := discovery.Crawl(t.Context(), chain{sites: 1, pages: 1}, discovery.Options{Refresh: &bad}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
