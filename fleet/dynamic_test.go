package fleet

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMethodsAgree holds policy iteration to value iteration, by either stopping rule, on the rows of
// Tables 1.2 and 1.3.
func TestMethodsAgree(t *testing.T) {
	for _, file := range []string{"table-1.2.csv", "table-1.3.csv"} {
		for _, r := range rows(t, file) {
			if r["lambda"] == "0.01" && (r["K"] != "5" || r["N_max"] != "") {
				continue // the same, for a second each
			}
			m, n := r.model(t), 0
			if file == "table-1.2.csv" {
				n = int(number(t, r["N_s"]))
			}
			want, err := m.Dynamic(n)
			if err != nil {
				t.Fatal(err)
			}
			span, err := m.DynamicByValues(n, ValueIteration{Tolerance: 1e-10})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "cost", span.Cost, want.Cost, 1e-10)
			near(t, "cost of the policy", m.Gamma*span.Starvation+span.Loss, want.Cost, 1e-9)
			if span.Gap > 1e-10*span.Cost {
				t.Errorf("%v: gap %v", r, span.Gap)
			}
			if !slices.Equal(span.Departure, want.Departure) || !slices.Equal(span.Arrival, want.Arrival) || span.MaxActive != want.MaxActive {
				t.Errorf("%v: the policies differ:\n%+v\n%+v", r, span, want)
			}
			// The paper's rule does not bound the error; with this reference it has been small.
			paper, err := m.DynamicByValues(n, ValueIteration{Relative: true})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "cost by the paper's rule", paper.Cost, want.Cost, 1e-5)
			if paper.Iterations >= span.Iterations {
				t.Errorf("%v: %d steps by the paper's rule, %d by the span", r, paper.Iterations, span.Iterations)
			}
		}
	}
}

// TestLaws holds what needs no reference: costs add up, what comes in goes out, switching is no more expensive
// than not switching, more available is no more expensive, and beyond what is ever turned on the same; a
// larger γ costs more, never more than in proportion.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aModel(t)
		m.ArrivalRate = max(m.ArrivalRate, m.ServiceRate/20)
		m.Queue = min(m.Queue, 12)
		n := rapid.IntRange(1, 40).Draw(t, "n")
		d, err := m.Dynamic(n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "cost", d.Cost, m.Gamma*d.Starvation+d.Loss, 1e-10)
		if in, out := m.ArrivalRate*d.MeanActive, m.ServiceRate*(1-d.Starvation)+d.Loss; math.Abs(in-out) > 1e-11*(in+out) {
			t.Errorf("%v pages in, %v out", in, out)
		}
		if d.Gap > 1e-11*(m.Gamma+m.ServiceRate) {
			t.Errorf("cost %v, gap %v", d.Cost, d.Gap)
		}
		if !d.Monotone {
			t.Errorf("not a monotone switching curve: %+v", d)
		}
		if d.MinActive > d.MaxActive || float64(d.MinActive) > d.MeanActive*(1+1e-12) || d.MeanActive > float64(d.MaxActive)*(1+1e-12) || d.MaxActive > n {
			t.Errorf("active: %d, %v, %d of %d", d.MinActive, d.MeanActive, d.MaxActive, n)
		}
		fixed, err := m.Fixed(n, Exponential())
		if err != nil {
			t.Fatal(err)
		}
		if d.Cost > fixed.Cost*(1+1e-12) {
			t.Errorf("%d switched cost %v, fixed %v", n, d.Cost, fixed.Cost)
		}
		one, err := m.Dynamic(n + 1)
		if err != nil {
			t.Fatal(err)
		}
		if one.Cost > d.Cost*(1+1e-11) {
			t.Errorf("%d cost %v, %d cost %v", n, d.Cost, n+1, one.Cost)
		}
		all, err := m.Dynamic(0)
		if err != nil {
			t.Fatal(err)
		}
		if all.Cost > one.Cost*(1+1e-11) {
			t.Errorf("%d cost %v, any number %v", n+1, one.Cost, all.Cost)
		}
		if n > all.MostAtEmpty {
			near(t, "cost with enough", d.Cost, all.Cost, 1e-10)
		}
		dearer := m
		dearer.Gamma *= 1.25
		more, err := dearer.Dynamic(n)
		if err != nil {
			t.Fatal(err)
		}
		if more.Cost < d.Cost*(1-1e-11) || more.Cost > 1.25*d.Cost*(1+1e-11) {
			t.Errorf("cost %v, with 1.25γ %v", d.Cost, more.Cost)
		}
		if len(d.Departure) != n || len(d.Arrival) != n || d.Departure[0] < 1 {
			t.Errorf("curves %v, %v", d.Departure, d.Arrival)
		}
	})
}

