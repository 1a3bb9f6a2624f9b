package weights

import (
	"fmt"
	"math"
)

// A Part is one component of a mixture.
type Part struct {
	Weights []float64 // of each page: at least 0, or NaN if not known
	Share   float64   // at least 0; only the ratio to the sum of all shares matters
}

// Mix returns the mixture of several parts, in proportion to their shares. All parts have weights for the same pages.
// Each part is first scaled to mean 1 over the pages that it knows. Its unknown pages count as 1, and so do all its
// pages if all its weights are 0. An error names the part, counted from 0. O(pages × parts).
func Mix(parts ...Part) ([]float64, error) {
	total := 0.0
	for k, p := range parts {
		if !(p.Share >= 0) || math.IsInf(p.Share, 1) {
			return nil, fmt.Errorf("weights: share %v of part %d: want a finite number of at least 0", p.Share, k)
		}
		if len(p.Weights) != len(parts[0].Weights) {
			return nil, fmt.Errorf("weights: part %d has %d pages, but part 0 has %d", k, len(p.Weights), len(parts[0].Weights))
		}
		total += p.Share
	}
	if !(total > 0) {
		return nil, fmt.Errorf("weights: shares of %d parts add up to %v: want more than 0", len(parts), total)
	}
	mixed := make([]float64, len(parts[0].Weights))
	for k, p := range parts {
		mean, err := p.mean()
		if err != nil {
			return nil, fmt.Errorf("weights: part %d: %w", k, err)
		}
		for i, w := range p.Weights {
			if math.IsNaN(w) || mean == 0 {
				w = 1
			} else {
				w /= mean
			}
			mixed[i] += p.Share / total * w
		}
	}
	return mixed, nil
}

// mean returns the mean of the weights that are known, 0 if there is none.
func (p Part) mean() (float64, error) {
	mean, known := 0.0, 0.0
	for i, w := range p.Weights {
		if w < 0 || math.IsInf(w, 1) {
			return 0, fmt.Errorf("weight %v of page %d: want a finite number of at least 0", w, i)
		}
		if !math.IsNaN(w) {
			known++
			mean += (w - mean) / known
		}
	}
	return mean, nil
}
