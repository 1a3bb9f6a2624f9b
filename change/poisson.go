package change

import (
	"math"
	"math/rand/v2"
)

// Poisson is a page that changes without memory: Gbar(t) = e^-λt. The value is the rate, in changes per second.
type Poisson float64

// NewPoisson returns the process with a rate in changes per second, positive and finite.
func NewPoisson(rate float64) (Poisson, error) { return Poisson(rate), positive("rate", rate) }

// Rate returns the mean number of changes per second.
func (p Poisson) Rate() float64 { return float64(p) }

// Tail returns the probability that a gap is longer than gap ≥ 0 seconds: e^-λt.
func (p Poisson) Tail(gap float64) float64 { return math.Exp(-float64(p) * gap) }

// Gap draws the time between two changes, in seconds.
func (p Poisson) Gap(rng *rand.Rand) float64 { return rng.ExpFloat64() / float64(p) }

// First draws the time to the first change, in seconds. It has the law of Gap, because the process has no memory.
func (p Poisson) First(rng *rand.Rand) float64 { return p.Gap(rng) }

// Staleness returns 1 - (1-e^-u)/u and (1-e^-u)/u for u = λ·length (Wolf et al. 2002, eq. 14).
func (p Poisson) Staleness(length float64) (stale, fresh float64) {
	u := float64(p) * length
	if u == 0 {
		return 0, 1
	}
	return poissonStaleness(u), -math.Expm1(-u) / u
}

func poissonStaleness(u float64) float64 {
	if u >= 0.5 {
		return 1 + math.Expm1(-u)/u
	}
	return u * exponentialRest(-u)
}

// exponentialRest returns (e^x - 1 - x)/x² for |x| ≤ 1/2, to full precision. It sums the even and odd powers of the
// series separately, so that the processor can do both at once.
func exponentialRest(x float64) float64 {
	even, odd, square := 0.0, 0.0, x*x
	for k := len(inverseFactorials) - 2; k >= 0; k -= 2 {
		even = even*square + inverseFactorials[k]
		odd = odd*square + inverseFactorials[k+1]
	}
	return even + x*odd
}

// inverseFactorials are 1/2!, 1/3!, …, 1/15!.
var inverseFactorials = [...]float64{
	1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
	1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200, 1.0 / 1307674368000,
}

// Marginal returns (1 - (1+u)e^-u)/λ for u = λ·length.
func (p Poisson) Marginal(length float64) float64 {
	u := float64(p) * length
	switch {
	case math.IsInf(u, 1):
		return 1 / float64(p)
	case u >= 0.5:
		return (1 - (1+u)*math.Exp(-u)) / float64(p)
	}
	return math.Exp(-u) * excess(u) / float64(p)
}

// excess returns e^v - 1 - v.
func excess(v float64) float64 {
	if v >= 0.5 {
		return math.Expm1(v) - v
	}
	return v * v * exponentialRest(v)
}

// difference returns, with θ = λ·span, v = θ/(n+k) and w = vk/n,
//
//	(k/θ) e^-v [ (e^v-1-v) + v·A(w) ],
//
// in which nothing cancels.
func (p Poisson) difference(span, n, k float64) float64 {
	theta := float64(p) * span
	v := theta / (n + k)
	w := v * k / n // +Inf if n is 0
	if v > 1 {
		return (-k*math.Expm1(-v) + n*math.Exp(-v)*math.Expm1(-w)) / theta
	}
	if math.IsInf(w, 1) {
		return -k * math.Expm1(-v) / theta
	}
	return k / theta * math.Exp(-v) * (excess(v) + v*poissonStaleness(w))
}

// inverse solves 1 - (1+u)e^-u = λm as u - log(1+u) = τ by a series in √(2τ) (Temme) or the asymptote,
// then by Newton's method.
func (p Poisson) inverse(marginal float64) float64 {
	c := float64(p) * marginal
	if c >= 1 {
		return math.Inf(1) // by rounding
	}
	tau := -math.Log1p(-c)
	s := math.Sqrt(2 * tau)
	if s < 0.02 {
		return s * (1 + s*(1.0/3+s*(1.0/36-s/270))) / float64(p)
	}
	u, steps := s*(1+s*(1.0/3+s*(1.0/36-s*(1.0/270-s/4320)))), 1
	if s > 1 {
		steps = 2
	}
	if s > 2.5 {
		u = tau + math.Log1p(tau+math.Log1p(tau))
	}
	for range steps {
		u -= (u - math.Log1p(u) - tau) * (1 + u) / u
	}
	return u / float64(p)
}
