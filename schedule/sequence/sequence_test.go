package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// near reports whether a and b differ by a part of them of at most tolerance.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

func pages(t interface{ Fatal(...any) }, rates, costs []float64, access AccessTime) *Pages {
	p, err := New(rates, costs, access)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rates returns n rates of sum mu, in proportion to weight(1) … weight(n).
func rates(n int, mu float64, weight func(i float64) float64) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = weight(float64(i + 1))
	}
	normalize(r)
	for i := range r {
		r[i] *= mu
	}
	return r
}

func equal(float64) float64      { return 1 }
func harmonic(i float64) float64 { return 1 / i }

// The paper's example, section 1.3.4: M = (2, 3, 3, 5), pages numbered from 1.
func TestGoldenExample(t *testing.T) {
	cycle, err := Golden([]int{2, 3, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	want := []int32{3, 1, 3, 0, 2, 3, 1, 3, 0, 2, 3, 1, 2}
	if diff := cmp.Diff(want, cycle); diff != "" {
		t.Errorf("golden-ratio sequence (-want +got):\n%s", diff)
	}
}

// Values computed from the built sequences and from the gap table by an independent program.
func TestExamples(t *testing.T) {
	twelfth := rates(12, 0.78, func(i float64) float64 { return i })
	tests := []struct {
		name                           string
		rates                          []float64
		access                         AccessTime
		counts                         []int
		golden, bound, randomized, far float64
		tolerance                      float64
	}{
		{"the example", []float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}, Constant(1), []int{2, 3, 3, 5}, 0.3762280534, 0.3678794412, 0.4641453072, 0, 2e-10},
		{"exponential", []float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}, Erlang{1, 1}, []int{2, 3, 3, 5}, 0.4207468571, 0.4132089120, 0.5, 0, 2e-10},
		{"twelve", twelfth, Constant(1), []int{2, 4, 6, 7, 9, 11, 13, 15, 17, 18, 20, 22}, 0.2503032187, 0.2384060113, 0.3314077954, 0.2498796837, 3e-10},
		{"twelve, exponential", twelfth, Erlang{1, 1}, []int{2, 4, 6, 7, 9, 11, 13, 15, 17, 18, 20, 22}, 0.2639823550, 0.2526558184, 0.3417977528, 0.2635576573, 3e-10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := pages(t, test.rates, nil, test.access)
			cycle, err := Golden(test.counts)
			if err != nil {
				t.Fatal(err)
			}
			byGaps, err := p.GoldenCost(test.counts)
			if err != nil {
				t.Fatal(err)
			}
			f, bound := p.Bound()
			_, randomized := p.Randomized()
			for _, v := range []struct {
				what      string
				got, want float64
			}{
				{"cost of the sequence", p.Cost(cycle), test.golden}, {"cost by the gaps", byGaps, test.golden},
				{"bound", bound, test.bound}, {"randomized", randomized, test.randomized}, {"limit", p.GoldenLimit(f), test.far},
			} {
				if v.want != 0 && !near(v.got, v.want, test.tolerance) {
					t.Errorf("%s: %.10f, want %.10f", v.what, v.got, v.want)
				}
			}
		})
	}
}

