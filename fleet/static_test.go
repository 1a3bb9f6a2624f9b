package fleet

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// near fails unless got is want to a relative tolerance, or both are below 1e-300.
func near(t interface {
	Helper()
	Errorf(string, ...any)
}, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)+1e-300) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

// TestClosedForm holds the closed form of M/M/1/K against the plain sum of (1.3).
func TestClosedForm(t *testing.T) {
	for _, rho := range []float64{1e-3, 0.1, 0.5, 0.9, 1 - 1e-6, 1 - 1e-15, 1, 1 + 1e-15, 1 + 1e-9, 1.01, 1.5, 2, 7, 100} {
		for _, k := range []int{2, 3, 10, 57} {
			sum, first := 0.0, 0.0
			for i := range k + 1 {
				sum += math.Pow(rho, float64(i))
				first += float64(i) * math.Pow(rho, float64(i))
			}
			near(t, "empty", emptyProbability(rho, k), 1/sum, 1e-13)
			near(t, "full", fullProbability(rho, k), math.Pow(rho, float64(k))/sum, 1e-13)
			// The mean queue is a sum of numbers as large as K.
			if mean := meanQueue(math.Log(rho), k); math.Abs(mean-first/sum) > 1e-13*float64(k) {
				t.Errorf("mean queue at %v, %d: got %v, want %v", rho, k, mean, first/sum)
			}
		}
	}
}

// TestClosedFormFarOut holds the limits of M/M/1/K, where the sum is of no use: huge queues and loads
// far from 1.
func TestClosedFormFarOut(t *testing.T) {
	const huge = 1 << 40
	tests := []struct {
		name        string
		rho         float64
		k           int
		empty, full float64
	}{
		{"light load", 0.5, huge, 0.5, 0},
		{"heavy load", 2, huge, 0, 0.5},
		{"load 1", 1, huge, 1. / (huge + 1), 1. / (huge + 1)},
		{"beside 1", 1 + 1./huge, huge, 1. / huge / (math.E - 1), 1. / huge / (1 - 1/math.E)},
		{"no load", 1e-9, 2, 1, 1e-18},
		{"vast load", 1e9, 2, 1e-18, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			near(t, "empty", emptyProbability(test.rho, test.k), test.empty, 2e-9)
			near(t, "full", fullProbability(test.rho, test.k), test.full, 2e-9)
		})
	}
}

// erlang and hyperexponential return services whose parameters are known to be good.
func erlang(stages int) Service {
	s, err := Erlang(stages)
	if err != nil {
		panic(err)
	}
	return s
}

func hyperexponential(variation float64) Service {
	s, err := Hyperexponential(variation)
	if err != nil {
		panic(err)
	}
	return s
}

// uniform returns service times evenly spread over [0,2], as samples: the midpoints of equal parts.
func uniform(t *testing.T) Service {
	t.Helper()
	samples := make([]float64, maxDistinct)
	for i := range samples {
		samples[i] = 2 * (float64(i) + 0.5) / maxDistinct
	}
	s, mean, err := Empirical(samples)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", mean, 1, 1e-12)
	return s
}

