package allocate_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/allocate"
	"freshet/change"
)

// pages is a Problem of weighted curves.
type pages struct {
	curves      []change.Curve
	weights     []float64
	least, most []int
}

func (p *pages) Len() int                { return len(p.curves) }
func (p *pages) Bounds(i int) (int, int) { return p.least[i], p.most[i] }
func (p *pages) Gain(i, x int) float64   { return p.weights[i] * p.curves[i].Gain(x) }
func (p *pages) Crawls(i int, gain float64) float64 {
	if p.weights[i] == 0 {
		return 0
	}
	return p.curves[i].Crawls(gain / p.weights[i])
}

func (p *pages) add(c change.Curve, weight float64, least, most int) {
	p.curves, p.weights = append(p.curves, c), append(p.weights, weight)
	p.least, p.most = append(p.least, least), append(p.most, most)
}

// indices returns the numbers of the pages.
func (p *pages) indices() []int {
	all := make([]int, len(p.curves))
	for i := range all {
		all[i] = i
	}
	return all
}

func (p *pages) objective(crawls []int32) float64 {
	sum := 0.0
	for i, x := range crawls {
		sum += p.weights[i] * p.curves[i].Staleness(int(x))
	}
	return sum
}

// solvers are all algorithms, the reference first.
var solvers = []struct {
	name  string
	solve allocate.Solver
}{
	{"greedy", allocate.Greedy},
	{"multiplier", allocate.Multiplier},
	{"galil-megiddo", allocate.GalilMegiddo},
	{"frederickson-johnson", allocate.FredericksonJohnson},
}

// table is a page given by its gains.
type table []float64

func (c table) Staleness(x int) float64 {
	sum := 0.0
	for ; x < len(c); x++ {
		sum += c[x]
	}
	return sum
}

func (c table) Gain(x int) float64 {
	if x >= len(c) {
		return 0
	}
	return c[x]
}

// Crawls is a bad guess on purpose.
func (c table) Crawls(gain float64) float64 {
	if gain < 0.2 {
		return math.Inf(1)
	}
	return 3
}

func (c table) Times(dst []float64, _ int) []float64 { return dst }

// drawPages draws a problem with bounds, many ties, pages of weight 0 and all kinds of curves.
func drawPages(t *rapid.T, most int) *pages {
	p := &pages{}
	for range rapid.IntRange(1, most).Draw(t, "pages") {
		rate := math.Exp(rapid.Float64Range(-4, 5).Draw(t, "log rate"))
		age := rapid.SampledFrom([]float64{0, 0.1, 2, math.Inf(1)}).Draw(t, "age")
		var c change.Curve
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			c = change.Page{Process: change.Poisson(rate), Interval: 1, Age: age}
		case 1:
			pareto, _ := change.NewPareto(rate, 1.5)
			c = change.Page{Process: pareto, Interval: 1, Age: age}
		case 2:
			c = change.Page{Process: change.Deterministic(math.Round(rate) + 1), Interval: 1}
		case 3:
			k := rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "probability")
			c, _ = change.NewQuasi([]float64{0.25, 0.5, 0.75}, []float64{k, k, k}, 1, 0)
		case 4:
			gains := table(rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}), 0, 5).Draw(t, "gains"))
			for i := range gains {
				if i > 0 {
					gains[i] = min(gains[i], gains[i-1])
				}
			}
			c = gains
		case 5:
			const month = 30 * 86400
			belief := change.Shape(rapid.IntRange(0, change.Rates-1).Draw(t, "likely rate"), rapid.Float64Range(0, 3).Draw(t, "narrow"))
			c = change.Page{Process: change.NewMixture(&belief), Interval: month, Age: age * month}
		}
		weight := rapid.SampledFrom([]float64{0, 0.3, 1, 1, 2}).Draw(t, "weight")
		low := rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "least")
		high := low + rapid.SampledFrom([]int{0, 1, 2, 5, 40}).Draw(t, "range")
		p.add(c, weight, low, high)
	}
	return p
}

// drawBudget draws a feasible budget.
func drawBudget(t *rapid.T, p *pages) int {
	low, high := 0, 0
	for i := range p.least {
		low, high = low+p.least[i], high+p.most[i]
	}
	return rapid.IntRange(low, high).Draw(t, "budget")
}

