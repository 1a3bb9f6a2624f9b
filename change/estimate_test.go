package change

import (
	"math"
	"math/rand/v2"
	"testing"
)

// visitsOf simulates visits to a Poisson page of rate 1. Their mean spacing is spacing; it is constant if regular is
// set.
func visitsOf(rng *rand.Rand, n int, spacing float64, regular bool) []Observation {
	visits := make([]Observation, n)
	for i := range visits {
		length := spacing
		if !regular {
			length *= rng.ExpFloat64()
		}
		visits[i] = Observation{length, rng.Float64() < -math.Expm1(-length)}
	}
	return visits
}

func tallyOf(visits []Observation) (t Tally) {
	for _, o := range visits {
		t.Add(o)
	}
	return t
}

// TestEstimatorsByHand compares the estimators with closed forms, for ten regular visits of which five saw a change.
func TestEstimatorsByHand(t *testing.T) {
	var half []Observation
	for i := range 10 {
		half = append(half, Observation{2, i < 5})
	}
	tests := []struct {
		name      string
		got, want float64
	}{
		{"naive", tallyOf(half).Naive(), 0.25},
		{"bias-reduced", tallyOf(half).BiasReduced(), math.Log(10.5/5.5) / 2},
		{"maximum likelihood", MaximumLikelihood(half), math.Ln2 / 2},
		{"no change", MaximumLikelihood(half[5:]), 0},
		{"all changed", MaximumLikelihood(half[:5]), math.Inf(1)},
		{"all changed, bias-reduced", tallyOf(half[:5]).BiasReduced(), math.Log(11) / 2},
		{"nothing", Tally{}.BiasReduced(), 0},
	}
	for _, test := range tests {
		if test.got != test.want && !(math.Abs(test.got-test.want) <= 1e-9*test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
		}
	}
}

// TestEstimatorsOnSimulatedVisits holds each estimator's mean, over many pages, to the true rate.
func TestEstimatorsOnSimulatedVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		name      string
		regular   bool
		spacing   float64 // expected changes between visits
		visits    int
		estimate  func([]Observation) float64
		tolerance float64
	}{
		{"bias-reduced", true, 1, 20, func(v []Observation) float64 { return tallyOf(v).BiasReduced() }, 0.03},
		{"bias-reduced, often", true, 0.1, 50, func(v []Observation) float64 { return tallyOf(v).BiasReduced() }, 0.03},
		{"maximum likelihood", false, 0.5, 400, MaximumLikelihood, 0.02},
		{"naive is too low", true, 1, 400, func(v []Observation) float64 { return tallyOf(v).Naive() + 1/math.E }, 0.01},
	}
	for _, test := range tests {
		const pages = 2000
		mean := 0.0
		for range pages {
			mean += test.estimate(visitsOf(rng, test.visits, test.spacing, test.regular)) / pages
		}
		if math.Abs(mean-1) > test.tolerance {
			t.Errorf("%s: mean %.4f, want 1 ± %g", test.name, mean, test.tolerance)
		}
	}
}

// TestEvidence draws the rates of pages from the prior. It holds that as many pages have rate k as the grid's
// posteriors say.
func TestEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	prior := Shape(7, 0.7)
	prior.Normalise()
	var believed, true_ [Rates]float64
	const pages = 4000
	for range pages {
		k, at := 0, rng.Float64()
		for ; k < Rates-1 && at > float64(prior[k]); k++ {
			at -= float64(prior[k])
		}
		true_[k]++
		e := NewEvidence()
		for range 10 {
			length := 30 * 86400 * rng.ExpFloat64()
			shared := 0.0
			if rng.IntN(2) == 0 {
				shared = 0.5
			}
			h := GridRate(k)*length + shared
			e.Visit(length, shared, rng.Float64() < -math.Expm1(-h))
			e.Scale(&prior, 0)
		}
		for j, p := range e.Posterior(&prior) {
			believed[j] += float64(p)
		}
	}
	for k := range true_ {
		if off := math.Abs(believed[k] - true_[k]); off > 5*math.Sqrt(true_[k])+5 {
			t.Errorf("rate %d: %.0f pages believed, %.0f are", k, believed[k], true_[k])
		}
	}
}

