package fleet

import (
	"fmt"
	"math"
	"slices"
)

// A solution is a policy and its evaluation.
type solution struct {
	process
	evaluation
	add       policy
	recurrent []int   // its one closed class
	rounds    int     // rounds of policy iteration, or steps of value iteration
	gap       float64 // no policy costs less by more than this
}

// iterate solves the process by policy iteration: it evaluates the policy, changes each choice that gains, and
// repeats this until none does. From a policy that holds the best fixed number of fetchers it takes 4 to 8 rounds;
// from all on, with far more available than that, dozens. If starvation and loss nearly vanish it may take dozens
// too, which change the cost by less than rounding: if they take too long, it ends there.
func (p process) iterate(fixed int) (solution, error) {
	add, likely := p.hold(fixed), p.index(0, min(fixed, p.n))
	var room chain
	for round := 1; ; round++ {
		s, err := p.settle(&room, add, likely)
		if err != nil {
			return solution{}, err
		}
		s.rounds, s.gap = round, p.gap(s.evaluation)
		next, changed := p.improve(s.add, s.value)
		if !changed {
			return s, nil
		}
		if float64(round)*p.work() > maxWork {
			if s.gap < tie*(1+p.gamma) {
				return s, nil
			}
			return solution{}, fmt.Errorf("fleet: queue %d, %d fetchers: %w: no end after %d rounds", p.k, p.n, ErrTooLarge, round)
		}
		add, likely = next, s.likely()
	}
}

// settle evaluates a policy. If its chain has several closed classes, settle keeps the best and changes the policy so
// that all other states lead to it (Haviv and Puterman 1991, for communicating processes). The first reference is the
// likely state if that is recurrent.
func (p process) settle(room *chain, add policy, likely int) (best solution, err error) {
	classes := p.classes(add)
	for _, class := range classes {
		s := solution{process: p, add: add, recurrent: class}
		reference := class[0]
		if slices.Contains(class, likely) {
			reference = likely
		}
		if len(classes) > 1 {
			s.add = p.steer(add, reference)
		}
		if s.evaluation, err = p.evaluateClass(room, s.add, class, reference); err != nil {
			return solution{}, err
		}
		if best.add == nil || s.average < best.average {
			best = s
		}
	}
	return best, nil
}

// evaluateClass evaluates a policy with one closed class. It moves the reference to where the process
// is most often: values relative to a state that is hardly ever visited are differences of huge
// numbers.
func (p process) evaluateClass(room *chain, add policy, class []int, reference int) (evaluation, error) {
	for range 20 {
		e, stuck := p.evaluate(room, add, reference)
		switch {
		case stuck < 0 && e.share[reference]*100 > e.share[e.likely()]:
			return e, nil
		case stuck < 0:
			reference = e.likely()
		case slices.Contains(class, stuck): // the process is nearly always there
			reference = stuck
		default:
			return evaluation{}, fmt.Errorf("fleet: queue %d, %d fetchers: %w: probabilities below 1e-300", p.k, p.n, ErrTooLarge)
		}
	}
	return evaluation{}, fmt.Errorf("fleet: queue %d, %d fetchers: %w: found no state that is visited often", p.k, p.n, ErrTooLarge)
}

// likely returns the state in which the process is most often.
func (e *evaluation) likely() int {
	likely := 0
	for i, share := range e.share {
		if share > e.share[likely] {
			likely = i
		}
	}
	return likely
}

// gain returns D(q,r) = V(q,r+1) − V(q,r), which is negative if turning on a fetcher in that landing gains, and its
// possible rounding error.
func (p process) gain(value []float64, q, r int) (gain, rounding float64) {
	off, on := value[p.index(q, r)], value[p.index(q, r+1)]
	return on - off, 1e-12 * (1 + math.Abs(on) + math.Abs(off))
}

// improve returns the policy with every choice changed for which the change gains more than rounding.
func (p process) improve(add policy, value []float64) (next policy, changed bool) {
	next = slices.Clone(add)
	for i := range next {
		q, r := p.state(i)
		if !p.optional(q, r) {
			continue
		}
		if gain, rounding := p.gain(value, q, r); add[i] && gain > rounding || !add[i] && gain < -rounding {
			next[i], changed = !add[i], true
		}
	}
	return next, changed
}

// gap returns how far the optimal cost can be below that of an evaluated policy: whatever the values
// V, no policy costs less than the smallest over the states of
//
//	c(x) + Σ rate · (min over the choice of V(x′) − V(x)).
func (p process) gap(e evaluation) float64 {
	bound := math.Inf(1)
	for i := range e.value {
		q, r := p.state(i)
		if q == 0 && r == 0 {
			continue
		}
		sum := p.cost(q, r)
		for _, m := range p.moves(q, r) {
			if m.rate > 0 {
				sum += m.rate * (p.landed(e.value, m.q, m.r) - e.value[i])
			}
		}
		bound = min(bound, sum)
	}
	return max(0, e.average-bound)
}

// landed returns the value of a landing under the best choice.
func (p process) landed(value []float64, q, r int) float64 {
	switch {
	case q == 0 && r == 0:
		return value[p.index(0, 1)]
	case r == p.n:
		return value[p.index(q, r)]
	}
	return min(value[p.index(q, r)], value[p.index(q, r+1)])
}