// TestGeneralService holds P(X=0) and P(X=K) of M/G/1/K to values computed twice with 30 digits: by
// the cut equations and, for fixed times, by the closed form, for Erlang and hyperexponential ones by
// the chain of phases, for uniform ones by quadrature.
func TestGeneralService(t *testing.T) {
	services := map[string]Service{
		"deterministic": Deterministic(), "erlang-2": erlang(2), "hyperexponential": hyperexponential(4), "uniform": uniform(t),
	}
	tests := []struct {
		service     string
		rho         float64
		k           int
		empty, full float64
	}{
		{"deterministic", 0.5, 2, 0.5481372381, 0.09627447624},
		{"deterministic", 0.5, 10, 0.5000020286, 4.057159846e-6},
		{"deterministic", 0.8, 5, 0.2282323171, 0.03529039644},
		{"deterministic", 0.8, 20, 0.2000386174, 4.82717591e-5},
		{"deterministic", 1, 5, 0.1034489413, 0.1034489413},
		{"deterministic", 1, 10, 0.05084745763, 0.05084745763},
		{"deterministic", 1.2, 5, 0.03897603199, 0.1991466933},
		{"deterministic", 1.2, 10, 0.005092922248, 0.1709107685},
		{"deterministic", 2, 5, 5.061659355e-4, 0.500253083},
		{"deterministic", 2, 20, 2.101548517e-14, 0.5},
		{"erlang-2", 0.5, 2, 0.5614035088, 0.1228070175},
		{"erlang-2", 0.5, 10, 0.5000453745, 9.07489976e-5},
		{"erlang-2", 0.8, 5, 0.2509176278, 0.06364703481},
		{"erlang-2", 0.8, 20, 0.2004951653, 6.189566014e-4},
		{"erlang-2", 1, 5, 0.138453218, 0.138453218},
		{"erlang-2", 1, 10, 0.0719999978, 0.0719999978},
		{"erlang-2", 1.2, 5, 0.07206353169, 0.2267196097},
		{"erlang-2", 1.2, 10, 0.01682034969, 0.1806836247},
		{"erlang-2", 2, 5, 5.649717514e-3, 0.5028248588},
		{"erlang-2", 2, 20, 3.019685806e-9, 0.5000000015},
		{"hyperexponential", 0.8, 5, 0.3347163892, 0.1683954865},
		{"hyperexponential", 1, 10, 0.1613208142, 0.1613208142},
		{"hyperexponential", 1.2, 10, 0.08979759587, 0.2414979966},
		{"uniform", 0.8, 5, 0.2435779819, 0.05447247741},
		{"uniform", 1, 10, 0.06557377012, 0.06557377012},
		{"uniform", 1.2, 10, 0.0132012339, 0.1776676949},
	}
	for _, test := range tests {
		tolerance := 5.1e-10 // ten digits
		if test.service == "uniform" {
			tolerance = 1e-8 // 10,000 parts are not yet the integral
		}
		empty, full, _ := services[test.service].general(test.rho, test.k)
		near(t, test.service+" empty", empty, test.empty, tolerance)
		near(t, test.service+" full", full, test.full, tolerance)
	}
}

// TestFixedTime holds the cut equations to the closed form of M/D/1/K, which alternates and is good
// at small K only.
func TestFixedTime(t *testing.T) {
	for _, rho := range []float64{0.2, 0.7, 1, 1.3, 2.5} {
		for k := 2; k <= 8; k++ {
			n, b, factorial := k-1, 0.0, 1.0
			for i := range n + 1 {
				if i > 0 {
					factorial *= float64(i)
				}
				d := float64(n - i)
				b += math.Pow(-1, float64(i)) / factorial * math.Pow(d, float64(i)) * math.Exp(d*rho) * math.Pow(rho, float64(i))
			}
			empty, full, _ := Deterministic().general(rho, k)
			near(t, "empty", empty, 1/(1+rho*b), 1e-11)
			if want := 1 - b/(1+rho*b); math.Abs(full-want) > 1e-13 { // a difference of numbers near 1
				t.Errorf("full at %v, %d: got %v, want %v", rho, k, full, want)
			}
		}
	}
}

// TestServicesThatAreOne holds services that are the same distribution in two ways.
func TestServicesThatAreOne(t *testing.T) {
	same, _, err := Empirical([]float64{3, 3, 3})
	if err != nil {
		t.Fatal(err)
	}
	pairs := []struct {
		name string
		a, b Service
		rel  float64
	}{
		{"equal samples are a fixed time", same, Deterministic(), 1e-14},
		{"many stages are nearly a fixed time", erlang(1e9), Deterministic(), 1e-5},
		{"one branch is exponential", Service{[]branch{{1, 1, 1}}}, Exponential(), 1e-12},
		{"a gamma of shape 1 is exponential", Service{[]branch{{1, 1, 1 + 1e-15}}}, Exponential(), 1e-11},
	}
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			for _, rho := range []float64{1e-3, 0.3, 0.99, 1, 1.7, 20, 900} {
				for _, k := range []int{2, 7, 100, 300} {
					empty, full, _ := pair.a.general(rho, k)
					wantEmpty, wantFull, _ := pair.b.general(rho, k)
					if pair.b.exponential() {
						wantEmpty, wantFull = emptyProbability(rho, k), fullProbability(rho, k)
					}
					if math.Abs(empty-wantEmpty) > pair.rel*wantEmpty+1e-40 || math.Abs(full-wantFull) > pair.rel*wantFull+1e-40 {
						t.Errorf("ρ=%v K=%d: got %v, %v, want %v, %v", rho, k, empty, full, wantEmpty, wantFull)
					}
				}
			}
		})
	}
}

