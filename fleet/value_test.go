package fleet

import (
	"fmt"
	"math"
)

// ValueIteration is how to run the recursion of Proposition 6. The zero value is the defaults.
type ValueIteration struct {
	// Relaxation is τ, above 0 and below 1; 0 means the paper's 0.99999.
	Relaxation float64
	// Tolerance is where to stop; 0 means 1e-9 for the span, and the paper's 1e-5 for its own rule.
	Tolerance float64
	// Relative stops by the paper's rule, once no h(x) changes by more than the tolerance times
	// itself, h(x̂) = 0 left out. The rule says nothing about the error of the cost. Else the
	// recursion stops once the span of T(h)−h, within which the cost lies, is below the tolerance
	// times the cost.
	Relative bool
}

func (v ValueIteration) validate() (ValueIteration, error) {
	if v.Relaxation == 0 {
		v.Relaxation = 0.99999
	}
	if v.Tolerance == 0 {
		v.Tolerance = 1e-9
		if v.Relative {
			v.Tolerance = 1e-5
		}
	}
	if !(v.Relaxation > 0 && v.Relaxation < 1) {
		return v, fmt.Errorf("fleet: relaxation %v: want above 0 and below 1", v.Relaxation)
	}
	if !(v.Tolerance >= 1e-13 && v.Tolerance < 1) {
		return v, fmt.Errorf("fleet: tolerance %v: want 1e-13 to 1", v.Tolerance)
	}
	return v, nil
}

// maxUpdates bounds the updates of states of a value iteration: some ten seconds.
const maxUpdates = 2e9

// iterateValues solves the process by relative value iteration (Proposition 6) on the paper's own
// chain, uniformised at rate ν = λN+μ: states (q, r, s) just before an event s, which is a departure,
// an arrival or nothing. The transitions are (1.14) to (1.16) without their misprints: with (q′, r′)
// after the decision,
//
//	P(s′=0) = μ1(q′>0)/ν,  P(s′=1) = λr′/ν,  P(s′=2) = the rest.
//
// The reference x̂ is (K, N, 2), and θ = T(h)(x̂), where the paper's τT(h)(x̂) is a slip. Nothing leads to
// (q, N, 2) with q > 0, so the chain communicates but for these states, which Lemma 2 overlooks; the
// recursion converges all the same, the cost being the same from everywhere.
func (p process) iterateValues(fixed int, v ValueIteration) (solution, error) {
	n := p.states()
	uniform := 1 + p.lambda*float64(p.n) // ν
	var h, next [3][]float64
	for s := range h {
		h[s], next[s] = make([]float64, n), make([]float64, n)
	}
	mean := make([]float64, n) // E h(q, r, s) over s: the value of a state between events
	for step := 1; float64(step)*float64(n) < maxUpdates; step++ {
		for i := range mean {
			q, r := p.state(i)
			departure, arrival := min(float64(q), 1)/uniform, p.lambda*float64(r)/uniform
			mean[i] = departure*h[0][i] + arrival*h[1][i] + (1-departure-arrival)*h[2][i]
		}
		low, high := p.apply(&next, &h, mean, uniform)
		shift := next[2][p.index(p.k, p.n)] // T(h)(x̂)
		change := relax(&h, &next, v.Relaxation, shift)
		cost := (low + high) / 2
		if v.Relative {
			if cost = shift; change > v.Tolerance {
				continue
			}
		} else if high-low > v.Tolerance*cost {
			continue
		}
		add := p.hold(1)
		for i := range add {
			if q, r := p.state(i); p.optional(q, r) {
				gain, _ := p.gain(mean, q, r)
				add[i] = gain < 0
			}
		}
		s, err := p.settle(&chain{}, add, p.index(0, min(fixed, p.n)))
		if err != nil {
			return solution{}, err
		}
		s.average, s.rounds, s.gap = cost, step, cost-low
		return s, nil
	}
	return solution{}, fmt.Errorf("fleet: queue %d, %d fetchers: value iteration: %w", p.k, p.n, ErrTooLarge)
}

// apply sets next to T(h) and returns the smallest and largest T(h)−h.
func (p process) apply(next, h *[3][]float64, mean []float64, uniform float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	set := func(s, i int, value float64) {
		next[s][i] = value
		low, high = min(low, value-h[s][i]), max(high, value-h[s][i])
	}
	for i := range mean {
		q, r := p.state(i)
		if q == 0 && r == 0 {
			continue
		}
		starving := 0.0
		if q == 0 {
			starving = p.gamma
		}
		set(2, i, starving+mean[i])
		if q > 0 {
			set(0, i, p.landed(mean, q-1, r))
		}
		if r > 0 {
			cost := starving
			if q == p.k {
				cost += uniform
			}
			set(1, i, cost+p.landed(mean, min(q+1, p.k), r-1))
		}
	}
	return low, high
}

// relax sets h to (1−τ)h + τ(T(h) − T(h)(x̂)) and returns the largest relative change.
func relax(h, next *[3][]float64, tau, shift float64) (change float64) {
	for s := range h {
		for i, old := range h[s] {
			value := (1-tau)*old + tau*(next[s][i]-shift)
			h[s][i] = value
			if difference := math.Abs(value - old); difference > change*math.Abs(old) {
				change = difference / math.Abs(old)
			}
		}
	}
	return change
}

// DynamicByValues is Dynamic by the paper's relative value iteration: slower, for comparison. Its
// Cost is the recursion's; the rest is of the policy that it ends with.
func (m Model) DynamicByValues(n int, v ValueIteration) (Dynamic, error) {
	v, err := v.validate()
	if err != nil {
		return Dynamic{}, err
	}
	return m.dynamic(n, func(p process, fixed int) (solution, error) { return p.iterateValues(fixed, v) })
}
