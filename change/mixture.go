package change

import "math"

// Mixture is a page that changes as a Poisson process of uncertain rate. Its staleness is the mean, over the belief, of
// the staleness at each rate. It is not a renewal process, but its staleness is as convex as one's.
type Mixture struct {
	belief [Rates]float64 // with sum 1
	rate   float64
	limit  float64 // of Marginal
}

// NewMixture returns the process for a belief, whose values need not sum to 1.
func NewMixture(b *Belief) *Mixture {
	var m Mixture
	sum := 0.0
	for _, p := range b {
		sum += float64(p)
	}
	for k, p := range b {
		m.belief[k] = float64(p) / sum
		m.rate += m.belief[k] * GridRate(k)
		m.limit += m.belief[k] / GridRate(k)
	}
	return &m
}

// Rate returns the mean rate, in changes per second.
func (m *Mixture) Rate() float64 { return m.rate }

// Staleness returns the mean staleness and the mean freshness over the rates. O(Rates).
func (m *Mixture) Staleness(length float64) (stale, fresh float64) {
	for k, p := range m.belief {
		s, f := Poisson(GridRate(k)).Staleness(length)
		stale += p * s
		fresh += p * f
	}
	return math.Min(1, stale), math.Min(1, fresh)
}

// Marginal returns the mean Marginal over the rates. O(Rates).
func (m *Mixture) Marginal(length float64) float64 {
	if math.IsInf(length, 1) {
		return m.limit
	}
	sum := 0.0
	for k, p := range m.belief {
		sum += p * Poisson(GridRate(k)).Marginal(length)
	}
	return sum
}

// difference returns the mean difference over the rates. No term cancels.
func (m *Mixture) difference(span, n, k float64) float64 {
	sum := 0.0
	for j, p := range m.belief {
		if p > 0 {
			sum += p * Poisson(GridRate(j)).difference(span, n, k)
		}
	}
	return sum
}

// inverse finds the length by Newton's method within a bracket: below half of the limit on the logarithms of length
// and Marginal, above it on the logarithm of the distance to the limit, which is nearly linear.
func (m *Mixture) inverse(marginal float64) float64 {
	rest := m.limit - marginal
	low, high := math.Sqrt(2*marginal/m.rate), math.Inf(1) // Marginal is at most λL²/2
	length := low
	for range 100 {
		at, left, slope := m.near(length)
		var step float64
		if marginal < m.limit/2 {
			step = length * math.Expm1(math.Log(marginal/at)*at/(length*slope))
		} else {
			step = math.Log(left/rest) * left / slope
		}
		if at < marginal {
			low = math.Max(low, length)
		} else {
			high = math.Min(high, length)
		}
		next := length + step
		if !(next >= low && next <= math.Min(high, 16*length)) { // too far, or no number
			next = math.Sqrt(low * math.Min(high, 16*low))
		}
		if math.Abs(next-length) <= 1e-9*length {
			return next
		}
		length = next
	}
	return length
}

// near returns Marginal of a length, its distance from the limit, and its derivative. It uses one exponential,
// because the rates double; Marginal has some nine digits.
func (m *Mixture) near(length float64) (marginal, left, slope float64) {
	u, gap, q := slowest*length, 1/slowest, math.Exp(-slowest*length)
	for _, p := range m.belief {
		tail := (1 + u) * q
		part := 1 - tail
		if u < 0.3 { // the series of ∫₀ᵘ v e^-v dv, where the difference cancels
			part = u * u * (1.0/2 - u*(1.0/3-u*(1.0/8-u*(1.0/30-u*(1.0/144-u*(1.0/840-u*(1.0/5760-u/45360)))))))
		}
		marginal += p * gap * part
		left += p * gap * tail
		slope += p * u * q
		u, gap, q = 2*u, gap/2, q*q
	}
	return marginal, left, slope
}
