package refresh

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestTimetable has a tenth of the pages change at noon on some days. The others change as often, at any time of the
// day. The policy makes two visits a page and day. It finds the pages that keep the hour and visits them in the hours
// after noon. The others stay as fresh as without hours.
func TestTimetable(t *testing.T) {
	with, without := Default(), Default()
	without.Hours = false
	var noon, any, noonBefore, anyBefore float64
	const seeds = 4
	for seed := range uint64(seeds) {
		n, a := watchHours(with, seed, t)
		nb, ab := watchHours(without, seed, t)
		t.Logf("seed %d: at noon %.4f, %.4f without hours; at any time %.4f, %.4f", seed, n, nb, a, ab)
		noon, any, noonBefore, anyBefore = noon+n/seeds, any+a/seeds, noonBefore+nb/seeds, anyBefore+ab/seeds
	}
	t.Logf("fresh: at noon %.4f, %.4f without hours; at any time %.4f, %.4f", noon, noonBefore, any, anyBefore)
	if noon < 0.965 || noon < noonBefore+0.04 {
		t.Errorf("pages that change at noon are fresh for %.4f of the time, %.4f without hours", noon, noonBefore)
	}
	if any < anyBefore-0.005 {
		t.Errorf("pages that change at any time are fresh for %.4f of the time, %.4f without hours", any, anyBefore)
	}
}

// watchHours returns the freshness of both kinds of pages over the last 40 of 120 days.
func watchHours(o IndexOptions, seed uint64, t *testing.T) (noon, any float64) {
	const pages, days, scored = 100, 120, 40
	x := NewIndex(o)
	rng := rand.New(rand.NewPCG(seed, 2))
	updates := make([][]float64, pages) // to come, in days
	seen := make([]float64, pages)
	for i := range updates {
		x.Add(ID(i), Page{Site: "a", Path: fmt.Sprint(i), Weight: 1})
		rate := 0.2 + 0.3*rng.Float64()
		for d := range days {
			switch {
			case i%10 != 0 && rng.Float64() < -math.Expm1(-rate):
				updates[i] = append(updates[i], float64(d)+rng.Float64())
			case i%10 == 0 && rng.Float64() < rate:
				updates[i] = append(updates[i], float64(d)+0.5)
			}
		}
	}
	var fresh, all [2]float64
	score := func(id ID, until float64) {
		from := math.Max(seen[id], days-scored)
		stale := until
		if u := updates[id]; len(u) > 0 {
			stale = math.Min(stale, u[0])
		}
		kind := min(int(id)%10, 1)
		fresh[kind] += math.Max(0, stale-from)
		all[kind] += math.Max(0, until-from)
	}
	for k := range 2 * pages * days {
		now := (float64(k) + 0.5) / (2 * pages)
		id, _, _ := x.Next(now * day)
		score(id, now)
		v := Visit{At: now * day, Outcome: Unchanged}
		for len(updates[id]) > 0 && updates[id][0] <= now {
			updates[id], v.Outcome = updates[id][1:], Changed
		}
		seen[id] = now
		x.Visited(id, v)
	}
	punctual := [2]int{}
	for i := range updates {
		score(ID(i), days)
		if x.learner.timetable(ID(i)).Punctual() {
			punctual[min(i%10, 1)]++
		}
	}
	if o.Hours && (punctual[0] < pages/10*9/10 || punctual[1] > pages/50) {
		t.Errorf("%d of %d pages are believed to keep an hour, and %d of %d that do not", punctual[0], pages/10, punctual[1], pages*9/10)
	}
	return fresh[0] / all[0], fresh[1] / all[1]
}