// TestVariation holds the squared coefficients of variation.
func TestVariation(t *testing.T) {
	near(t, "exponential", Exponential().Variation(), 1, 0)
	near(t, "deterministic", Deterministic().Variation(), 0, 0)
	near(t, "erlang", erlang(4).Variation(), 0.25, 1e-14)
	near(t, "hyperexponential", hyperexponential(4).Variation(), 4, 1e-14)
	near(t, "uniform", uniform(t).Variation(), 1./3, 2e-8)
}

// TestBestOfServices holds the optimal number and its cost at λ=0.01, μ=1.
func TestBestOfServices(t *testing.T) {
	services := []Service{Deterministic(), erlang(2), Exponential(), hyperexponential(4)}
	tests := []struct {
		gamma    float64
		k        int
		fetchers [4]int
		cost     [4]float64
	}{
		{0.4, 5, [4]int{84, 78, 73, 59}, [4]float64{0.117654866, 0.150943764, 0.175405025, 0.242879799}},
		{0.4, 10, [4]int{93, 89, 86, 74}, [4]float64{0.0596032000, 0.0825251176, 0.102070750, 0.176585747}},
		{1.4, 5, [4]int{103, 102, 100, 98}, [4]float64{0.246584172, 0.331854945, 0.400000000, 0.576309185}},
		{2.4, 10, [4]int{106, 108, 110, 118}, [4]float64{0.153599547, 0.221323855, 0.283474683, 0.504565891}},
	}
	for _, test := range tests {
		for i, service := range services {
			best, err := Model{0.01, 1, test.k, test.gamma}.Best(service)
			if err != nil {
				t.Fatal(err)
			}
			if best.Fetchers != test.fetchers[i] {
				t.Errorf("γ=%v K=%d service %d: %d fetchers, want %d", test.gamma, test.k, i, best.Fetchers, test.fetchers[i])
			}
			near(t, "cost", best.Cost, test.cost[i], 5e-9)
		}
	}
}

// aModel draws a model in units where μ is as drawn.
func aModel(t *rapid.T) Model {
	mu := math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log mu"))
	return Model{
		ArrivalRate: mu * math.Exp(rapid.Float64Range(-4, 1).Draw(t, "log lambda")),
		ServiceRate: mu,
		Queue:       rapid.IntRange(2, 40).Draw(t, "K"),
		Gamma:       mu * math.Exp(rapid.Float64Range(-4, 4).Draw(t, "log gamma")),
	}
}

func aService(t *rapid.T) Service {
	switch rapid.IntRange(0, 4).Draw(t, "service") {
	case 0:
		return Deterministic()
	case 1:
		return erlang(rapid.IntRange(1, 9).Draw(t, "stages"))
	case 2:
		return hyperexponential(rapid.Float64Range(1, 30).Draw(t, "variation"))
	case 3:
		s, _, err := Empirical(rapid.SliceOfN(rapid.Float64Range(0.01, 9), 1, 6).Draw(t, "samples"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return Exponential()
}

// TestFlow holds for any service that what is accepted is served, ρ(1−P(X=K)) = 1−P(X=0), and that
// the cost is at least γ(1−ρ) and μ(ρ−1).
func TestFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, service := aModel(t), aService(t)
		s, err := m.Fixed(rapid.IntRange(1, 400).Draw(t, "n"), service)
		if err != nil {
			t.Fatal(err)
		}
		accepted, served := s.Load-s.Loss/m.ServiceRate, 1-s.Starvation
		if math.Abs(accepted-served) > 1e-12*(1+s.Load) {
			t.Errorf("accepted %v, served %v", accepted, served)
		}
		if bound := max(m.Gamma*(1-s.Load), m.ServiceRate*(s.Load-1)); s.Cost < bound-1e-12*math.Abs(bound) {
			t.Errorf("cost %v is below its bound %v", s.Cost, bound)
		}
	})
}

