package change

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Pareto is a page whose gaps have the tail Gbar(t) = (b/(b+t))^a with a > 1: bursts, then long silence. Make it with
// NewPareto.
type Pareto struct{ shape, scale float64 }

// NewPareto returns the process with a rate in changes per second and a shape 1 < a ≤ 1000. It returns an error for a
// shape of at most 1, which has no mean gap and therefore neither rate nor equilibrium (Wolf et al. allow 0 < a < 2).
func NewPareto(rate, shape float64) (Pareto, error) {
	if err := positive("rate", rate); err != nil {
		return Pareto{}, err
	}
	if shape > 0 && shape <= 1 {
		return Pareto{}, fmt.Errorf("change: shape of a Pareto process %v: gaps of shape 1 or less have no mean: want more than 1", shape)
	}
	if err := between("shape of a Pareto process", shape, 1, 1000); err != nil {
		return Pareto{}, err
	}
	return Pareto{shape, (shape - 1) / rate}, nil
}

// Rate returns the mean number of changes per second.
func (p Pareto) Rate() float64 { return (p.shape - 1) / p.scale }

// Tail returns the probability that a gap is longer than gap ≥ 0 seconds: (b/(b+t))^a.
func (p Pareto) Tail(gap float64) float64 { return math.Exp(-p.shape * math.Log1p(gap/p.scale)) }

// Gap draws the time between two changes, in seconds.
func (p Pareto) Gap(rng *rand.Rand) float64 { return p.draw(rng, p.shape) }

// First draws the time to the first change, in seconds. Its tail is (b/(b+t))^(a-1).
func (p Pareto) First(rng *rand.Rand) float64 { return p.draw(rng, p.shape-1) }

func (p Pareto) draw(rng *rand.Rand, power float64) float64 {
	return p.scale * math.Expm1(-math.Log1p(-rng.Float64())/power)
}

// Staleness returns 1 - ((1+r)^(2-a)-1)/((2-a)r) for r = length/b, continuous at a = 2.
func (p Pareto) Staleness(length float64) (stale, fresh float64) {
	r := length / p.scale
	switch {
	case r == 0:
		return 0, 1
	case math.IsInf(r, 1):
		return 1, 0
	}
	l := math.Log1p(r)
	fresh = expRatio(2-p.shape, l) / r
	switch e := p.shape - 1; {
	case (p.shape+1)*r < 0.25:
		stale = -binomialSeries(1-p.shape, r, 1)
	case e < 0.5: // 1-fresh with the factor a-1 taken out
		stale = (-(1+1/r)*math.Expm1(-e*l) - e) / (1 - e)
	default:
		stale = 1 - fresh
	}
	return clamp(stale), clamp(fresh)
}

// Marginal returns (a-1) b m(r), m(r) = ∫₀ʳ y(1+y)^-a dy.
func (p Pareto) Marginal(length float64) float64 {
	return (p.shape - 1) * p.scale * paretoMoment(p.shape, length/p.scale)
}

// paretoMoment returns ∫₀ʳ y(1+y)^-a dy for a > 0.
func paretoMoment(a, r float64) float64 {
	if math.IsInf(r, 1) {
		if a <= 2 {
			return r
		}
		return 1/(a-2) - 1/(a-1)
	}
	if (a+1)*r < 0.25 {
		return r * r * binomialSeries(-a, r, 2)
	}
	l := math.Log1p(r)
	return expRatio(2-a, l) - expRatio(1-a, l)
}

// expRatio returns (e^(cl) - 1)/c, which is l at c = 0.
func expRatio(c, l float64) float64 {
	if y := c * l; math.Abs(y) < 1e-8 {
		return l * (1 + y/2)
	}
	return math.Expm1(c*l) / c
}

// binomialSeries returns Σ binom(c, k) r^k/(k+from) over k ≥ 0, without the term of k = 0 if from is 1.
func binomialSeries(c, r, from float64) float64 {
	sum, power := 0.0, 1.0
	if from > 1 {
		sum = 1 / from
	}
	for k := 1.0; ; k++ {
		power *= (c - k + 1) / k * r
		term := power / (k + from)
		if sum+term == sum {
			return sum
		}
		sum += term
	}
}

// difference returns, with r and q = r - d the gaps of n and n+k renewals in units of b,
//
//	[ k E(log(1+q)) - n (1+q)^(2-a) E(log((1+r)/(1+q))) ] b/span,   E(l) = (e^((2-a)l) - 1)/(2-a),
//
// and the series of A(r) - A(q) where digits would cancel in it.
func (p Pareto) difference(span, n, k float64) float64 {
	if n == 0 || p.shape < 1.2 {
		return smoothDifference(p, span, n, k)
	}
	r, q := span/n/p.scale, span/(n+k)/p.scale
	d, c := q*k/n, 2-p.shape
	switch {
	case (p.shape+1)*r < 0.05:
		return d * differenceSeries(p.shape, r, q)
	case math.IsInf(r, 1):
		return 0
	}
	e := expRatio(c, math.Log1p(q))
	return math.Max(0, (k*e-n*(1+c*e)*expRatio(c, math.Log1p(d/(1+q))))*p.scale/span)
}

// differenceSeries returns (A(r) - A(q))/(r - q) = -Σ binom(1-a, k)/(k+1) (r^k - q^k)/(r-q), k ≥ 1.
func differenceSeries(a, r, q float64) float64 {
	sum, coefficient := 0.0, 1.0
	quotient, power := 1.0, 1.0 // (r^k - q^k)/(r-q) and q^(k-1)
	for k := 1.0; ; k++ {
		coefficient *= (2 - a - k) / k
		term := -coefficient / (k + 1) * quotient
		if sum+term == sum {
			return sum
		}
		sum += term
		power *= q
		quotient = r*quotient + power
	}
}

// inverse solves m(r) = c by Chebyshev's method on the logarithms of both. It starts from the series of r in √(2c). Far
// from the solution it takes Newton's step, which converges because m is concave there. The bounds are m(r) ≤ r²/2 and,
// for a < 2, m(r) ≤ r^(2-a)/(2-a).
func (p Pareto) inverse(marginal float64) float64 {
	a := p.shape
	c := marginal / ((a - 1) * p.scale)
	r := math.Sqrt(2 * c)
	switch {
	case a*r < 1:
		r *= 1 + r*a*(1.0/3+r*(11*a/72-1.0/8))
	case a < 1.9 && (2-a)*c > 1:
		r = math.Max(r, math.Pow((2-a)*c, 1/(2-a)))
	}
	for range 60 {
		m, tail := momentAndTail(a, r)
		slope := r * r * tail / m // of log m by log r
		step := math.Log(c/m) / slope
		switch {
		case !(step < 30):
			step = 30
		case math.Abs(step) < 0.5:
			step *= 1 - step*(2-a*r/(1+r)-slope)/2
		}
		r *= math.Exp(step)
		if math.Abs(step) < 1e-3 { // the next one would be of the order of its cube
			break
		}
	}
	return r * p.scale
}

// momentAndTail returns paretoMoment and (1+r)^-a to about ten digits. It needs one exponential where that is enough.
func momentAndTail(a, r float64) (moment, tail float64) {
	if (a+1)*r < 0.02 || math.Abs(a-2) < 0.1 || a < 1.1 {
		return paretoMoment(a, r), math.Exp(-a * math.Log1p(r))
	}
	power := math.Exp((1 - a) * math.Log1p(r))
	return (power*(1+r)-1)/(2-a) - (power-1)/(1-a), power / (1 + r)
}