// TestAllEqual holds that every algorithm finds the same allocation, ties included, and that it carries
// its certificate.
func TestAllEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t, 40)
		budget := drawBudget(t, p)
		var want []int32
		for _, s := range solvers {
			got, err := s.solve(p, budget)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-greedy +got):\n%s", s.name, diff)
			}
		}
		sum := 0
		for i, x := range want {
			if sum += int(x); int(x) < p.least[i] || int(x) > p.most[i] {
				t.Fatalf("page %d: %d crawls, bounds %d and %d", i, x, p.least[i], p.most[i])
			}
		}
		if c := allocate.Certify(p, want); sum != budget || !c.Optimal() {
			t.Fatalf("sum %d of %d, certificate %+v", sum, budget, c)
		}
	})
}

// TestManyPages is TestAllEqual with more pages than the sample holds, so the multiplier must search.
func TestManyPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2002))
	same := &pages{}
	mixed := &pages{}
	straight := &pages{}
	for i := range 12_000 {
		same.add(change.Page{Process: change.Poisson(2), Interval: 1}, 1, 0, math.MaxInt32)
		straight.add(change.Page{Process: change.Deterministic(20), Interval: 1}, 1, 0, 100)
		rate := 9_000 / float64(i+1)
		pareto, _ := change.NewPareto(rate, 1.5)
		mixed.add([]change.Curve{
			change.Page{Process: change.Poisson(rate), Interval: 1, Age: rng.ExpFloat64()},
			change.Page{Process: pareto, Interval: 1},
			change.Page{Process: change.Deterministic(rate), Interval: 1},
		}[i%3], rng.Float64(), rng.IntN(50)/49, 1+rng.IntN(1000))
	}
	for _, test := range []struct {
		name string
		p    *pages
	}{{"same", same}, {"straight", straight}, {"mixed", mixed}} {
		for _, budget := range []int{700, 12_000, 60_001, 400_000} {
			var want []int32
			for _, s := range solvers {
				got, err := s.solve(test.p, budget)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, budget %d: %s differs from greedy", test.name, budget, s.name)
				}
			}
		}
	}
}

// best returns the least objective of all allocations, by enumeration; +Inf if there is none.
func best(p *pages, i, budget int, allowed func(i, x int) bool) float64 {
	if i == len(p.curves) {
		if budget == 0 {
			return 0
		}
		return math.Inf(1)
	}
	lowest := math.Inf(1)
	for x := p.least[i]; x <= min(p.most[i], budget); x++ {
		if allowed == nil || allowed(i, x) {
			lowest = math.Min(lowest, p.weights[i]*p.curves[i].Staleness(x)+best(p, i+1, budget-x, allowed))
		}
	}
	return lowest
}

func TestAgainstEveryAllocation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t, 6)
		for i := range p.most {
			p.most[i] = min(p.most[i], p.least[i]+4)
		}
		budget := drawBudget(t, p)
		got, err := allocate.Multiplier(p, budget)
		if err != nil {
			t.Fatal(err)
		}
		if want := best(p, 0, budget, nil); math.Abs(p.objective(got)-want) > 1e-12 {
			t.Fatalf("objective %v, want %v", p.objective(got), want)
		}
	})
}

// TestCapped compares with enumeration under the sites' limits.
func TestCapped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t, 6)
		for i := range p.most {
			p.most[i] = min(p.most[i], p.least[i]+4)
		}
		budget := drawBudget(t, p)
		site := make([]int, len(p.curves))
		for i := range site {
			site[i] = rapid.IntRange(-1, 1).Draw(t, "site")
		}
		limits := []int{rapid.IntRange(0, 8).Draw(t, "limit"), rapid.IntRange(0, 8).Draw(t, "limit")}
		want := bestCapped(p, site, limits, budget)
		for _, s := range solvers {
			got, costs, err := allocate.Capped(p, site, limits, budget, s.solve)
			if err != nil {
				if infeasible := (*allocate.InfeasibleError)(nil); !errors.As(err, &infeasible) || !math.IsInf(want, 1) {
					t.Fatalf("%s: %v, but %v can be reached", s.name, err, want)
				}
				continue
			}
			if math.Abs(p.objective(got)-want) > 1e-12 {
				t.Fatalf("%s: objective %v, want %v", s.name, p.objective(got), want)
			}
			for _, c := range costs {
				raised := append([]int(nil), limits...)
				raised[c.Site]++
				if more := bestCapped(p, site, raised, budget); math.Abs(want-more-c.Price) > 1e-12 {
					t.Fatalf("cost %+v, but one more gains %v", c, want-more)
				}
				if c.Wanted <= c.Limit || c.Spent != c.Limit {
					t.Fatalf("cost %+v of a limit that does not bind", c)
				}
			}
		}
	})
}