// TestBestIsBest holds Proposition 1 and the search for any service against trying all numbers, and
// Lemma 1: with exponential service the cost falls up to one minimum and rises after it.
func TestBestIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, service := aModel(t), aService(t)
		best, err := m.Best(service)
		if err != nil {
			t.Fatal(err)
		}
		last := 2*best.Fetchers + int(4*m.ServiceRate/m.ArrivalRate) + 4
		fell, rose := math.Inf(1), false
		for n := 1; n <= last; n++ {
			s, err := m.Fixed(n, service)
			if err != nil {
				t.Fatal(err)
			}
			if s.better(best) {
				t.Fatalf("%d fetchers cost %v, the best %d cost %v", n, s.Cost, best.Fetchers, best.Cost)
			}
			if service.exponential() {
				if rose && s.Cost < fell*(1-1e-12) {
					t.Errorf("a second descent at %d", n)
				}
				rose = rose || s.Cost > fell*(1+1e-12)
				fell = s.Cost
			}
		}
	})
}

// TestOptimalLoad holds Lemma 1 and Proposition 2: the load is below, at, above 1 as γ is below, at,
// above γ(K), grows with γ, and is where the cost is least.
func TestOptimalLoad(t *testing.T) {
	for i, gamma := range []float64{1, 10, 100, 1000, 1e4} {
		near(t, "load at K=5", optimalLoad(gamma, 5), []float64{0.91884584, 1.5886952, 2.5404687, 3.8896714, 5.8415603}[i], 2e-8)
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.OneOf(rapid.IntRange(2, 50), rapid.IntRange(50, 1e7)).Draw(t, "K")
		gamma := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log gamma"))
		rho := optimalLoad(gamma, k)
		critical := (float64(k) + 2) / float64(k)
		if gamma < critical*(1-1e-9) && rho >= 1 || gamma > critical*(1+1e-9) && rho <= 1 {
			t.Errorf("load %v with γ %v where γ(K) is %v", rho, gamma, critical)
		}
		near(t, "load at γ(K)", optimalLoad(critical, k), 1, 1e-12)
		if more := optimalLoad(gamma*1.1, k); more <= rho {
			t.Errorf("load %v at γ %v, %v at %v", rho, gamma, more, gamma*1.1)
		}
		cost := func(rho float64) float64 { return gamma*emptyProbability(rho, k) + rho*fullProbability(rho, k) }
		for _, step := range []float64{0.9, 0.999, 1.001, 1.1} {
			if cost(rho*step) < cost(rho)*(1-1e-13) {
				t.Errorf("cost %v at the optimal load %v, %v at %v", cost(rho), rho, cost(rho*step), rho*step)
			}
		}
	})
}

// TestLoadAsTheQueueGrows holds Propositions 3 and 4: for γ ≤ μ the optimal load never falls as K
// grows; for γ > μ it rises to one peak, at K₀−1 or K₀ with K₀ ≥ ⌊2μ/(γ−μ)⌋, and falls. It tends to 1.
func TestLoadAsTheQueueGrows(t *testing.T) {
	peaks := map[float64]int{1.2: 21, 1.25: 17, 1.4: 11, 1.5: 9, 2: 5, 3: 3}
	for _, gamma := range []float64{0.01, 0.1, 0.5, 0.9, 1, 1.05, 1.2, 1.25, 1.4, 1.5, 2, 3, 10, 1000} {
		peak, falling, last := 2, false, 0.0
		for k := 2; k <= 400; k++ {
			rho := optimalLoad(gamma, k)
			switch {
			case rho > last+1e-14:
				if falling {
					t.Errorf("γ=%v: the load rises again at K=%d", gamma, k)
				}
				peak = k
			case rho < last-1e-14:
				falling = true
			}
			last = rho
		}
		if gamma <= 1 && falling {
			t.Errorf("γ=%v: the load falls", gamma)
		}
		if gamma > 1.04 && (!falling || peak+1 < int(2/(gamma-1)+1e-9)) {
			t.Errorf("γ=%v: peak at K=%d", gamma, peak)
		}
		if want, ok := peaks[gamma]; ok && peak != want {
			t.Errorf("γ=%v: peak at K=%d, want %d", gamma, peak, want)
		}
		near(t, "limit", optimalLoad(gamma, 1e9), 1, 1e-6)
	}
}