// TestUnits holds that the unit of time is of no account.
func TestUnits(t *testing.T) {
	a, err := Model{0.1, 1, 5, 1.4}.Dynamic(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Model{0.1 * 3600, 3600, 5, 1.4 * 3600}.Dynamic(0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cost", b.Cost, 3600*a.Cost, 1e-12)
	near(t, "loss", b.Loss, 3600*a.Loss, 1e-12)
	near(t, "starvation", b.Starvation, a.Starvation, 1e-12)
	if !slices.Equal(a.Departure, b.Departure) {
		t.Errorf("%v, %v", a.Departure, b.Departure)
	}
}

// TestMoreThanOfUse holds that a limit far above what is of use changes nothing, and costs nothing.
func TestMoreThanOfUse(t *testing.T) {
	m := Model{0.1, 1, 5, 1.4}
	all, err := m.Dynamic(0)
	if err != nil {
		t.Fatal(err)
	}
	vast, err := m.Dynamic(maxAvailable)
	if err != nil {
		t.Fatal(err)
	}
	if vast.Cost != all.Cost || vast.MaxActive != all.MaxActive || vast.Fetchers != maxAvailable || all.Fetchers != all.MostAtEmpty+1 {
		t.Errorf("got %d fetchers, cost %v; any number: %d, %v", vast.Fetchers, vast.Cost, all.Fetchers, all.Cost)
	}
	if !slices.Equal(vast.Departure[:all.Fetchers], all.Departure) || vast.Departure[all.Fetchers] != 0 || vast.Arrival[maxAvailable-1] != -1 {
		t.Errorf("curves %v, %v", vast.Departure[:all.Fetchers+1], all.Departure)
	}
}

// TestSteer holds the way out of a policy with several closed classes: 1 or 3 active for ever.
func TestSteer(t *testing.T) {
	p := process{lambda: 0.4, gamma: 1, k: 3, n: 4}
	add := make(policy, p.states())
	for i := range add {
		_, r := p.state(i)
		add[i] = r == 0 || r == 2
	}
	classes := p.classes(add)
	if len(classes) != 2 {
		t.Fatalf("classes %v", classes)
	}
	for _, class := range classes {
		steered := p.steer(add, class[0])
		after := p.classes(steered)
		slices.Sort(class)
		slices.Sort(after[0])
		if len(after) != 1 || !slices.Equal(after[0], class) {
			t.Errorf("steered to %v, got %v", class, after)
		}
	}
	// The best of the two is that of 3 fetchers, held: load 1.2.
	s, err := p.settle(&chain{}, add, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cost", s.average, emptyProbability(1.2, 3)+1.2*fullProbability(1.2, 3), 1e-12)
}

// TestTooLarge holds that what is out of reach is refused at once, and that what is large is answered.
func TestTooLarge(t *testing.T) {
	for name, m := range map[string]Model{
		"queue of millions": {0.1, 1, 5_000_000, 1}, "fetchers of millions": {1e-7, 1, 5, 1},
		"both large": {0.001, 1, 1000, 1}, "largest queue": {1, 1, maxQueue, 1}, "slowest fetcher": {1e-9, 1, 2, 1e9},
	} {
		if _, err := m.Dynamic(0); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.Best(Exponential()); err != nil {
			t.Errorf("%s, fixed: %v", name, err)
		}
	}
	m := Model{0.1, 1, 5, 1}
	for _, n := range []int{-1, maxAvailable + 1, math.MinInt, math.MaxInt} {
		if _, err := m.Dynamic(n); err == nil {
			t.Errorf("%d fetchers: answered", n)
		}
	}
	for _, v := range []ValueIteration{{Relaxation: 1}, {Relaxation: -1}, {Relaxation: math.NaN()}, {Tolerance: -1}, {Tolerance: 1e-20}, {Tolerance: math.NaN()}} {
		if _, err := m.DynamicByValues(0, v); err == nil {
			t.Errorf("%+v: answered", v)
		}
	}
	m = Model{1, 1, 3000, 1} // few fetchers, a long queue: a band of their number
	if _, err := m.Dynamic(4); err != nil {
		t.Error(err)
	}
}

// FuzzFleet holds on any parameters that there is a sound answer or an error, soon.
func FuzzFleet(f *testing.F) {
	f.Add(0.1, 1.0, 5, 1.4, 16)
	f.Add(0.01, 1.0, 15, 2.4, 0)
	f.Add(1e9, 1.0, 2, 1e-9, 0)
	f.Add(1.0, 1e-9, 300, 1.0, 3)
	f.Add(math.NaN(), -1.0, 0, math.Inf(1), -1)
	f.Add(1e-9, 1.0, 1<<40, 1e9, 1)
	f.Fuzz(func(t *testing.T, lambda, mu float64, k int, gamma float64, n int) {
		m := Model{lambda, mu, k, gamma}
		best, err := m.Best(Exponential())
		if (err == nil) != (m.Validate() == nil) {
			t.Fatalf("valid: %v, answer: %v", m.Validate(), err)
		}
		if err != nil {
			return
		}
		if best.Fetchers < 1 || !(best.Cost >= 0) || math.IsInf(best.Cost, 1) || !(best.Starvation >= 0 && best.Starvation <= 1) {
			t.Fatalf("%+v: %+v", m, best)
		}
		if large, err := m.LargeQueue(); err != nil || large < 1 {
			t.Fatalf("%+v: %d, %v", m, large, err)
		}
		for _, service := range []Service{Deterministic(), erlang(3), hyperexponential(9)} {
			if k > 50 || lambda/mu < 1e-3 {
				break
			}
			other, err := m.Best(service)
			if err != nil || other.Fetchers < 1 || !(other.Cost >= 0) {
				t.Fatalf("%+v, %v: %+v, %v", m, service, other, err)
			}
		}
		if trial := 1.5*float64(best.Fetchers) + 25; n >= 0 && n <= maxAvailable && trial*float64(k)*min(trial, float64(k)) > 1e4 {
			return // an answer, but not soon enough for many
		}
		d, err := m.Dynamic(n)
		if err != nil {
			if n >= 0 && n <= maxAvailable {
				t.Fatalf("%+v, %d: %v", m, n, err)
			}
			return
		}
		if n == 0 {
			n = d.Fetchers
		}
		fixed, err := m.Fixed(n, Exponential())
		if err != nil {
			t.Fatal(err)
		}
		if !(d.Cost >= 0 && d.Cost <= fixed.Cost*(1+1e-9)+1e-300) {
			t.Errorf("%+v: switched %v, fixed %v", m, d.Cost, fixed.Cost)
		}
		if sum := gamma*d.Starvation + d.Loss; math.Abs(sum-d.Cost) > 1e-9*d.Cost+1e-300 {
			t.Errorf("%+v: cost %v, parts %v", m, d.Cost, sum)
		}
	})
}

// BenchmarkTables solves all 54 rows of Tables 1.2 and 1.3, as the paper has them.
func BenchmarkTables(b *testing.B) {
	type problem struct {
		model Model
		n     int
	}
	var problems []problem
	for _, file := range []string{"table-1.2.csv", "table-1.3.csv"} {
		for _, r := range rows(b, file) {
			if r["gamma"] == "17/15" {
				continue
			}
			p := problem{model: r.model(b)}
			if file == "table-1.2.csv" {
				p.n = int(number(b, r["N_s"]))
			}
			problems = append(problems, p)
		}
	}
	if len(problems) != 54 {
		b.Fatalf("%d rows", len(problems))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range problems {
			if _, err := p.model.Dynamic(p.n); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*54/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkDynamic solves the largest row, λ=0.01, K=15, γ=2.4 with any number of fetchers, by either
// method.
func BenchmarkDynamic(b *testing.B) {
	m := Model{0.01, 1, 15, 2.4}
	b.Run("method=policy", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Dynamic(0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("method=values", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.DynamicByValues(0, ValueIteration{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
