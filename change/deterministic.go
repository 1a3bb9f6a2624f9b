package change

import "math"

// Deterministic is a page that changes every 1/rate seconds at an unknown phase. The value is the rate.
type Deterministic float64

// NewDeterministic returns the process with a rate in changes per second, positive and finite.
func NewDeterministic(rate float64) (Deterministic, error) {
	return Deterministic(rate), positive("rate", rate)
}

// Rate returns the number of changes per second.
func (p Deterministic) Rate() float64 { return float64(p) }

// Staleness returns u/2 for u = λ·length ≤ 1, and 1 - 1/(2u) for longer spacings.
func (p Deterministic) Staleness(length float64) (stale, fresh float64) {
	u := float64(p) * length
	if u <= 1 {
		return u / 2, 1 - u/2
	}
	return 1 - 0.5/u, 0.5 / u
}

// Marginal returns λ min(length, 1/λ)²/2.
func (p Deterministic) Marginal(length float64) float64 {
	u := math.Min(1, float64(p)*length)
	return u * u / 2 / float64(p)
}

// difference returns, with θ = λ·span, k/(2θ) for n < θ, where staleness is linear, and θk/(2n(n+k)) for larger n.
func (p Deterministic) difference(span, n, k float64) float64 {
	theta := float64(p) * span
	switch {
	case n+k <= theta:
		return k / (2 * theta)
	case n >= theta:
		return theta / n * (k / (n + k)) / 2
	}
	above := n + k - theta
	return (theta-n)/(2*theta) + above/(n+k)/2
}

// inverse returns √(2m/λ). Length excludes marginals that no spacing reaches.
func (p Deterministic) inverse(marginal float64) float64 {
	return math.Sqrt(2 * marginal / float64(p))
}
