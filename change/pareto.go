package change

import (
	"errors"
	"fmt"
	"math"
)

// Pareto is a page whose gaps have the tail Gbar(t) = (b/(b+t))^a with a > 1: after a burst, long
// silence. Make it with NewPareto or ParetoAtAge.
type Pareto struct{ shape, scale float64 }

// NewPareto returns the process of that rate, in changes a second, and shape a, 1 < a ≤ 1000. A shape of
// at most 1 has no mean gap, so that neither a rate nor an equilibrium exists; it is refused (Wolf et al.
// allow 0 < a < 2). What can be said of such a page is TruncatedPareto and ParetoAtAge.
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

// ParetoAtAge returns what a crawler knows of a page with Pareto gaps of any shape a > 0 and scale b
// seconds whose last change is known to lie age seconds before every crawl: the probability of a change
// within s is 1 - ((b+age)/(b+age+s))^a. That is the equilibrium law of the Pareto process of shape a+1
// and scale b+age, which is returned; its Rate is 1/mean of that law's gaps.
func ParetoAtAge(shape, scale, age float64) (Pareto, error) {
	if err := errors.Join(between("shape of a Pareto process", shape, 1e-6, 999), positive("scale", scale), between("age", age, 0, math.MaxFloat64)); err != nil {
		return Pareto{}, err
	}
	return Pareto{shape + 1, scale + age}, nil
}

// Rate returns the changes a second.
func (p Pareto) Rate() float64 { return (p.shape - 1) / p.scale }

// Tail returns the probability that a gap is longer, (b/(b+t))^a; gap is at least 0.
func (p Pareto) Tail(gap float64) float64 { return math.Exp(-p.shape * math.Log1p(gap/p.scale)) }

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

// inverse solves m(r) = c by Chebyshev's method on the logarithms of both, from the series of r in √(2c). Far
// from the solution it is Newton's, which does not fail, as m is concave there; and m(r) is at most r²/2 and, for
// a < 2, at most r^(2-a)/(2-a).
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

// momentAndTail returns paretoMoment and (1+r)^-a to some ten digits, by one exponential where it can.
func momentAndTail(a, r float64) (moment, tail float64) {
	if (a+1)*r < 0.02 || math.Abs(a-2) < 0.1 || a < 1.1 {
		return paretoMoment(a, r), math.Exp(-a * math.Log1p(r))
	}
	power := math.Exp((1 - a) * math.Log1p(r))
	return (power*(1+r)-1)/(2-a) - (power-1)/(1-a), power / (1 + r)
}

// TruncatedPareto is a Pareto law of any shape a > 0 in which a gap ends at the horizon at the latest:
// Gbar is (b/(b+t))^a before it and 0 after. Make it with NewTruncatedPareto.
type TruncatedPareto struct{ shape, scale, horizon, mean float64 }

// NewTruncatedPareto returns the process of that shape, up to 1000, scale b and horizon in seconds.
func NewTruncatedPareto(shape, scale, horizon float64) (TruncatedPareto, error) {
	if err := errors.Join(between("shape of a Pareto process", shape, 1e-6, 1000), positive("scale", scale), positive("horizon", horizon)); err != nil {
		return TruncatedPareto{}, err
	}
	p := TruncatedPareto{shape: shape, scale: scale, horizon: horizon}
	p.mean = p.tail(horizon)
	return p, nil
}

// tail returns ∫₀ᵗ Gbar for t up to the horizon.
func (p TruncatedPareto) tail(t float64) float64 {
	return p.scale * expRatio(1-p.shape, math.Log1p(t/p.scale))
}

// Rate returns the changes a second.
func (p TruncatedPareto) Rate() float64 { return 1 / p.mean }

// Staleness returns (L I(min(L,H)) - M(min(L,H))) / (L I(H)), where I and M are the integrals of Gbar and
// of v Gbar.
func (p TruncatedPareto) Staleness(length float64) (stale, fresh float64) {
	if length <= 0 {
		return 0, 1
	}
	moment := p.Marginal(length) * p.mean
	if length >= p.horizon {
		fresh = moment / (p.mean * length)
		return 1 - fresh, fresh
	}
	r := length / p.scale
	if (p.shape+1)*r < 0.25 {
		// Φ(L) = λ b² Σ binom(-a,k) r^(k+2)/((k+1)(k+2)).
		stale = p.scale / p.mean * r * innerSeries(p.shape, r)
		return clamp(stale), clamp(1 - stale)
	}
	stale = (p.tail(length) - moment/length) / p.mean
	return clamp(stale), clamp(1 - stale)
}

// innerSeries returns Σ binom(-a, k) r^k/((k+1)(k+2)).
func innerSeries(a, r float64) float64 {
	sum, power := 0.5, 1.0
	for k := 1.0; ; k++ {
		power *= (-a - k + 1) / k * r
		term := power / ((k + 1) * (k + 2))
		if sum+term == sum {
			return sum
		}
		sum += term
	}
}

// Marginal returns λ b² m(min(length, horizon)/b).
func (p TruncatedPareto) Marginal(length float64) float64 {
	return p.scale * p.scale / p.mean * paretoMoment(p.shape, math.Min(length, p.horizon)/p.scale)
}

func (p TruncatedPareto) kink() float64 { return p.horizon }