// Against the bound, c_i = μ_i, for 10 to 1,000 pages; larger ones are an experiment's.
func TestAgainstTheBound(t *testing.T) {
	tests := []struct {
		mu                        float64
		access                    AccessTime
		name                      string
		weight                    func(float64) float64
		n                         int
		bound                     float64
		cycle                     int
		golden, limit, randomized float64
	}{
		{1, Constant(1), "harmonic", harmonic, 10, 0.36787944, 610, 1.043683, 1.043653, 1.295084},
		{1, Constant(1), "harmonic", harmonic, 100, 0.36787944, 10946, 1.045060, 1.045067, 1.337816},
		{1, Constant(1), "equal", equal, 100, 0.36787944, 2584, 1.051818, 1.051759, 1.355740},
		{1, Erlang{1, 1}, "harmonic", harmonic, 100, 0.37826342, 10946, 1.042205, 1.042178, 1.321830},
		{1, Erlang{1, 1}, "equal", equal, 1000, 0.36806330, 28657, 1.050731, 1.050672, 1.358462},
		{0.1, Constant(1), "harmonic", harmonic, 10, 0.00483742, 610, 1.084499, 1.084466, 1.723736},
		{0.1, Constant(1), "equal", equal, 1000, 0.00483742, 28657, 1.099524, 1.099409, 1.878435},
		{0.1, Erlang{1, 1}, "harmonic", harmonic, 100, 0.00510978, 10946, 1.080462, 1.080424, 1.779118},
		{0.1, Erlang{1, 1}, "equal", equal, 10, 0.00528695, 233, 1.071047, 1.070962, 1.719498},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/%T/n=%d/mu=%v", test.name, test.access, test.n, test.mu), func(t *testing.T) {
			p := pages(t, rates(test.n, test.mu, test.weight), nil, test.access)
			f, bound := p.Bound()
			counts, err := Counts(f, test.cycle)
			if err != nil {
				t.Fatal(err)
			}
			golden, err := p.GoldenCost(counts)
			if err != nil {
				t.Fatal(err)
			}
			_, randomized := p.Randomized()
			if math.Abs(bound-test.bound) > 6e-9 {
				t.Errorf("bound %.8f, want %.8f", bound, test.bound)
			}
			for _, v := range []struct {
				what      string
				got, want float64
			}{{"golden", golden, test.golden}, {"limit", p.GoldenLimit(f), test.limit}, {"randomized", randomized, test.randomized}} {
				if math.Abs(v.got/bound-v.want) > 1e-6 { // the values are printed to six places
					t.Errorf("%s/bound = %.6f, want %.6f", v.what, v.got/bound, v.want)
				}
			}
		})
	}
}

// Costs that are not c_i = μ_i: the bound also by mirror descent, of an independent program.
func TestGeneralCosts(t *testing.T) {
	rates := []float64{0.05, 0.1, 0.2, 0.4}
	tests := []struct {
		access     AccessTime
		costs      []float64
		x          []float64
		bound      float64
		f          []float64
		randomized float64
	}{
		{Constant(1), []float64{1, 1, 1, 1}, []float64{0.15915246, 0.21428261, 0.28027282, 0.34629211}, 1.034892829,
			[]float64{0.18240508, 0.23376883, 0.28313638, 0.30068972}, 1.386453629},
		{Constant(1), []float64{4, 3, 2, 1}, []float64{0.23867474, 0.27842467, 0.28923228, 0.19366831}, 2.004288805,
			[]float64{0.28999437, 0.32350692, 0.29962129, 0.08687743}, 2.675695856},
		{Constant(1), []float64{1, 0.2, 0.3, 0.02}, []float64{0.39482293, 0.22521749, 0.37995957, 0}, 0.185977361,
			[]float64{0.43538016, 0.21050461, 0.35411523, 0}, 0.258004152},
		{Erlang{1, 1}, []float64{1, 1, 1, 1}, []float64{0.16898752, 0.22322561, 0.28148220, 0.32630467}, 1.180820518,
			[]float64{0.19162458, 0.24170876, 0.28324916, 0.28341751}, 1.498738404},
		{Erlang{1, 1}, []float64{4, 3, 2, 1}, []float64{0.24797847, 0.28346617, 0.28393569, 0.18461967}, 2.296216749,
			[]float64{0.29631713, 0.32415012, 0.28976638, 0.08976638}, 2.918233968},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%T%v", test.access, test.costs), func(t *testing.T) {
			p := pages(t, rates, test.costs, test.access)
			x, bound := p.Bound()
			f, randomized := p.Randomized()
			for i := range x {
				if math.Abs(x[i]-test.x[i]) > 6e-9 || math.Abs(f[i]-test.f[i]) > 6e-9 {
					t.Errorf("page %d: x = %.8f, f = %.8f, want %.8f, %.8f", i, x[i], f[i], test.x[i], test.f[i])
				}
			}
			if math.Abs(bound-test.bound) > 6e-10 || math.Abs(randomized-test.randomized) > 6e-10 {
				t.Errorf("bound %.9f, randomized %.9f, want %.9f, %.9f", bound, randomized, test.bound, test.randomized)
			}
		})
	}
}

