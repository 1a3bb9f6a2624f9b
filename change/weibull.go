package change

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Weibull is a page whose gaps have the tail Gbar(t) = exp(-(t/scale)^shape). Changes come in bursts for shapes below 1
// and are regular above; shape 1 is Poisson. Make it with NewWeibull.
type Weibull struct{ rate, shape, scale float64 }

// NewWeibull returns the process with a rate in changes per second and a shape from 0.05 to 1000. The rate is 1/mean
// gap, not the factor in the exponent.
func NewWeibull(rate, shape float64) (Weibull, error) {
	if err := errors.Join(positive("rate", rate), between("shape of a Weibull process", shape, 0.05, 1000)); err != nil {
		return Weibull{}, err
	}
	return Weibull{rate, shape, 1 / (rate * math.Gamma(1+1/shape))}, nil
}

// Rate returns the mean number of changes per second.
func (p Weibull) Rate() float64 { return p.rate }

// Tail returns the probability that a gap is longer than gap ≥ 0 seconds: exp(-(t/scale)^shape).
func (p Weibull) Tail(gap float64) float64 { return math.Exp(-math.Pow(gap/p.scale, p.shape)) }

// Gap draws the time between two changes, in seconds.
func (p Weibull) Gap(rng *rand.Rand) float64 { return p.scale * math.Pow(rng.ExpFloat64(), 1/p.shape) }

// Staleness returns, with z = (length/scale)^shape and α the shape,
//
//	P(1/α, z) - z^(-1/α) Γ(2/α)/Γ(1/α) P(2/α, z)
func (p Weibull) Staleness(length float64) (stale, fresh float64) {
	if length <= 0 {
		return 0, 1
	}
	if math.IsInf(length, 1) {
		return 1, 0
	}
	ratio := length / p.scale
	z := math.Pow(ratio, p.shape)
	if z < 1 {
		stale = p.rate * length * p.series(z, 1)
		return stale, 1 - stale
	}
	lower, upper := incompleteGamma(1/p.shape, z)
	second, _ := incompleteGamma(2/p.shape, z)
	numerator, _ := math.Lgamma(2 / p.shape)
	denominator, _ := math.Lgamma(1 / p.shape)
	part := math.Exp(numerator-denominator) / ratio * second
	return clamp(lower - part), clamp(upper + part)
}

// series returns Σ (-z)^k / (k! (αk+1)ⁱ (αk+2)).
func (p Weibull) series(z float64, i int) float64 {
	sum, power := 0.5, 1.0
	for k := 1.0; ; k++ {
		power *= -z / k
		term := power / (p.shape*k + 2)
		if i > 0 {
			term /= p.shape*k + 1
		}
		if sum+term == sum {
			return sum
		}
		sum += term
	}
}

// Marginal returns (λ scale²/α) Γ(2/α) P(2/α, z), by a series for z < 1, where z itself may underflow.
func (p Weibull) Marginal(length float64) float64 {
	z := math.Pow(length/p.scale, p.shape)
	if z < 1 {
		return p.rate * length * length * p.series(z, 0)
	}
	lower, _ := incompleteGamma(2/p.shape, z)
	logGamma, _ := math.Lgamma(2 / p.shape)
	return p.rate * p.scale * p.scale / p.shape * math.Exp(logGamma) * lower
}

// clamp keeps a rounded value in [0, 1].
func clamp(v float64) float64 { return math.Min(1, math.Max(0, v)) }
