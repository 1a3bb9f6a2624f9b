package sequence

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// Randomized returns the frequencies with the lowest cost if the page of each visit is drawn independently, and that
// cost. They follow Proposition 11. For costs of their own they are
//
//	f_i = g_i(s_i/σ − 1),   g_i = 1/h_i − 1,   s_i = √(c_i/μ_i),   σ = Σ s_i·g_i/(1 + Σ g_i)
//
// over the pages with s_i > σ; other pages get 0. O(n log n).
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

// RandomizedAt returns the cost if each visit's page is drawn with these probabilities (Lemma 4).
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

// Draw returns an endless sequence of pages, each drawn from rng with its probability. O(log n) per page.
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