// TestLargeQueue holds (1.12), the guard against rounding, and that Best agrees with it at last.
func TestLargeQueue(t *testing.T) {
	tests := []struct {
		lambda, gamma float64
		want          int
	}{
		{0.01, 0.1, 100}, {0.01, 2, 100}, {0.1, 1, 10},
		{1. / 2.5, 1, 3}, // a tie: 0.2 over, 0.2 under
		{1. / 2.4, 1, 2}, {1. / 2.6, 1, 3}, {1. / 2.4, 3, 3}, {1. / 2.6, 0.3, 2},
		{3, 0.1, 1}, {1e9, 1, 1},
	}
	for _, test := range tests {
		m := Model{test.lambda, 1, 10, test.gamma}
		got, err := m.LargeQueue()
		if err != nil || got != test.want {
			t.Errorf("λ=%v γ=%v: got %d, %v, want %d", test.lambda, test.gamma, got, err, test.want)
		}
		m.Queue = 1e12
		if best, err := m.Best(Exponential()); err != nil || best.Fetchers != got && test.lambda != 1./2.5 {
			t.Errorf("λ=%v γ=%v: %d with a vast queue, %v, want %d", test.lambda, test.gamma, best.Fetchers, err, got)
		}
	}
	if got, err := (Model{0.1, 0.3, 10, 1}).LargeQueue(); err != nil || got != 3 {
		t.Errorf("0.3/0.1: got %d, %v, want 3", got, err)
	}
}

// TestBadModels holds that nonsense is refused, by every entry.
func TestBadModels(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	models := map[string]Model{
		"no arrivals": {0, 1, 5, 1}, "negative arrivals": {-1, 1, 5, 1}, "NaN arrivals": {nan, 1, 5, 1}, "endless arrivals": {inf, 1, 5, 1},
		"no service": {1, 0, 5, 1}, "negative service": {1, -1, 5, 1}, "NaN service": {1, nan, 5, 1}, "endless service": {1, inf, 5, 1},
		"no gamma": {1, 1, 5, 0}, "NaN gamma": {1, 1, 5, nan}, "endless gamma": {1, 1, 5, inf},
		"queue of 1": {1, 1, 1, 1}, "negative queue": {1, 1, -5, 1}, "endless queue": {1, 1, math.MaxInt, 1},
		"rates too far apart": {1e-200, 1e200, 5, 1}, "tiny": {1e-300, 1, 5, 1}, "vast gamma": {1, 1, 5, 1e300},
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			if m.Validate() == nil {
				t.Error("valid")
			}
			if _, err := m.Fixed(1, Exponential()); err == nil {
				t.Error("Fixed answered")
			}
			if _, err := m.Best(Exponential()); err == nil {
				t.Error("Best answered")
			}
			if _, err := m.OptimalLoad(); err == nil {
				t.Error("OptimalLoad answered")
			}
			if _, err := m.LargeQueue(); err == nil {
				t.Error("LargeQueue answered")
			}
			if _, err := m.Dynamic(0); err == nil {
				t.Error("Dynamic answered")
			}
			if _, err := m.DynamicByValues(0, ValueIteration{}); err == nil {
				t.Error("DynamicByValues answered")
			}
		})
	}
	good := Model{0.1, 1, 5, 1}
	for _, n := range []int{0, -1, 1 << 60} {
		if _, err := good.Fixed(n, Exponential()); err == nil {
			t.Errorf("Fixed answered for %d fetchers", n)
		}
	}
	good.Queue = maxGeneralQueue + 1
	if _, err := good.Fixed(1, Deterministic()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a vast queue of fixed times: %v", err)
	}
}

// TestBadServices holds that distributions that are none are refused.
func TestBadServices(t *testing.T) {
	for _, stages := range []int{0, -1} {
		if _, err := Erlang(stages); err == nil {
			t.Errorf("Erlang(%d) answered", stages)
		}
	}
	for _, variation := range []float64{0.99, -1, math.NaN(), math.Inf(1), 1e7} {
		if _, err := Hyperexponential(variation); err == nil {
			t.Errorf("Hyperexponential(%v) answered", variation)
		}
	}
	for _, samples := range [][]float64{nil, {0}, {1, -1}, {math.NaN()}, {math.Inf(1)}, {math.MaxFloat64, math.MaxFloat64}} {
		if _, _, err := Empirical(samples); err == nil {
			t.Errorf("Empirical(%v) answered", samples)
		}
	}
}