func TestEvidenceEdges(t *testing.T) {
	prior := Shape(5, 0.7)
	prior.Normalise()
	e := NewEvidence()
	for range 500 {
		e.Visit(1e9, 0, false) // thirty years, again and again
		e.Scale(&prior, 0)
	}
	if b := e.Posterior(&prior); !(b[0] > 0.99) {
		t.Errorf("a page that never changes is believed %v", b)
	}
	for range 50 {
		e.Visit(1, 0, true)
		e.Scale(&prior, 0.01)
	}
	if b := e.Posterior(&prior); !(b.Mean() > GridRate(Rates-2)) {
		t.Errorf("a page that always changes is believed to change %g times a day", b.Mean()*86400)
	}
	e.Scale(&prior, 1)
	if e != NewEvidence() {
		t.Errorf("all is doubted, and left is %v", e)
	}
	if u := prior.Unchanged(0); math.Abs(u-1) > 1e-9 {
		t.Errorf("in no time a page stays the same with probability %v", u)
	}
}

// TestChoose draws gaps from each law. Choose must rank that law first, with the right rate (Pareto apart).
func TestChoose(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	tests := []struct {
		want string
		draw func() float64
	}{
		{"poisson", rng.ExpFloat64},
		{"weibull", func() float64 { return math.Pow(rng.ExpFloat64(), 1/0.5) }},
		{"gamma", func() float64 { return rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64() }},
		{"pareto", func() float64 { return math.Pow(1-rng.Float64(), -1/1.5) - 1 }},
	}
	for _, test := range tests {
		gaps := make([]float64, 2000)
		mean := 0.0
		for i := range gaps {
			gaps[i] = 86400 * test.draw()
			mean += gaps[i] / 2000
		}
		fits, err := Choose(gaps)
		if err != nil {
			t.Fatal(err)
		}
		if len(fits) < 3 || fits[0].Name != test.want {
			t.Errorf("gaps of a %s page: %+v", test.want, fits)
		}
		if r := fits[0].Process.Rate() * mean; test.want != "pareto" && math.Abs(r-1) > 0.05 {
			t.Errorf("%s: %.3f changes in a mean gap", test.want, r)
		}
	}
	for _, gaps := range [][]float64{nil, {1}, {1, 0}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := Choose(gaps); err == nil {
			t.Errorf("gaps %v: no error", gaps)
		}
	}
}

// BenchmarkEstimate fits one history of 20 visits: a million take a million times as long.
func BenchmarkEstimate(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	histories := make([][]Observation, 4096)
	for i := range histories {
		histories[i] = append(visitsOf(rng, 18, 0.5, false), Observation{0.5, true}, Observation{0.5, false})
	}
	prior := Shape(5, 0.7)
	estimators := []struct {
		name string
		run  func([]Observation) float64
	}{
		{"bias-reduced", func(v []Observation) float64 { return tallyOf(v).BiasReduced() }},
		{"maximum-likelihood", MaximumLikelihood},
		{"grid", func(v []Observation) float64 {
			e := NewEvidence()
			for _, o := range v {
				e.Visit(86400*o.Length, 0, o.Changed)
				e.Scale(&prior, 0.01)
			}
			p := e.Posterior(&prior)
			return p.Mean()
		}},
	}
	for _, estimator := range estimators {
		b.Run("estimator="+estimator.name+"/visits=20", func(b *testing.B) {
			sum, n := 0.0, 0
			for b.Loop() {
				sum += estimator.run(histories[n%len(histories)])
				n++
			}
			_ = sum
		})
	}
}
