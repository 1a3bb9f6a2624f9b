package refresh_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"freshet/refresh"
)

// taught returns a default policy after two years of visits to pages of two folders, and the time. In one folder all
// pages change together.
func taught() (*refresh.Index, float64) {
	x := refresh.NewIndex(refresh.Default())
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		x.Add(refresh.ID(i), page(i, 0))
	}
	visited := make([]float64, 60)
	now := 0.0
	for range 730 * 4 {
		now += day / 4
		id, _, _ := x.Next(now)
		v := refresh.Visit{At: now, Outcome: refresh.Unchanged}
		together := id < 30 && int(now/(50*day)) > int(visited[id]/(50*day))
		alone := id >= 30 && rng.Float64() < -math.Expm1(-(now-visited[id])/(40*day))
		if together || alone {
			v.Outcome = refresh.Changed
		}
		visited[id] = now
		x.Visited(id, v)
	}
	return x, now
}

func page(i int, fresh float64) refresh.Page {
	folder := "/together/"
	if i >= 30 {
		folder = "/alone/"
	}
	return refresh.Page{Site: "https://a.example", Path: folder + string(rune('a'+i)), Weight: 1, Fresh: fresh}
}

// TestFolderNews holds the purpose of shared changes: if visits find changes of some pages of a folder that changes
// together, the policy believes the others stale.
func TestFolderNews(t *testing.T) {
	x, now := taught()
	stale := func(from, to refresh.ID) (sum float64) {
		for id := from; id < to; id++ {
			sum += x.Due(id, now).Stale / float64(to-from)
		}
		return sum
	}
	for id := range refresh.ID(60) {
		x.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
	}
	now += 10 * day
	before := stale(25, 30)
	for id := range refresh.ID(25) {
		x.Visited(id, refresh.Visit{At: now, Outcome: refresh.Changed})
	}
	now += 3 * day
	x.Next(now)
	if after := stale(25, 30); !(before < 0.25 && after > 0.35) {
		t.Errorf("others of the folder are stale by %.2f before and %.2f after 25 were seen to change", before, after)
	}
}
