package sequence

import (
	"fmt"
	"math"
)

// Golden returns a cycle with counts[i] ≥ 1 visits of page i, placed by the golden ratio. The points frac(j/φ), j = 1 …
// F_k, are assigned to the pages in blocks and visited from left to right. Point j is number j·F_{k−1} mod F_k from the
// left, counted from 0, so rounding does not matter. Golden returns an error unless the counts sum to a Fibonacci
// number. O(F_k). (Liu and Nain 2005, section 1.3.4, with j from 1.)
func Golden(counts []int) ([]int32, error) {
	length := sum(counts)
	before, err := precedes(length)
	if err != nil {
		return nil, err
	}
	cycle := make([]int32, length)
	place := 0
	for page, count := range counts {
		for range count {
			if place += before; place >= length {
				place -= length
			}
			cycle[place] = int32(page)
		}
	}
	return cycle, nil
}

// precedes returns F_{k−1} for F_k = length. It returns an error if length is no Fibonacci number.
func precedes(length int) (int, error) {
	a, b := 1, 1
	for b < length {
		a, b = b, a+b
	}
	if b != length {
		return 0, fmt.Errorf("sequence: golden-ratio cycle of %d visits: want a Fibonacci number", length)
	}
	return a, nil
}

// GoldenCost returns the cost of Golden(counts) without making the cycle. If F_n ≤ M_i ≤ F_{n+1}, the distances of page
// i are F_{k−n}, F_{k−n+1} and F_{k−n+2}. In a cycle they occur M_i − F_n, M_i − F_{n−1} and F_{n+1} − M_i times.
// GoldenCost returns an error where Golden does. O(n log F_k).
func (p *Pages) GoldenCost(counts []int) (float64, error) {
	length := sum(counts)
	if _, err := precedes(length); err != nil {
		return 0, err
	}
	fibonacci := []int{0, 1, 1} // F_0 … F_{k+1}
	for fibonacci[len(fibonacci)-2] < length {
		fibonacci = append(fibonacci, fibonacci[len(fibonacci)-1]+fibonacci[len(fibonacci)-2])
	}
	k := len(fibonacci) - 2
	var cost float64
	for i, count := range counts {
		n := 2
		for fibonacci[n+1] < count {
			n++
		}
		share := func(often int) float64 { return float64(often) / float64(length) }
		cost += p.costs[i] * p.stale(i,
			spacing{share(count - fibonacci[n]), float64(fibonacci[k-n])},
			spacing{share(count - fibonacci[n-1]), float64(fibonacci[k-n+1])},
			spacing{share(fibonacci[n+1] - count), float64(fibonacci[k-n+2])})
	}
	return cost, nil
}

// GoldenLimit returns the limit of GoldenCost as the cycle grows with these frequencies. With j = ⌈log_φ 1/f_i⌉, the
// distances of page i are F_j, F_{j+1} and F_{j+2}, after f_i − φ^{−j}, f_i − φ^{−j−1} and φ^{−j+1} − f_i of all
// visits. (The limit after (1.33), whose j lacks a sign.)
func (p *Pages) GoldenLimit(frequencies []float64) float64 {
	var cost float64
	for i, f := range frequencies {
		if f == 0 {
			cost += p.costs[i]
			continue
		}
		j := math.Ceil(-math.Log(f) / math.Log(phi))
		binet := func(n float64) float64 { return math.Round(math.Pow(phi, n) / math.Sqrt(5)) }
		cost += p.costs[i] * p.stale(i,
			spacing{max(0, f-math.Pow(phi, -j)), binet(j)},
			spacing{f - math.Pow(phi, -j-1), binet(j + 1)},
			spacing{math.Pow(phi, 1-j) - f, binet(j + 2)})
	}
	return cost
}
