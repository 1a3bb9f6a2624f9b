package node

import (
	"math"
	"testing"
	"time"

	"freshet/store"
)

func TestFitVisits(t *testing.T) {
	visits := func(n int, every time.Duration, changed func(i int) bool) (all []store.Visit) {
		for i := range n {
			all = append(all, store.Visit{At: int64(1e18) + int64(i)*int64(every), Complete: true, Changed: changed(i)})
		}
		return all
	}
	tests := []struct {
		name    string
		visits  []store.Visit
		process string
		rate    float64 // a day
		period  time.Duration
	}{
		{"every other day changed", visits(41, 24*time.Hour, func(i int) bool { return i%2 == 1 }), "poisson", math.Ln2, 0},
		{"never", visits(41, 24*time.Hour, func(int) bool { return false }), "poisson", 0, 0},
		{"daily, seen each hour", visits(24*20, time.Hour, func(i int) bool { return i%24 == 5 }), "quasi", 20.0 / 20, 24 * time.Hour},
		{"weekly, seen each hour", visits(24*7*20, time.Hour, func(i int) bool { return i%168 == 5 }), "quasi", 1.0 / 7, 24 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, ok := FitVisits(test.visits)
			if !ok || m.Process != test.process || math.Abs(m.RatePerDay-test.rate) > 0.05 || m.Rhythm.Period != test.period.Seconds() {
				t.Errorf("%v %+v, want %s at %.3f a day, period %v", ok, m, test.process, test.rate, test.period)
			}
		})
	}
	// The page has changed between 5:46 and the visit at 6:46: around six, and by half past at the latest.
	if m, _ := FitVisits(tests[2].visits); m.Rhythm.Phase != 6.5*3600 || m.Anytime > 1e-3 {
		t.Errorf("%+v, want changes by half past six", m)
	}
	if _, ok := FitVisits(visits(1, time.Hour, func(int) bool { return true })); ok {
		t.Error("a single visit has a model")
	}
}
