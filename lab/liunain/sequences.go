package liunain

import (
	"context"
	"fmt"
	"math"
	"slices"

	"freshet/lab"
	"freshet/schedule/sequence"
)

// ratios holds the costs of sequences for some pages, as multiples of the lower bound.
type ratios struct {
	cycle                                      int
	golden, limit, balanced, apart, randomized float64
}

// maxBuilt is the length of the longest cycle that measure builds. The cost of the golden ratio needs no cycle.
const maxBuilt = 2_500_000

// measure computes the costs of the sequences for pages that change at these rates, with E[X] = 1. Cycles are so long
// that the least visited page has at least twenty visits.
func measure(rates []float64) (r ratios, bound float64, err error) {
	pages, err := sequence.New(rates, nil, sequence.Constant(1))
	if err != nil {
		return r, 0, err
	}
	frequencies, bound := pages.Bound()
	if r.cycle, err = sequence.Fibonacci(20 / slices.Min(frequencies)); err != nil {
		return r, 0, err
	}
	counts, err := sequence.Counts(frequencies, r.cycle)
	if err != nil {
		return r, 0, err
	}
	golden, err := pages.GoldenCost(counts)
	if err != nil {
		return r, 0, err
	}
	_, randomized := pages.Randomized()
	r.golden, r.limit, r.randomized = golden/bound, pages.GoldenLimit(frequencies)/bound, randomized/bound
	r.balanced, r.apart = math.NaN(), math.NaN()
	if r.cycle <= maxBuilt {
		r.balanced, r.apart = pages.Cost(sequence.Balanced(counts))/bound, pages.Cost(sequence.Apart(counts))/bound
	}
	return r, bound, nil
}

// spread returns n rates that sum to mu, by weight.
func spread(n int, mu float64, weight func(i float64) float64) []float64 {
	rates := make([]float64, n)
	var sum float64
	for i := range rates {
		rates[i] = weight(float64(i + 1))
		sum += rates[i]
	}
	for i := range rates {
		rates[i] *= mu / sum
	}
	return rates
}

func equal(float64) float64      { return 1 }
func harmonic(i float64) float64 { return 1 / i }

// sequences computes the costs of access sequences for 10 to p.pages pages.
func (p *parameters) sequences(ctx context.Context, out *lab.Result) error {
	worst := 0.0
	plot := lab.Plot{Title: "Access sequences: cost over the lower bound, harmonic rates, 0.1 changes an access",
		X: lab.Axis{Label: "pages", Log: true}, Y: lab.Axis{Label: "cost / bound"}}
	names := []string{"golden ratio", "balanced words", "apart"}
	for _, name := range names {
		plot.Series = append(plot.Series, lab.Series{Name: name})
	}
	for _, law := range []struct {
		name   string
		weight func(float64) float64
	}{{"equal", equal}, {"harmonic", harmonic}} {
		for _, mu := range []float64{0.1, 1} {
			for n := 10; n <= p.pages; n *= 10 {
				if err := ctx.Err(); err != nil {
					return err
				}
				r, bound, err := measure(spread(n, mu, law.weight))
				if err != nil {
					return err
				}
				worst = max(worst, r.golden)
				out.Row("table", "sequences", "rates", law.name, "changes_per_access", mu, "pages", n, "bound", bound, "cycle", r.cycle,
					"golden_ratio", r.golden, "golden_limit_ratio", r.limit, "balanced_ratio", r.balanced, "apart_ratio", r.apart, "randomized_ratio", r.randomized)
				if law.name == "harmonic" && mu == 0.1 {
					for i, y := range []float64{r.golden, r.balanced, r.apart} {
						s := &plot.Series[i]
						s.X, s.Y = append(s.X, float64(n)), append(s.Y, y)
					}
				}
				out.Progress("sequences, pages", n, p.pages)
			}
		}
	}
	out.Plot(plot)
	return claims(out, worst)
}

// claims checks the paper's claims about the golden ratio. With 58 equal pages the gaps are furthest from even.
func claims(out *lab.Result, worst float64) error {
	limit := math.Pow(math.Phi, 5) / 10
	counter, _, err := measure(spread(58, 0.02, equal))
	if err != nil {
		return err
	}
	printed := 2 * math.Pow(math.Phi, 2) / 5
	out.Claim("the golden ratio comes within 5 % of the lower bound, for many pages (Proposition 12, (1.34))", max(counter.limit, worst) < printed,
		"58 equal pages, 0.02 changes an access: %.4f in the limit; up to %.4f in the table above; 2φ²/5 = %.4f is its best case", counter.limit, worst, printed)
	out.Claim("φ⁵/10 is what the golden ratio may cost in the limit (ours)", counter.limit < limit, "%.4f of at most %.4f", counter.limit, limit)
	cost, err := example()
	if err != nil {
		return err
	}
	out.Compare(lab.Comparison{What: "golden ratio, the example with 13 accesses: cost", Source: "Lemma 3 by an independent program", Reference: new(0.3762280534), Measured: cost, Tolerance: 1e-9})
	return nil
}

// example returns the cost of the paper's example: four pages with 2, 3, 3 and 5 accesses. It returns an error if the
// sequence differs from the printed one.
func example() (float64, error) {
	cycle, err := sequence.Golden([]int{2, 3, 3, 5})
	if err != nil {
		return 0, err
	}
	if printed := []int32{3, 1, 3, 0, 2, 3, 1, 3, 0, 2, 3, 1, 2}; !slices.Equal(cycle, printed) {
		return 0, fmt.Errorf("golden-ratio sequence %v: printed is %v", cycle, printed)
	}
	pages, err := sequence.New([]float64{2. / 13, 3. / 13, 3. / 13, 5. / 13}, nil, sequence.Constant(1))
	if err != nil {
		return 0, err
	}
	return pages.Cost(cycle), nil
}
