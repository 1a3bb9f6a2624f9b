package fleet

import "fmt"

// A Plan is a model's advice to a crawl with at most a given number of fetchers.
type Plan struct {
	Model    Model
	Fixed    Static   // the best fixed number, not above the most, with exponential service
	Switched *Dynamic // nil where it would take too long to compute
}

// maxPlanWork bounds the multiplications of one round of a plan's policy iteration. There are some 4
// to 8, which take some 50 ms in all.
const maxPlanWork = 4e6

// Plan returns the plan for at most most fetchers, at least 1. Unlike Dynamic it always answers within a fraction of a
// second. If the queue and the fleet are too large for that, the plan has no switching curves. The best fixed number is
// then close to the optimum (Proposition 4). Plan returns an error if the model is invalid.
func (m Model) Plan(most int) (Plan, error) {
	if most < 1 {
		return Plan{}, fmt.Errorf("fleet: at most %d fetchers: want 1 or more", most)
	}
	best, err := m.Best(Exponential())
	if err != nil {
		return Plan{}, err
	}
	if best.Fetchers > most {
		best, _ = m.fixed(most, Exponential())
	}
	plan := Plan{Model: m, Fixed: best}
	if m.Queue > maxGeneralQueue {
		return plan, nil
	}
	quick := func(n int) bool { return process{k: m.Queue, n: n}.work() <= maxPlanWork }
	if !quick(most) {
		most = min(most, best.Fetchers+best.Fetchers/2+25) // more are hardly ever useful
	}
	if !quick(most) {
		return plan, nil
	}
	if d, err := m.Dynamic(most); err == nil {
		plan.Switched = &d
	}
	return plan, nil
}
