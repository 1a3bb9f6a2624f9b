package sequence

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// Randomized returns the frequencies that cost least if every visit goes to a page drawn again, and that
// cost: Proposition 11, and for costs of their own
//
//	f_i = g_i(s_i/σ − 1),   g_i = 1/h_i − 1,   s_i = √(c_i/μ_i),   σ = Σ s_i·g_i/(1 + Σ g_i)
//
// over the pages with s_i > σ, the others getting 0. O(n log n).
func (p *Pages) Randomized() (frequencies []float64, cost float64) {
	worth := make([]float64, p.Len())
	order := make([]int, p.Len())
	for i, c := range p.costs {
		worth[i], order[i] = math.Sqrt(c/p.rates[i]), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	var weighted, total, sigma float64
	for _, i := range order {
		if worth[i] <= sigma {
			break
		}
		g := math.Expm1(p.logs[i])
		weighted, total = weighted+worth[i]*g, total+g
		sigma = weighted / (1 + total)
	}
	frequencies = make([]float64, p.Len())
	for i := range frequencies {
		if worth[i] > sigma {
			frequencies[i] = math.Expm1(p.logs[i]) * (worth[i]/sigma - 1)
		}
	}
	if sigma == 0 { // all costs are 0
		copy(frequencies, p.logs)
	}
	normalize(frequencies)
	return frequencies, p.RandomizedAt(frequencies)
}

// RandomizedAt returns the cost if each visit goes to a page drawn with these probabilities (Lemma 4).
func (p *Pages) RandomizedAt(frequencies []float64) float64 {
	var cost float64
	for i, f := range frequencies {
		g := math.Expm1(p.logs[i])
		kept := 0.0 // share of the time up to date
		if f > 0 {
			kept = f / (f + g) * (g / (p.rates[i] * p.access))
		}
		cost += p.costs[i] * (1 - kept)
	}
	return cost
}

// Draw yields pages forever, each drawn with its probability from rng. O(log n) a page.
func Draw(frequencies []float64, rng *rand.Rand) iter.Seq[int32] {
	sums := slices.Clone(frequencies)
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	return func(yield func(int32) bool) {
		for {
			at, _ := slices.BinarySearch(sums, rng.Float64()*sums[len(sums)-1])
			if !yield(int32(min(at, len(sums)-1))) {
				return
			}
		}
	}
}
