package rival_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"freshet/refresh"
	"freshet/refresh/refreshtest"
	"freshet/refresh/rival"
)

const day = 86400.0

func TestPolicies(t *testing.T) {
	t.Run("nutch", func(t *testing.T) { refreshtest.Run(t, func() refresh.Policy { return rival.NewNutch() }) })
	t.Run("stormcrawler", func(t *testing.T) { refreshtest.Run(t, func() refresh.Policy { return rival.NewStormCrawler() }) })
}

func TestSampling(t *testing.T) {
	refreshtest.Run(t, func() refresh.Policy { return rival.NewSampling(0.5, rand.New(rand.NewPCG(1, 2))) })
	t.Run("the folder that changed", func(t *testing.T) {
		p := rival.NewSampling(0.3, rand.New(rand.NewPCG(1, 2)))
		for id := range refresh.ID(20) {
			p.Add(id, refresh.Page{Site: "a", Path: []string{"/still/", "/busy/"}[id%2] + "page"})
		}
		busy := 0
		for range 6 {
			id, _, _ := p.Next(0)
			outcome := refresh.Unchanged
			if id%2 == 1 {
				busy++
				outcome = refresh.Changed
			}
			p.Visited(id, refresh.Visit{At: 1, Outcome: outcome})
		}
		if busy != 5 { // all but the sample of the other folder
			t.Errorf("%d of 6 visits went to the folder that changes, want 5", busy)
		}
	})
}

// TestIntervals holds when a page is due after visits, by the documented rules.
func TestIntervals(t *testing.T) {
	const c, u = refresh.Changed, refresh.Unchanged
	tests := []struct {
		name   string
		policy *rival.Adaptive
		visits []refresh.Outcome
		want   float64 // days after the last visit
	}{
		{"storm at first", rival.NewStormCrawler(), nil, 1},
		{"storm unchanged", rival.NewStormCrawler(), []refresh.Outcome{u}, 1.5},
		{"storm at most", rival.NewStormCrawler(), []refresh.Outcome{u, u, u, u, u, u, u, u}, 14},
		{"storm at least", rival.NewStormCrawler(), []refresh.Outcome{c, c, c, c, c, c}, 1. / 24},
		{"nutch at first", rival.NewNutch(), nil, 30},
		{"nutch changed", rival.NewNutch(), []refresh.Outcome{c}, 24},
		// I = 42 d, the last change 30 d ago: 42 - 0.3·30.
		{"nutch unchanged", rival.NewNutch(), []refresh.Outcome{u}, 33},
		{"nutch failed", rival.NewNutch(), []refresh.Outcome{refresh.Unknown}, 30},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.policy.Add(0, refresh.Page{})
			now := 0.0
			for _, outcome := range test.visits {
				_, due, _ := test.policy.Next(now)
				now = due
				test.policy.Visited(0, refresh.Visit{At: now, Outcome: outcome})
			}
			_, due, _ := test.policy.Next(now)
			if got := (due - now) / day; math.Abs(got-test.want) > 1e-9 {
				t.Errorf("due after %v days, want %v", got, test.want)
			}
		})
	}
}
