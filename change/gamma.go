package change

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Gamma is a page whose gaps have a gamma law. Integer shapes give Erlang's law, shape 1 Poisson's. Gaps are more
// regular above 1 and come in bursts below. Make it with NewGamma.
type Gamma struct{ rate, shape float64 }

// NewGamma returns the process with a rate in changes per second and a shape from 0.01 to 10000.
func NewGamma(rate, shape float64) (Gamma, error) {
	if err := errors.Join(positive("rate", rate), between("shape of a gamma process", shape, 0.01, 10_000)); err != nil {
		return Gamma{}, err
	}
	return Gamma{rate, shape}, nil
}

// Rate returns the mean number of changes per second.
func (p Gamma) Rate() float64 { return p.rate }

// Tail returns the probability that a gap is longer than gap ≥ 0 seconds: Q(k, kλt).
func (p Gamma) Tail(gap float64) float64 {
	if gap == 0 {
		return 1
	}
	_, upper := incompleteGamma(p.shape, p.shape*p.rate*gap)
	return upper
}

// Gap draws the time between two changes, in seconds.
func (p Gamma) Gap(rng *rand.Rand) float64 { return gammaNumber(rng, p.shape) / (p.shape * p.rate) }

// gammaNumber draws from the gamma law with scale 1 (Marsaglia and Tsang 2000). For a shape below 1 it draws with shape
// + 1 and multiplies by a power of a uniform number. Shape 1 is the exponential law.
func gammaNumber(rng *rand.Rand, shape float64) float64 {
	if shape == 1 {
		return rng.ExpFloat64()
	}
	if shape < 1 {
		return gammaNumber(rng, shape+1) * math.Pow(1-rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// Staleness returns, with shape k and z = kλ·length,
//
//	z/(2k) Q(k, z) + P(k+1, z) - (k+1)/(2z) P(k+2, z)
func (p Gamma) Staleness(length float64) (stale, fresh float64) {
	z := p.shape * p.rate * length
	switch {
	case z == 0:
		return 0, 1
	case math.IsInf(z, 1):
		return 1, 0
	}
	_, upper := incompleteGamma(p.shape, z)
	lower1, upper1 := incompleteGamma(p.shape+1, z)
	lower2, _ := incompleteGamma(p.shape+2, z)
	early, late := z/(2*p.shape)*upper, (p.shape+1)/(2*z)*lower2
	return clamp(early + lower1 - late), clamp(upper1 - early + late)
}

// Marginal returns λ [ L²/2 Q(k, z) + k(k+1)/(2β²) P(k+2, z) ] with β = kλ.
func (p Gamma) Marginal(length float64) float64 {
	beta := p.shape * p.rate
	tail := p.shape * (p.shape + 1) / (2 * beta * beta)
	if math.IsInf(length, 1) {
		return p.rate * tail
	}
	_, upper := incompleteGamma(p.shape, beta*length)
	lower, _ := incompleteGamma(p.shape+2, beta*length)
	return p.rate * (length*length/2*upper + tail*lower)
}
