package change

import (
	"fmt"
	"math"
)

// A Process is a law of the gaps between a page's changes, seen in equilibrium. All lengths are in seconds, positive,
// and may be +Inf. A Process is an immutable value, safe for concurrent use.
type Process interface {
	// Rate returns the mean number of changes per second: 1/mean gap.
	Rate() float64
	// Staleness returns the fraction of time, in [0, 1], for which a copy is stale if it is renewed every length
	// seconds, and 1 minus that. Neither loses digits by cancellation. Length 0 returns 0, 1.
	Staleness(length float64) (stale, fresh float64)
	// Marginal returns λ ∫₀ᴸ v Gbar(v) dv, in seconds. With n renewals in T seconds, Marginal(T/n)/T is the rate at
	// which staleness falls with n. Marginal rises with length, without bound if the variance of the gaps is infinite.
	Marginal(length float64) float64
}

// A process may compute differences of staleness, or the inverse of Marginal, by formulas of its own.
type (
	differ interface {
		difference(span, n, k float64) float64
	}
	inverter interface {
		inverse(marginal float64) float64
	}
)

// Difference returns by how much staleness falls when n renewals in span seconds become n+k: A(span/n) - A(span/(n+k)),
// for real n ≥ 0 and k ≥ 0, to nearly full relative precision. Without renewals (n = 0) the staleness is 1. O(1).
func Difference(p Process, span, n, k float64) float64 {
	if k <= 0 {
		return 0
	}
	if own, ok := p.(differ); ok {
		return own.difference(span, n, k)
	}
	return smoothDifference(p, span, n, k)
}

// smoothDifference subtracts if that loses few digits. Otherwise it integrates the derivative.
func smoothDifference(p Process, span, n, k float64) float64 {
	if 8*k <= n {
		sum := 0.0
		for i, x := range gaussNodes {
			sum += gaussWeights[i] * (p.Marginal(span/(n+k*(0.5-x))) + p.Marginal(span/(n+k*(0.5+x))))
		}
		return k * sum / span
	}
	stale, fresh := p.Staleness(span / n) // +Inf if n is 0
	staleMore, freshMore := p.Staleness(span / (n + k))
	if staleMore > 0.5 {
		return math.Max(0, freshMore-fresh)
	}
	return math.Max(0, stale-staleMore)
}

// Half nodes and weights of the Gauss-Legendre rule of 8 points on [-1/2, 1/2] (Abramowitz and Stegun
// 1964, table 25.4, halved).
var (
	gaussNodes = [4]float64{0.091717321247824905, 0.262766204958164497, 0.398333238706813370, 0.480144928248768129}
	// The weights sum to 1/2.
	gaussWeights = [4]float64{0.181341891689180992, 0.156853322938943644, 0.111190517226687235, 0.050614268145188129}
)

// Length returns the spacing at which p's Marginal is m seconds. It returns 0 for m ≤ 0 and +Inf if Marginal stays
// below m. Relative precision 1e-8. O(1) for Poisson and Pareto, O(Rates) for Mixture, about ten evaluations for the
// other processes.
func Length(p Process, m float64) float64 {
	switch {
	case m <= 0:
		return 0
	case m >= p.Marginal(math.Inf(1)):
		return math.Inf(1)
	}
	if own, ok := p.(inverter); ok {
		return own.inverse(m)
	}
	// Marginal is near λL²/2 for small lengths and below it everywhere.
	low := math.Sqrt(2 * m / p.Rate())
	if p.Marginal(low) >= m {
		return low
	}
	high := 2 * low
	for p.Marginal(high) < m {
		low, high = high, 2*high
	}
	return illinois(p, m, low, high)
}

// illinois finds the length between low and high by false position on logarithms, where Marginal is nearly straight. If
// an end stays for two steps, illinois halves its weight.
func illinois(p Process, m, low, high float64) float64 {
	off := func(length float64) float64 { return math.Log(p.Marginal(length) / m) }
	a, b := math.Log(low), math.Log(high)
	offA, offB := off(low), off(high)
	moved := 0.0 // the sign of the end that moved last
	for range 100 {
		c := (a*offB - b*offA) / (offB - offA)
		offC := off(math.Exp(c))
		if b-a < 1e-12 || math.Abs(offC) < 1e-12 || math.IsNaN(offC) {
			return math.Exp(c)
		}
		switch again := moved*offC > 0; {
		case offC < 0:
			if a, offA = c, offC; again {
				offB /= 2
			}
		default:
			if b, offB = c, offC; again {
				offA /= 2
			}
		}
		moved = offC
	}
	return math.Exp(b)
}

// positive returns an error that names what and v unless v is positive and finite.
func positive(what string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("change: %s %v: want a positive finite number", what, v)
	}
	return nil
}

// between returns an error that names what and v unless low ≤ v ≤ high.
func between(what string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return fmt.Errorf("change: %s %v: want %v to %v", what, v, low, high)
	}
	return nil
}
