package change

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDraw draws a page's changes from a random moment on. The page changes as often as its rate says, and a copy made
// at that moment is as fresh as its law says. The bounds are five standard errors.
func TestDraw(t *testing.T) {
	pareto, err := NewPareto(0.8, 2.5)
	if err != nil {
		t.Fatal(err)
	}
	const until, draws = 50.0, 4000
	for name, p := range map[string]Renewal{"poisson": Poisson(0.8), "pareto": pareto} {
		rng := rand.New(rand.NewPCG(1, 2))
		var counts, fresh []float64
		for range draws {
			n, last, first := 0.0, 0.0, 2.0
			for at := range Draw(p, rng, until) {
				if at <= last {
					t.Fatalf("%s: a change at %v after one at %v", name, at, last)
				}
				if n == 0 {
					first = min(first, at)
				}
				n, last = n+1, at
			}
			counts, fresh = append(counts, n), append(fresh, first/2)
		}
		_, want := p.Staleness(2)
		near(t, name+": changes", counts, 0.8*until)
		near(t, name+": freshness of two seconds", fresh, want)
	}
}

// TestGap holds that gaps have the law's mean and its tail.
func TestGap(t *testing.T) {
	type law interface {
		Process
		Tail(float64) float64
		Gap(*rand.Rand) float64
	}
	laws := map[string]law{"poisson": Poisson(0.5)}
	var err [4]error
	laws["pareto"], err[0] = NewPareto(0.5, 3.5)
	laws["weibull"], err[1] = NewWeibull(0.5, 0.7)
	laws["bursty gamma"], err[2] = NewGamma(0.5, 0.4)
	laws["regular gamma"], err[3] = NewGamma(0.5, 6)
	if slices.ContainsFunc(err[:], func(e error) bool { return e != nil }) {
		t.Fatal(err)
	}
	for name, p := range laws {
		rng := rand.New(rand.NewPCG(3, 4))
		var gaps, longer []float64
		for range 20_000 {
			gap := p.Gap(rng)
			gaps, longer = append(gaps, gap), append(longer, 0)
			if gap > 3 {
				longer[len(longer)-1] = 1
			}
		}
		near(t, name+": mean gap", gaps, 2)
		near(t, name+": share above 3 s", longer, p.Tail(3))
	}
}

// TestRhythm holds that the changes of a rhythm come at its instants and as often as it says, and that its curve has
// them.
func TestRhythm(t *testing.T) {
	r := Rhythm{Period: 10, Phase: 3, Probability: 0.4}
	rng := rand.New(rand.NewPCG(5, 6))
	n := 0.0
	for at := range r.Draw(rng, 13, 10_013) {
		if math.Mod(at, 10) != 3 || at <= 13 {
			t.Fatalf("a change at %v", at)
		}
		n++
	}
	if r.Count(13, 10_013) != 1000 || math.Abs(n-400) > 5*math.Sqrt(240) {
		t.Errorf("%v changes at %v instants", n, r.Count(13, 10_013))
	}
	curve, err := r.Over(103, 30, 0.1) // at 113, 123 and 133; the change at the start is past
	if err != nil {
		t.Fatal(err)
	}
	if got := curve.Times(nil, 3); !slices.Equal(got, []float64{10, 20, 30}) && !slices.Equal(got, []float64{0, 10, 20}) {
		t.Errorf("best at %v", got)
	}
	if curve.Updates() != 3 {
		t.Errorf("%d updates, want 3", curve.Updates())
	}
	if _, err := r.Over(0, 10*(MaxUpdates+1), 0); err == nil {
		t.Error("more instants than a curve may have")
	}
}

// near fails if the mean of samples is more than five of its standard errors from want.
func near(t *testing.T, what string, samples []float64, want float64) {
	t.Helper()
	n, sum, square := float64(len(samples)), 0.0, 0.0
	for _, x := range samples {
		sum += x
		square += x * x
	}
	mean := sum / n
	if spread := math.Sqrt((square/n - mean*mean) / n); math.Abs(mean-want) > 5*spread {
		t.Errorf("%s: %v in the mean, want %v to within %v", what, mean, want, 5*spread)
	}
}
