package sequence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MaxCycle is the maximum number of visits in a cycle.
const MaxCycle = 1 << 28

// Fibonacci returns the smallest Fibonacci number ≥ max(least, 2). It returns an error above MaxCycle.
func Fibonacci(least float64) (int, error) {
	a, b := 1, 2
	for ; float64(b) < least; a, b = b, a+b {
		if a+b > MaxCycle {
			return 0, fmt.Errorf("sequence: cycle of %.4g visits: want %d at most", least, MaxCycle)
		}
	}
	return b, nil
}

// Counts divides the length visits of a cycle among pages by their frequencies. Each page gets its share, rounded up or
// down, and at least one visit. The largest remainders are rounded up first; of equal ones, the lower index. Counts
// returns an error if the cycle has fewer visits than pages, or more than MaxCycle. O(n log n).
func Counts(frequencies []float64, length int) ([]int, error) {
	if length < len(frequencies) || length > MaxCycle {
		return nil, fmt.Errorf("sequence: cycle of %d visits for %d pages: want one each and %d at most", length, len(frequencies), MaxCycle)
	}
	counts := make([]int, len(frequencies))
	order := make([]int, len(frequencies))
	left := length
	for i, f := range frequencies {
		counts[i], order[i] = max(1, int(f*float64(length))), i
		left -= counts[i]
	}
	short := func(i int) float64 { return frequencies[i]*float64(length) - float64(counts[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(short(b), short(a)) })
	for at := 0; left > 0; at = (at + 1) % len(order) {
		counts[order[at]]++
		left--
	}
	for at := len(order) - 1; left < 0; at = (at - 1 + len(order)) % len(order) { // pages that were lifted to 1
		if i := order[at]; counts[i] > 1 {
			counts[i]--
			left++
		}
	}
	return counts, nil
}

// sum returns the sum of counts. It panics if a count is below 1.
func sum(counts []int) int {
	total := 0
	for i, n := range counts {
		if n < 1 {
			panic(fmt.Sprintf("sequence: page %d has %d visits in the cycle", i, n))
		}
		total += n
	}
	return total
}

// phi is the golden ratio.
var phi = (1 + math.Sqrt(5)) / 2
