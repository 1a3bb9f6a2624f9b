package allocate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Shares returns the allocation in proportion to share[i] ≥ 0, one for each page, within the bounds:
// x_i is τ·share[i] clamped to them, for the τ that spends the budget, rounded by the largest remainder
// (of equals the lower page). Even shares are the uniform policy, rates the proportional one, weights
// times either their weighted forms. If bounds keep the pages with a share from spending all, the rest
// goes evenly to those without. O(n log n). The error is an *InfeasibleError. It panics on a share that
// is negative, infinite or NaN.
func Shares(p Problem, share []float64, budget int) ([]int32, error) {
	if len(share) != p.Len() {
		panic(fmt.Sprintf("allocate: %d shares for %d pages", len(share), p.Len()))
	}
	if _, err := feasible(p, budget); err != nil {
		return nil, err
	}
	largest, reach := 0.0, int64(0) // the most that pages with a share, and the others' minimums, can spend
	for i, s := range share {
		if !(s >= 0) || math.IsInf(s, 1) {
			panic(fmt.Sprintf("allocate: share %v of page %d: want a finite number of at least 0", s, i))
		}
		largest = math.Max(largest, s)
		least, most := p.Bounds(i)
		if s > 0 {
			least = most
		}
		reach += int64(least)
	}
	exact := make([]float64, len(share))
	fill := func(tau float64, part func(i int) (least, slope, most float64)) float64 {
		sum := 0.0
		for i := range exact {
			least, slope, most := part(i)
			exact[i] = math.Max(least, math.Min(tau*slope, most))
			sum += exact[i]
		}
		return sum
	}
	part := func(i int) (float64, float64, float64) {
		least, most := p.Bounds(i)
		return float64(least), share[i] / largest, float64(most)
	}
	if reach < int64(budget) || largest == 0 {
		part = func(i int) (float64, float64, float64) {
			least, most := p.Bounds(i)
			if share[i] > 0 {
				return float64(most), 0, float64(most)
			}
			return float64(least), 1, float64(most)
		}
	}
	low, high := 0.0, 1.0
	for fill(high, part) < float64(budget) && high < 1e300 {
		low, high = high, high*4
	}
	for range 200 {
		tau := low + (high-low)/2
		if tau <= low || tau >= high {
			break
		}
		if fill(tau, part) < float64(budget) {
			low = tau
		} else {
			high = tau
		}
	}
	fill(high, part)
	return round(p, exact, budget), nil
}

// round returns whole numbers near the exact ones, within the bounds, that spend the budget.
func round(p Problem, exact []float64, budget int) []int32 {
	crawls := make([]int32, len(exact))
	pages := make([]int32, len(exact))
	missing := int64(budget)
	for i, e := range exact {
		crawls[i] = int32(math.Floor(e + 1e-9)) // a number that is whole except for rounding is whole
		pages[i] = int32(i)
		missing -= int64(crawls[i])
	}
	// In steps, so that remainders that differ by rounding alone are equal.
	steps := func(i int32) float64 { return math.Round((exact[i] - float64(crawls[i])) * 1e8) }
	slices.SortStableFunc(pages, func(a, b int32) int { return cmp.Compare(steps(b), steps(a)) })
	for missing > 0 {
		for _, i := range pages {
			if _, most := p.Bounds(int(i)); missing > 0 && int(crawls[i]) < most {
				crawls[i]++
				missing--
			}
		}
	}
	slices.Reverse(pages)
	for missing < 0 {
		for _, i := range pages {
			if least, _ := p.Bounds(int(i)); missing < 0 && int(crawls[i]) > least {
				crawls[i]--
				missing++
			}
		}
	}
	return crawls
}