func bestCapped(p *pages, site, limits []int, budget int) float64 {
	lowest := math.Inf(1)
	// The walk covers all splits of the budget. It tracks what each site has spent along one path.
	var walk func(i, left int, spent [2]int, sum float64)
	walk = func(i, left int, spent [2]int, sum float64) {
		if i == len(p.curves) {
			if left == 0 {
				lowest = math.Min(lowest, sum)
			}
			return
		}
		for x := p.least[i]; x <= min(p.most[i], left); x++ {
			now := spent
			if s := site[i]; s >= 0 {
				if now[s] += x; now[s] > limits[s] {
					break
				}
			}
			walk(i+1, left-x, now, sum+p.weights[i]*p.curves[i].Staleness(x))
		}
	}
	walk(0, budget, [2]int{}, 0)
	return lowest
}

// TestLaws holds that more budget never hurts. Another unit of time, another order of the pages or a page of weight 0
// at the end does not change the result.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const unit = 65536
		p, scaled, mixed := &pages{}, &pages{}, &pages{}
		for range rapid.IntRange(1, 12).Draw(t, "pages") {
			rate := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log rate"))
			weight := rapid.Float64Range(0.1, 2).Draw(t, "weight")
			law := rapid.SampledFrom([]func(rate float64) change.Process{
				func(rate float64) change.Process { return change.Poisson(rate) },
				func(rate float64) change.Process { return change.Deterministic(rate) },
				func(rate float64) change.Process { p, _ := change.NewPareto(rate, 1.5); return p },
				func(rate float64) change.Process { p, _ := change.NewGamma(rate, 2); return p },
			}).Draw(t, "law")
			p.add(change.Page{Process: law(rate), Interval: 1, Age: 0.25}, weight, 0, 100)
			scaled.add(change.Page{Process: law(rate / unit), Interval: unit, Age: 0.25 * unit}, weight, 0, 100)
		}
		for _, i := range rapid.Permutation(p.indices()).Draw(t, "order") {
			mixed.add(p.curves[i], p.weights[i], 0, 100)
		}
		budget := rapid.IntRange(0, 99).Draw(t, "budget")
		solve := func(p *pages, budget int) []int32 {
			crawls, err := allocate.Multiplier(p, budget)
			if err != nil {
				t.Fatal(err)
			}
			return crawls
		}
		crawls := solve(p, budget)
		if p.objective(solve(p, budget+1)) > p.objective(crawls)+1e-15 {
			t.Fatal("more budget hurts")
		}
		if got := scaled.objective(solve(scaled, budget)); math.Abs(got-p.objective(crawls)) > 1e-11 {
			t.Fatalf("objective %v, in another unit of time %v", p.objective(crawls), got)
		}
		if got := mixed.objective(solve(mixed, budget)); math.Abs(got-p.objective(crawls)) > 1e-11 {
			t.Fatalf("objective %v, in another order %v", p.objective(crawls), got)
		}
		p.add(change.Page{Process: change.Poisson(1), Interval: 1}, 0, 0, 100)
		if diff := cmp.Diff(append(crawls, 0), solve(p, budget)); diff != "" {
			t.Fatalf("a page of weight 0: %s", diff)
		}
	})
}

// reference returns the 10 pages of testdata/reference.txt.
func reference(t *testing.T) *pages {
	p := &pages{}
	poisson := []float64{.1, .3, .7, 1.5, 4, 12}
	weights := []float64{1, 1, .5, 1, 2, 1, 1, .8, .25, 1.2}
	for i, rate := range poisson {
		p.add(change.Page{Process: change.Poisson(rate), Interval: 1}, weights[i], 0, 1000)
	}
	for i, rate := range []float64{.5, 2, 8} {
		pareto, err := change.NewPareto(rate, 1.5)
		if err != nil {
			t.Fatal(err)
		}
		p.add(change.Page{Process: pareto, Interval: 1}, weights[6+i], 0, 1000)
	}
	quasi, err := change.NewQuasi([]float64{.1, .25, .3, .5, .62, .7, .85}, []float64{.5, .9, .2, .7, .35, .6, .8}, 1, .4)
	if err != nil {
		t.Fatal(err)
	}
	p.add(quasi, weights[9], 0, 1000)
	return p
}

