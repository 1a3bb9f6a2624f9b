package refresh

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"freshet/clock"
)

// TestRanking compares the value of each pick with the values of all pages. The pick is worth nearly as much as the
// best; right after all hot pages were valued, it is the best.
func TestRanking(t *testing.T) {
	const pages = 3000
	rng := rand.New(rand.NewPCG(1, 2))
	rates, weights, since := make([]float64, pages), make([]float64, pages), make([]float64, pages)
	values := 0
	r := Ranking{
		Value: func(id ID, at float64) float64 {
			values++
			x := rates[id] * (at - since[id])
			return weights[id] * worth(x) / rates[id]
		},
		Since: func(id ID) float64 { return since[id] },
		Root:  math.Sqrt,
	}
	for i := range pages {
		rates[i], weights[i] = math.Exp(2*rng.NormFloat64()), rng.Float64()
		r.Place(ID(i), 0)
	}
	now, lost := 0.0, 0.0
	const picks = 20000
	values = 0
	counted := 0
	for range picks {
		now += 1e-4
		before := values
		id, ok := r.Pick(now)
		counted += values - before
		if !ok {
			t.Fatal("no page")
		}
		sampled, valued := rng.IntN(20) == 0, r.picks == 1 // all hot pages, just now
		if got, best := r.Value(id, now), 0.0; sampled || valued {
			for i := range pages {
				best = math.Max(best, r.Value(ID(i), now))
			}
			if sampled {
				lost += 20 * (best - got) / best / picks
			}
			if valued && got < best {
				t.Fatalf("the pick is worth %v, the best page %v", got, best)
			}
		}
		since[id] = now
		before = values
		r.Place(id, now)
		counted += values - before
	}
	if lost > 0.03 {
		t.Errorf("picks are worth %.2f %% less than the best", 100*lost)
	}
	if per := float64(counted) / picks; per > 200 {
		t.Errorf("%.0f values a pick, of %d pages", per, pages)
	}
}

func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var q Queue
	keys := make(map[ID]float64)
	for range 5000 {
		id := ID(rng.IntN(100))
		switch rng.IntN(3) {
		case 0, 1:
			keys[id] = float64(rng.IntN(50))
			q.Set(id, keys[id])
		default:
			delete(keys, id)
			q.Drop(id)
		}
		if q.Len() != len(keys) {
			t.Fatalf("%d pages, want %d", q.Len(), len(keys))
		}
		if q.Len() == 0 {
			continue
		}
		first, key := q.First()
		for id, k := range keys {
			if k < key || k == key && id < first {
				t.Fatalf("first is %d at %v, but %d is at %v", first, key, id, k)
			}
		}
	}
}

// BenchmarkPick picks and visits pages of twenty sites. Their copies are up to a hundred days old, and a hundredth of
// the pages is visited a day. With no visits before, it measures how a crawl begins: each change that is found says
// much about a folder, whose pages are then valued again.
func BenchmarkPick(b *testing.B) {
	for _, visits := range []int{0, 50_000} {
		b.Run(fmt.Sprintf("visits=%d", visits), func(b *testing.B) {
			const pages = 100_000
			x := NewIndex(Default())
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range pages {
				path := fmt.Sprintf("/%d/x", i%7)
				x.Add(ID(i), Page{Site: fmt.Sprint(i % 20), Path: path, Weight: 1, Fresh: -100 * day * rng.Float64()})
			}
			now := 0.0
			visit := func() {
				now += 100 * day / pages
				id, _, _ := x.Next(now)
				x.Visited(id, Visit{At: now, Outcome: Outcome(1 + rng.IntN(3)/2)})
			}
			for range visits {
				visit()
			}
			began := clock.Processor()
			for b.Loop() {
				visit()
			}
			b.ReportMetric(float64(b.N)/(clock.Processor()-began).Seconds(), "picks/cpu-s")
		})
	}
}
