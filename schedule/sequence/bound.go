package sequence

import (
	"math"
	"slices"
)

// Bound returns the frequencies with the lowest cost if every page could be evenly spaced, and that cost. No sequence
// costs less. The frequencies follow Proposition 10 where c_i = μ_i, else the multipliers of (1.27) to (1.29). There is
// one per page, and they sum to 1. A page whose c_i/μ_i is too small gets 0, a case that the paper leaves out;
// sequences that visit it ever more rarely then approach the bound. O(n), or O(n log(1/ε)) with costs of their own.
func (p *Pages) Bound() (frequencies []float64, cost float64) {
	if p.even {
		frequencies = slices.Clone(p.logs)
	} else {
		frequencies = p.lagrange()
	}
	normalize(frequencies)
	return frequencies, p.BoundAt(frequencies)
}

// BoundAt returns a lower bound on the cost of any sequence with these frequencies: the cost of even spacing
// (Proposition 9).
func (p *Pages) BoundAt(frequencies []float64) float64 {
	var cost float64
	for i, f := range frequencies {
		if f == 0 {
			cost += p.costs[i]
			continue
		}
		cost += p.costs[i] * p.stale(i, spacing{f, 1 / f})
	}
	return cost
}

// lagrange returns the solution x of (c_i/μ_i)(1 − y_i + y_i ln y_i) = κ, y_i = h_i^{1/x_i}, with the κ at which Σ x_i
// = 1. It sets x_i = 0 where c_i/μ_i ≤ κ. The sum falls with κ.
func (p *Pages) lagrange() []float64 {
	x := make([]float64, p.Len())
	var most float64
	for i, c := range p.costs {
		most = max(most, c/p.rates[i])
	}
	if most == 0 {
		copy(x, p.logs) // all costs are 0, so any frequencies are optimal
		return x
	}
	sum := func(kappa float64) (sum float64) {
		for i, c := range p.costs {
			x[i] = 0
			if worth := c / p.rates[i]; worth > kappa {
				x[i] = p.logs[i] / distance(kappa/worth)
			}
			sum += x[i]
		}
		return sum
	}
	low, high := math.Log(most)-1500, math.Log(most) // of ln κ
	for range 200 {
		middle := (low + high) / 2
		if middle == low || middle == high {
			break
		}
		if sum(math.Exp(middle)) > 1 {
			low = middle
		} else {
			high = middle
		}
	}
	// From a distance of about 40 on, the equation's left side equals c_i/μ_i to the last bit. If that is κ for a page,
	// it has no visits at high, and at low the visits of that distance. All its visits gain the same, so it gets what
	// the other pages leave.
	few, at := sum(math.Exp(high)), slices.Clone(x)
	part := (1 - few) / (sum(math.Exp(low)) - few)
	for i := range x {
		x[i] = at[i] + part*(x[i]-at[i])
	}
	return x
}

// distance returns the z > 0 with 1 − (1+z)·e^{−z} = v, for v in (0, 1): −ln y in the equations. It takes Newton steps
// in ln z, kept between bounds.
func distance(v float64) float64 {
	share := func(z float64) float64 { // 1 − (1+z)·e^{−z}
		if z < 1e-2 {
			return z * z * (1.0/2 - z*(1.0/3-z*(1.0/8-z*(1.0/30-z/144))))
		}
		return -math.Expm1(-z) - z*math.Exp(-z)
	}
	low, high := 0.0, 800.0
	z := min(math.Sqrt(2*v)*(1+math.Sqrt(2*v)/3), 700)
	if v > 0.9 {
		z = max(z, -math.Log1p(-v))
	}
	for range 100 {
		excess := share(z) - v
		if excess > 0 {
			high = z
		} else {
			low = z
		}
		next := z - excess/(z*math.Exp(-z))
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-z) <= 1e-15*z {
			return next
		}
		z = next
	}
	return z
}

// normalize scales x so that its sum is 1.
func normalize(x []float64) {
	var sum float64
	for _, v := range x {
		sum += v
	}
	for i := range x {
		x[i] /= sum
	}
}