// The paper's 5 % is the least cost of the golden ratio; φ⁵/10 is its largest.
func TestGoldenLimit(t *testing.T) {
	for _, test := range []struct {
		n    int
		x    float64
		want float64
	}{
		{58, 0.02, 1.1074397}, {58, 0.2, 1.0942667}, {58, 1, 1.0523796},
		{76, 0.02, 1.0467050}, {76, 0.2, 1.0416487}, {76, 1, 1.0246027},
	} {
		p := pages(t, rates(test.n, test.x, equal), nil, Constant(1))
		f, bound := p.Bound()
		counts, err := Counts(f, 46368) // F_24
		if err != nil {
			t.Fatal(err)
		}
		cost, err := p.GoldenCost(counts)
		if err != nil {
			t.Fatal(err)
		}
		if !near(cost/bound, test.want, 1e-7) {
			t.Errorf("%d equal pages, μE[X] = %v: %.7f of the bound, want %.7f", test.n, test.x, cost/bound, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 2, 40).Draw(t, "rates")
		p := pages(t, r, nil, Constant(rapid.Float64Range(0.001, 10).Draw(t, "access")))
		f, bound := p.Bound()
		if ratio := p.GoldenLimit(f) / bound; ratio < 1-1e-9 || slowest(f) < 0.1 && ratio > math.Pow(phi, 5)/10+0.1*slowest(f)+1e-3 {
			t.Fatalf("limit/bound = %v", ratio)
		}
	})
}

// slowest returns the largest frequency: the limit holds as it goes to 0.
func slowest(f []float64) float64 {
	most := 0.0
	for _, v := range f {
		most = max(most, v)
	}
	return most
}

// drawPages draws some pages with any costs, and an access time.
func drawPages(t *rapid.T) *Pages {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	r := rapid.SliceOfN(rapid.Float64Range(1e-6, 5), n, n).Draw(t, "rates")
	var costs []float64
	if rapid.Bool().Draw(t, "own costs") {
		costs = rapid.SliceOfN(rapid.Float64Range(0, 5), n, n).Draw(t, "costs")
	}
	access := rapid.SampledFrom([]AccessTime{Constant(0.3), Erlang{2, 1}, Erlang{1, 3}, Samples{0.1, 0.5, 3}}).Draw(t, "access")
	return pages(t, r, costs, access)
}

// No sequence beats the bound; the costs by gaps and by the cycle agree; every order has the counts.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t)
		f, bound := p.Bound()
		least := rapid.Float64Range(float64(p.Len()), 400).Draw(t, "least")
		length, err := Fibonacci(least)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := Counts(f, length)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := Golden(counts)
		if err != nil {
			t.Fatal(err)
		}
		byGaps, err := p.GoldenCost(counts)
		if err != nil {
			t.Fatal(err)
		}
		if cost := p.Cost(golden); !near(cost, byGaps, 1e-9) {
			t.Fatalf("golden costs %v, by its gaps %v", cost, byGaps)
		}
		shares := make([]float64, len(counts))
		for i, n := range counts {
			shares[i] = float64(n) / float64(length)
		}
		for name, cycle := range map[string][]int32{"golden": golden, "balanced": Balanced(counts), "apart": Apart(counts)} {
			got := make([]int, p.Len())
			for _, page := range cycle {
				got[page]++
			}
			if diff := cmp.Diff(counts, got); diff != "" {
				t.Fatalf("%s: visits (-want +got):\n%s", name, diff)
			}
			cost := p.Cost(cycle)
			if at := p.BoundAt(shares); cost < at*(1-1e-9) || at < bound*(1-1e-9) {
				t.Fatalf("%s costs %v, even spacing %v, the bound is %v", name, cost, at, bound)
			}
		}
		if _, randomized := p.Randomized(); randomized < bound*(1-1e-9) {
			t.Fatalf("randomized costs %v, the bound is %v", randomized, bound)
		}
	})
}

