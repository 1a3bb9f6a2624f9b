package change

import "math"

// Mixture is a page that changes as a Poisson process of a rate that is not known but believed: its
// staleness, in the mean over the belief, is the mean of those of the rates. It is no renewal process, but
// is as convex as one.
type Mixture [Rates]float64

// NewMixture returns the process of a belief. Its probabilities need not sum to 1.
func NewMixture(b *Belief) *Mixture {
	var m Mixture
	sum := 0.0
	for _, p := range b {
		sum += float64(p)
	}
	for k, p := range b {
		m[k] = float64(p) / sum
	}
	return &m
}

// Rate returns the mean rate, in changes a second.
func (m *Mixture) Rate() float64 {
	sum := 0.0
	for k, p := range m {
		sum += p * GridRate(k)
	}
	return sum
}

// Staleness returns the means of the rates' staleness and freshness. O(Rates).
func (m *Mixture) Staleness(length float64) (stale, fresh float64) {
	for k, p := range m {
		s, f := Poisson(GridRate(k)).Staleness(length)
		stale += p * s
		fresh += p * f
	}
	return math.Min(1, stale), math.Min(1, fresh)
}

// Marginal returns the mean of the rates' marginals. O(Rates).
func (m *Mixture) Marginal(length float64) float64 {
	sum := 0.0
	for k, p := range m {
		sum += p * Poisson(GridRate(k)).Marginal(length)
	}
	return sum
}

// difference is the mean of the rates' differences, none of which cancels.
func (m *Mixture) difference(span, n, k float64) float64 {
	sum := 0.0
	for j, p := range m {
		if p > 0 {
			sum += p * Poisson(GridRate(j)).difference(span, n, k)
		}
	}
	return sum
}
