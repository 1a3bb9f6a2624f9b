package refresh_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"freshet/refresh"
)

// added returns the precision p of a claim from a page's staleness: the claim multiplies the probability that the
// copy is fresh by 1-p.
func added(without, with refresh.Copy) float64 { return 1 - (1-with.Stale)/(1-without.Stale) }

// TestClaim holds the effect of a claim on one page, after any visits. Two policies have the same visits, and one of
// them gets the claim.
func TestClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		options := refresh.Default()
		options.Shared = rapid.Bool().Draw(t, "shared")
		told, untold := refresh.NewIndex(options), refresh.NewIndex(options)
		both := func(do func(*refresh.Index)) { do(told); do(untold) }
		for i := range 3 {
			both(func(x *refresh.Index) { x.Add(refresh.ID(i), page(i, 0)) })
		}
		now := 0.0
		for range rapid.IntRange(0, 30).Draw(t, "visits") {
			now += day * rapid.Float64Range(0.01, 20).Draw(t, "days")
			v := refresh.Visit{At: now, Outcome: refresh.Unchanged}
			if rapid.Bool().Draw(t, "changed") {
				v.Outcome = refresh.Changed
			}
			id := refresh.ID(rapid.IntRange(0, 2).Draw(t, "page"))
			both(func(x *refresh.Index) { x.Visited(id, v) })
		}
		now += day * rapid.Float64Range(0.1, 20).Draw(t, "days")
		both(func(x *refresh.Index) { x.Visited(0, refresh.Visit{At: now, Outcome: refresh.Unchanged}) })
		seen := now
		now += day * rapid.Float64Range(0.01, 20).Draw(t, "quiet")

		told.Claim(0, refresh.Sitemap, seen)
		if told.Copy(0, now) != untold.Copy(0, now) {
			t.Fatal("what is claimed of the time before the last visit is believed")
		}
		told.Claim(0, refresh.Sitemap, seen+(now-seen)/2)
		told.Claim(0, refresh.Feed, now) // as good as the other: it adds nothing
		without, with := untold.Copy(0, now), told.Copy(0, now)
		// Beliefs are float32 and sum to 1 within about 1e-7. This error is divided by the probability that the copy
		// is fresh.
		tolerance := 1e-6 + 2e-7/(1-without.Stale)
		if p := added(without, with); math.Abs(p-0.5) > tolerance || with.Age < without.Age {
			t.Fatalf("a first claim makes %+v of %+v: precision %v, want a half", with, without, p)
		}
		if told.Copy(1, now) != untold.Copy(1, now) {
			t.Fatal("another page is believed to have changed")
		}
		if a, b := told.Due(0, now).Value, untold.Due(0, now).Value; a < b {
			t.Fatalf("a claim makes a visit's value %v of %v", a, b)
		}

		now += day / 100
		both(func(x *refresh.Index) { x.Visited(0, refresh.Visit{At: now}) })
		now += day / 100
		if a, b := told.Due(0, now), untold.Due(0, now); math.Abs(a.Value-b.Value) > 1e-9*b.Value || a.Stale <= b.Stale {
			t.Fatalf("after a failed visit: %+v, without a claim %+v: want the same value, and the claim still believed", a, b)
		}
		both(func(x *refresh.Index) { x.Visited(0, refresh.Visit{At: now, Outcome: refresh.Unchanged}) })
		now += day
		if a, b := told.Due(0, now), untold.Due(0, now); math.Abs(a.Rate-b.Rate) > 1e-4*b.Rate || math.Abs(a.Stale-b.Stale) > 1e-4 {
			t.Fatalf("after a claim that was wrong: %+v, without one %+v: want the same of the page", a, b)
		}
		told.Claim(0, refresh.Sitemap, now)
		if p := added(untold.Copy(0, now), told.Copy(0, now)); math.Abs(p-1.0/3) > 1e-3 {
			t.Fatalf("the next claim has precision %v, want 1/3", p)
		}
	})
}

// A rumour is a web of pages that change at random, with claims about their changes.
type rumour struct {
	of     func(page int, changed bool, rng *rand.Rand) bool // whether there is a claim that day
	claims bool
}

// keep runs a policy on such a web for two years. It returns the mean freshness of the second year, and the precision
// of a claim at its end.
func (r rumour) keep() (fresh, precision float64) {
	const pages, days, visits = 60, 730, 2
	x := refresh.NewIndex(refresh.Default())
	rng := rand.New(rand.NewPCG(3, 4))
	stale := make([]bool, pages)
	for i := range pages {
		x.Add(refresh.ID(i), page(i, 0))
	}
	for d := range days {
		morning := float64(d+1) * day
		for i := range pages {
			changed := rng.Float64() < 1/(10+2*float64(i))
			stale[i] = stale[i] || changed
			if claimed := r.of(i, changed, rng); claimed && r.claims {
				x.Claim(refresh.ID(i), refresh.Sitemap, morning)
			}
		}
		for v := range visits {
			at := morning + float64(v+1)*day/(visits+1)
			id, _, _ := x.Next(at)
			seen := refresh.Visit{At: at, Outcome: refresh.Unchanged}
			if stale[id] {
				seen.Outcome = refresh.Changed
			}
			x.Visited(id, seen)
			stale[id] = false
		}
		if d < days/2 {
			continue
		}
		for _, s := range stale {
			if !s {
				fresh += 1.0 / (pages * (days - days/2))
			}
		}
	}
	end := float64(days+1) * day
	id, _, _ := x.Next(end)
	x.Visited(id, refresh.Visit{At: end, Outcome: refresh.Unchanged})
	before := x.Copy(id, end+day)
	x.Claim(id, refresh.Sitemap, end+day)
	return fresh, added(before, x.Copy(id, end+day))
}

// TestRumours holds that true claims make copies fresher. The policy sees through false claims, which do no harm worth
// mentioning.
func TestRumours(t *testing.T) {
	for _, tt := range []struct {
		name       string
		of         func(page int, changed bool, rng *rand.Rand) bool
		gain       [2]float64 // freshness more than without claims
		precisions [2]float64
	}{
		{"all changes", func(_ int, changed bool, _ *rand.Rand) bool { return changed }, [2]float64{0.1, 1}, [2]float64{0.9, 1}},
		{"half of the changes", func(_ int, changed bool, rng *rand.Rand) bool { return changed && rng.IntN(2) == 0 }, [2]float64{0.03, 1}, [2]float64{0.9, 1}},
		{"everything, every day", func(int, bool, *rand.Rand) bool { return true }, [2]float64{-0.03, 0.03}, [2]float64{0, 0.35}},
		{"something, at random", func(_ int, _ bool, rng *rand.Rand) bool { return rng.IntN(30) == 0 }, [2]float64{-0.03, 0.03}, [2]float64{0, 0.35}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			without, _ := rumour{tt.of, false}.keep()
			with, precision := rumour{tt.of, true}.keep()
			t.Logf("freshness %.3f, without claims %.3f; precision %.3f", with, without, precision)
			if gain := with - without; gain < tt.gain[0] || gain > tt.gain[1] {
				t.Errorf("freshness %.3f, without claims %.3f: gained %.3f, want %v", with, without, gain, tt.gain)
			}
			if precision < tt.precisions[0] || precision > tt.precisions[1] {
				t.Errorf("precision %.3f, want %v", precision, tt.precisions)
			}
		})
	}
}