// TestBoundAtTheMargin holds that a page which is worth hardly any visits gets hardly any: to the last bit its
// equation is the same from some 2 to 4 % of all visits down to none.
func TestBoundAtTheMargin(t *testing.T) {
	for _, tt := range []struct{ rates, costs []float64 }{
		{[]float64{2.5, 1, 1}, []float64{2.75, 1, 5}},
		{[]float64{2.8724756026640534, 5}, []float64{3.2826393768191338, 3.618470591318328}},
	} {
		p, err := New(tt.rates, tt.costs, Erlang{1, 3})
		if err != nil {
			t.Fatal(err)
		}
		f, bound := p.Bound()
		for from := range f {
			for to := range f {
				for _, moved := range []float64{1e-4, 1e-3, 1e-2, 1e-1} {
					other := slices.Clone(f)
					moved = min(moved, other[from])
					other[from] -= moved
					other[to] += moved
					if cost := p.BoundAt(other); cost < bound*(1-1e-9) {
						t.Errorf("%v: %v costs %v, %v only %v", tt, f, bound, other, cost)
					}
				}
			}
		}
	}
}

// Neither the bound's frequencies nor the randomized ones can be improved by moving visits between two
// pages.
func TestFrequenciesAreBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t)
		from, to := rapid.IntRange(0, p.Len()-1).Draw(t, "from"), rapid.IntRange(0, p.Len()-1).Draw(t, "to")
		part := rapid.Float64Range(0.001, 0.9).Draw(t, "part")
		move := func(f []float64) []float64 {
			moved := append([]float64(nil), f...)
			moved[from] -= part * f[from]
			moved[to] += part * f[from]
			return moved
		}
		x, bound := p.Bound()
		f, randomized := p.Randomized()
		if c := p.BoundAt(move(x)); c < bound*(1-1e-9) {
			t.Fatalf("bound %v at %v, but %v at %v", bound, x, c, move(x))
		}
		if c := p.RandomizedAt(move(f)); c < randomized*(1-1e-9) {
			t.Fatalf("randomized %v at %v, but %v at %v", randomized, f, c, move(f))
		}
	})
}

// Equal frequencies, and powers of two, can be spaced evenly, and Balanced does.
func TestEvenSpacingMeetsTheBound(t *testing.T) {
	for _, counts := range [][]int{{1, 1, 1}, {3, 3, 3, 3, 3, 3, 3}, {1, 1, 2, 4, 8}, {4, 4, 8, 16, 32}} {
		length, r := 0, make([]float64, len(counts))
		for i, n := range counts {
			length += n
			r[i] = float64(n)
		}
		p := pages(t, r, nil, Constant(0.1))
		if _, bound := p.Bound(); !near(p.Cost(Balanced(counts)), bound, 1e-12) {
			t.Errorf("%v: cost %v, bound %v", counts, p.Cost(Balanced(counts)), bound)
		}
	}
}

// Tijdeman's promise: no page is ever a whole visit ahead or behind.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 12).Draw(t, "counts")
		cycle := Apart(counts)
		given := make([]int, len(counts))
		for at, page := range cycle {
			given[page]++
			for i := range counts {
				if off := given[i]*len(cycle) - (at+1)*counts[i]; off <= -len(cycle) || off >= len(cycle) {
					t.Fatalf("after %d visits page %d of %v is off by %d/%d visits: %v", at+1, i, counts, off, len(cycle), cycle)
				}
			}
		}
	})
}

