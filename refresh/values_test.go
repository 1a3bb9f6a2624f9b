package refresh

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestValues holds the laws on which a ranking relies, after any visits: each rate stays possible, and the value of a
// visit is positive and rises with time. So no page waits forever.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex(Default())
		const pages, sites = 60, 3
		slots := rapid.IntRange(1, 48).Draw(t, "visits a day")
		// The gaps between a page's changes. A mix of pages that change all the time and pages that never do can take
		// all probability from a rate.
		gaps := rapid.SliceOfN(rapid.SampledFrom([]float64{0.01, 0.1, 1, 10, 100, 1e6}), pages, pages).Draw(t, "gaps in days")
		last := make([]float64, pages)
		for id := range ID(pages) {
			x.Add(id, Page{Site: fmt.Sprint(id % sites), Path: fmt.Sprintf("/%d/x", id%5), Weight: 1})
		}
		now := 0.0
		for k := range 200 * slots {
			now = float64(k) * day / float64(slots)
			id, _, ok := x.Next(now)
			if !ok {
				t.Fatalf("no page on day %.2f", now/day)
			}
			outcome := Unchanged
			if gap := gaps[id] * day; int(now/gap) > int(last[id]/gap) {
				outcome = Changed
			}
			last[id] = now
			x.Visited(id, Visit{At: now, Outcome: outcome})
		}
		for _, s := range x.learner.forest.sites {
			for _, g := range s.groups {
				for k, p := range g.prior {
					if !(p > 0) {
						t.Errorf("group %d: rate %d of the grid has probability %v", g.id, k, p)
					}
				}
			}
		}
		for id := range ID(pages) {
			before := 0.0
			for _, ahead := range []float64{0.01, 0.1, 1, 10, 100, 1000, 1e4} {
				v := x.value(id, now+ahead*day, 0)
				if !(v > before) {
					t.Fatalf("page %d: a visit is worth %v after %v days, %v before", id, v, ahead, before)
				}
				before = v
			}
		}
	})
}