func TestReference(t *testing.T) {
	f, err := os.Open("testdata/reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := reference(t)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		budget, _ := strconv.Atoi(fields[0])
		objective, _ := strconv.ParseFloat(fields[2], 64)
		for _, s := range solvers {
			crawls, err := s.solve(p, budget)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(crawls), " ", ","), "[]"); fields[1] != "-" && got != fields[1] {
				t.Errorf("%s, budget %d: %v, want %v", s.name, budget, got, fields[1])
			}
			if got := p.objective(crawls); math.Abs(got-objective) > 5.1e-11 {
				t.Errorf("%s, budget %d: objective %.11f, want %v", s.name, budget, got, objective)
			}
		}
	}
}

func TestInfeasible(t *testing.T) {
	p := &pages{}
	p.add(change.Page{Process: change.Poisson(1), Interval: 1}, 1, 2, 4)
	p.add(change.Page{Process: change.Poisson(1), Interval: 1}, 1, 1, 3)
	for _, s := range solvers {
		if _, err := s.solve(p, 2); err == nil || !strings.Contains(err.Error(), "minimums add up to 3 crawls, but the budget is 2") {
			t.Errorf("%s: %v", s.name, err)
		}
		if _, err := s.solve(p, 8); err == nil || !strings.Contains(err.Error(), "budget is 8 crawls, but maximums and caps allow only 7") {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if _, _, err := allocate.Capped(p, []int{0, 0}, []int{2}, 5, allocate.Multiplier); err == nil || !strings.Contains(err.Error(), "site 0 allows 2 crawls, but its pages' minimums add up to 3") {
		t.Error(err)
	}
	if got, err := allocate.Multiplier(&pages{}, 0); err != nil || len(got) != 0 {
		t.Errorf("no pages: %v, %v", got, err)
	}
}

func TestShares(t *testing.T) {
	tests := []struct {
		name        string
		share       []float64
		least, most []int
		budget      int
		want        []int32
	}{
		{"even", []float64{1, 1, 1, 1}, nil, nil, 8, []int32{2, 2, 2, 2}},
		{"even, with a rest", []float64{1, 1, 1, 1}, nil, nil, 6, []int32{2, 2, 1, 1}},
		{"in proportion", []float64{1, 2, 3}, nil, nil, 12, []int32{2, 4, 6}},
		{"largest remainder", []float64{.5, .3, .2}, nil, nil, 9, []int32{4, 3, 2}},
		{"minimum", []float64{1, 100}, []int{3, 0}, nil, 10, []int32{3, 7}},
		{"maximum", []float64{1, 1, 8}, nil, []int{100, 100, 2}, 10, []int32{4, 4, 2}},
		{"no shares at all", []float64{0, 0}, nil, nil, 4, []int32{2, 2}},
		{"shares that cannot spend it", []float64{1, 0, 0}, nil, []int{3, 9, 9}, 9, []int32{3, 3, 3}},
		{"nothing to spend", []float64{1, 2}, nil, nil, 0, []int32{0, 0}},
		{"tiny shares", []float64{1e-300, 2e-300}, nil, nil, 3, []int32{1, 2}},
	}
	for _, test := range tests {
		p := &pages{}
		for i := range test.share {
			least, most := 0, 1000
			if test.least != nil {
				least = test.least[i]
			}
			if test.most != nil {
				most = test.most[i]
			}
			p.add(nil, 1, least, most)
		}
		got, err := allocate.Shares(p, test.share, test.budget)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestSharesSpendTheBudget within the bounds, whatever they are.
func TestSharesSpendTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPages(t, 20)
		budget := drawBudget(t, p)
		share := make([]float64, p.Len())
		for i := range share {
			share[i] = rapid.SampledFrom([]float64{0, 1e-9, 1, 2, 1e9}).Draw(t, "share")
		}
		crawls, err := allocate.Shares(p, share, budget)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range crawls {
			if budget -= int(x); int(x) < p.least[i] || int(x) > p.most[i] {
				t.Fatalf("page %d: %d crawls, bounds %d and %d", i, x, p.least[i], p.most[i])
			}
		}
		if budget != 0 {
			t.Fatalf("%d crawls are left", budget)
		}
	})
}

func ExampleMultiplier() {
	p := &pages{}
	for _, rate := range []float64{0.1, 1, 10, 100} {
		p.add(change.Page{Process: change.Poisson(rate), Interval: 1}, 1, 0, 100)
	}
	crawls, _ := allocate.Multiplier(p, 8)
	fmt.Println(crawls, allocate.Certify(p, crawls).Optimal())
	// Output: [0 2 6 0] true
}
