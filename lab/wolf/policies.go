package wolf

import (
	"math"

	"freshet/allocate"
)

// The policies of the figures, in the order of the reference values.
const (
	weightedOptimal      = "weighted optimal"
	optimal              = "optimal"
	proportional         = "proportional"
	weightedProportional = "weighted proportional"
	uniform              = "uniform"
	weightedUniform      = "weighted uniform"
)

var sixPolicies = []string{weightedOptimal, optimal, proportional, weightedProportional, uniform, weightedUniform}

// stalenessOf returns the mean staleness, by p's weights, of a policy with ratio crawls per page.
func (p problem) stalenessOf(policy string, ratio float64) (float64, error) {
	if policy == uniform {
		return p.evenly(ratio), nil
	}
	crawls, err := p.allocate(policy, int(math.Round(ratio*float64(p.Len()))))
	if err != nil {
		return 0, err
	}
	return p.mean(func(i int) float64 { return p.pages.staleness(i, int(crawls[i])) }), nil
}

// allocate returns the crawls of each page by a policy other than uniform.
func (p problem) allocate(policy string, budget int) ([]int32, error) {
	share := func(of func(i int) float64) ([]int32, error) {
		shares := make([]float64, p.Len())
		for i := range shares {
			shares[i] = of(i)
		}
		return allocate.Shares(p, shares, budget)
	}
	switch policy {
	case weightedOptimal:
		return allocate.Multiplier(p, budget)
	case optimal:
		return allocate.Multiplier(problem{p.pages, nil}, budget)
	case proportional:
		return share(func(i int) float64 { return p.rates[i] })
	case weightedProportional:
		return share(func(i int) float64 { return p.weight(i) * p.rates[i] })
	case weightedUniform:
		return share(p.weight)
	}
	panic("wolf: no policy " + policy)
}

// evenly returns the mean staleness if every page gets ratio crawls. If ratio is no whole number, some pages get the
// next lower and some the next higher number, and evenly averages over all such choices.
func (p problem) evenly(ratio float64) float64 {
	whole, part := math.Modf(ratio)
	return p.mean(func(i int) float64 {
		below := p.pages.staleness(i, int(whole))
		if part == 0 {
			return below
		}
		return (1-part)*below + part*p.pages.staleness(i, int(whole)+1)
	})
}
