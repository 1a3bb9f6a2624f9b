package change_test

import (
	"math"
	"testing"

	"freshet/change"

	"pgregory.net/rapid"
)

// TestLength holds the precision that Length promises, for two inverses. A solver uses them a million times.
func TestLength(t *testing.T) {
	tight, err := change.NewPareto(1, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []change.Process{change.Poisson(1), tight} {
		for e := -7.0; e <= 1.2; e += 0.01 {
			want := math.Pow(10, e)
			if got := change.Length(p, p.Marginal(want)); math.Abs(got/want-1) > 1e-8 {
				t.Errorf("%T: Length(Marginal(%v)) is off by %.1e", p, want, got/want-1)
			}
		}
	}
}

// TestParetoDifference compares the differences of Pareto pages with the integral of Marginal, in which nothing
// cancels.
func TestParetoDifference(t *testing.T) {
	for _, shape := range []float64{1.01, 1.19, 1.21, 1.5, 1.99, 2, 2.01, 3, 10, 300} {
		p, err := change.NewPareto(1, shape)
		if err != nil {
			t.Fatal(err)
		}
		for span := 1e-12; span < 1e13; span *= 50 {
			for _, n := range []float64{1, 2, 7, 30, 1000, 2.5} {
				for _, k := range []float64{1, 0.3, 5} {
					want := 0.0
					const steps = 1024 // of Simpson's rule on a scale of powers
					for i := range steps + 1 {
						x := n * math.Pow((n+k)/n, float64(i)/steps)
						weight := float64(2 + i%2*2)
						if i == 0 || i == steps {
							weight = 1
						}
						want += weight * x * p.Marginal(span/x)
					}
					want *= math.Log((n+k)/n) / (3 * steps) / span
					if got := change.Difference(p, span, n, k); math.Abs(got-want) > 1e-11*want {
						t.Errorf("shape %v: Difference(%v, %v, %v) = %v, want %v, off by %.1e", shape, span, n, k, got, want, got/want-1)
					}
				}
			}
		}
	}
}

// TestMixtureLength compares the inverse with Marginal, for beliefs that are wide, narrow or of two rates far apart.
func TestMixtureLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		belief := change.Shape(rapid.IntRange(0, change.Rates-1).Draw(t, "rate"), rapid.Float64Range(0, 12).Draw(t, "narrow"))
		other := change.Shape(rapid.IntRange(0, change.Rates-1).Draw(t, "other rate"), 12)
		belief.Add(&other, math.Pow(10, rapid.Float64Range(-12, 3).Draw(t, "weight")))
		m := change.NewMixture(&belief)
		limit := m.Marginal(math.Inf(1))
		want := math.Pow(10, rapid.Float64Range(-6, 12).Draw(t, "length"))
		marginal := m.Marginal(want)
		if 1-marginal/limit < 1e-6 {
			t.Skip("too near the limit for its digits to tell the length")
		}
		got := change.Length(m, marginal)
		back := m.Marginal(got) // says less of the length where it is flat
		if math.Abs(got/want-1) > 1e-8 && math.Abs(back-marginal) > 1e-9*math.Min(marginal, limit-marginal) {
			t.Errorf("Length(Marginal(%v)) = %v, whose Marginal is %v and not %v", want, got, back, marginal)
		}
	})
}