// Proposition 7 by the Laplace order: less variable and shorter visits make no page staler.
// Proposition 8: neither does moving two distances of a page nearer to each other.
func TestPropositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SliceOfN(rapid.Float64Range(0.001, 3), 2, 6).Draw(t, "rates")
		counts := rapid.SliceOfN(rapid.IntRange(1, 8), len(r), len(r)).Draw(t, "counts")
		cycle := Balanced(counts)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Shuffle(len(cycle), func(i, j int) { cycle[i], cycle[j] = cycle[j], cycle[i] })
		constant, exponential := pages(t, r, nil, Constant(1)), pages(t, r, nil, Erlang{1, 1})
		shorter := pages(t, r, nil, Constant(0.7))
		a, b, c := shorter.Cost(cycle), constant.Cost(cycle), exponential.Cost(cycle)
		if a > b*(1+1e-12) || b > c*(1+1e-12) {
			t.Fatalf("costs %v of short, %v of constant, %v of exponential visits", a, b, c)
		}
		x, y := rapid.IntRange(1, 50).Draw(t, "a"), rapid.IntRange(1, 50).Draw(t, "b")
		if x+2 <= y {
			apart := missed(float64(x)*constant.logs[0]) + missed(float64(y)*constant.logs[0])
			nearer := missed(float64(x+1)*constant.logs[0]) + missed(float64(y-1)*constant.logs[0])
			if nearer > apart*(1+1e-12) {
				t.Fatalf("distances %d and %d miss %v changes, one nearer %v", x, y, apart, nearer)
			}
		}
	})
}

// The exact cost against the model itself, drawn: pages that change, visits one after another.
func TestCostAgainstSimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := pages(t, []float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}, nil, Erlang{1, 1})
	cycle, err := Golden([]int{2, 3, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	const runs, rounds = 30, 2000
	var sum, squares float64
	for range runs {
		change := make([]float64, p.Len()) // when the copy of each page goes out of date
		for i := range change {
			change[i] = rng.ExpFloat64() / p.rates[i]
		}
		now, cost := 0.0, 0.0
		for range rounds {
			for _, page := range cycle {
				cost += p.costs[page] * max(0, now-change[page])
				change[page] = now + rng.ExpFloat64()/p.rates[page]
				now += rng.ExpFloat64()
			}
		}
		for i, at := range change {
			cost += p.costs[i] * max(0, now-at)
		}
		sum += cost / now
		squares += cost / now * cost / now
	}
	mean := sum / runs
	half := 2.756 * math.Sqrt((squares/runs-mean*mean)/(runs-1)) // Student t, 29 degrees of freedom, 99 %
	if want := p.Cost(cycle); math.Abs(mean-want) > half {
		t.Errorf("simulated cost %v ± %v, computed %v", mean, half, want)
	}
}

func TestDraw(t *testing.T) {
	f := []float64{0.5, 0, 0.2, 0.3}
	counts := make([]float64, len(f))
	n := 0
	for page := range Draw(f, rand.New(rand.NewPCG(3, 4))) {
		counts[page]++
		if n++; n == 100_000 {
			break
		}
	}
	for i := range f {
		if math.Abs(counts[i]/float64(n)-f[i]) > 0.007 { // four deviations
			t.Errorf("page %d drawn %v of %d times, want a share of %v", i, counts[i], n, f[i])
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name         string
		rates, costs []float64
		access       AccessTime
	}{
		{"no pages", nil, nil, Constant(1)},
		{"rate 0", []float64{0}, nil, Constant(1)},
		{"rate NaN", []float64{math.NaN()}, nil, Constant(1)},
		{"infinite rate", []float64{math.Inf(1)}, nil, Constant(1)},
		{"negative cost", []float64{1}, []float64{-1}, Constant(1)},
		{"costs too few", []float64{1, 2}, []float64{1}, Constant(1)},
		{"no time", []float64{1}, nil, Constant(0)},
		{"no stages", []float64{1}, nil, Erlang{1, 0}},
		{"no samples", []float64{1}, nil, Samples{}},
		{"negative sample", []float64{1}, nil, Samples{1, -1}},
	} {
		if _, err := New(test.rates, test.costs, test.access); err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
	if _, err := Golden([]int{2, 2}); err == nil {
		t.Error("a golden cycle of 4 visits: no error")
	}
	if _, err := Counts([]float64{0.5, 0.5}, 1); err == nil {
		t.Error("a cycle shorter than its pages: no error")
	}
	if _, err := Fibonacci(1e12); err == nil {
		t.Error("a cycle of 1e12 visits: no error")
	}
}
