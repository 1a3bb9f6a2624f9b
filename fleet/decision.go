package fleet

import "slices"

// A process is the decision process of section 1.2.2 in continuous time, in units of the mean service time. Its state
// between events is (q, r): pages in the queue, fetchers active. An event changes it in two steps. First it lands: a
// departure in (q−1, r), an arrival, which turns its fetcher off, in (min(q+1,K), r−1). Then one fetcher is turned on
// or not. This choice depends on the landing alone, as all that follows does. So a policy is one bit for each
// landing, while the paper's policy, over (q, r, s), has one for each state and event.
//
// Nothing is ever in (0,0): a policy that lands there must turn a fetcher on. It still has a number, as a state that
// leads to (0,1).
type process struct {
	lambda, gamma float64 // λ/μ, γ/μ
	k, n          int     // K, and N available fetchers
}

// states returns the number of states, which is also the number of landings.
func (p process) states() int { return (p.k + 1) * (p.n + 1) }

// index numbers the states along the shorter side, so that no event leads further than width in number.
func (p process) index(q, r int) int {
	if p.k <= p.n {
		return r*(p.k+1) + q
	}
	return q*(p.n+1) + r
}

// state is the inverse of index.
func (p process) state(i int) (q, r int) {
	if p.k <= p.n {
		return i % (p.k + 1), i / (p.k + 1)
	}
	return i / (p.n + 1), i % (p.n + 1)
}

func (p process) width() int { return min(p.k, p.n) + 1 }

// work is about how many multiplications an evaluation takes.
func (p process) work() float64 {
	return float64(p.states()) * (float64(p.width())*float64(p.width()) + 100)
}

// A policy says for each landing, by index, whether a fetcher is turned on.
type policy []bool

// hold returns the policy that keeps this number of fetchers active, at least 1, once it is reached.
func (p process) hold(fetchers int) policy {
	add := make(policy, p.states())
	for i := range add {
		_, r := p.state(i)
		add[i] = r < min(fetchers, p.n)
	}
	return add
}

// optional reports whether a landing leaves a choice.
func (p process) optional(q, r int) bool { return r < p.n && (q > 0 || r > 0) }

// A move is an event and the landing it leads to.
type move struct {
	rate float64
	q, r int
}

// moves returns the events of a state. Only the first, second or both have a rate.
func (p process) moves(q, r int) [2]move {
	if q == 0 && r == 0 {
		return [2]move{{rate: 1}}
	}
	var moves [2]move
	if q > 0 {
		moves[0] = move{1, q - 1, r}
	}
	if r > 0 {
		moves[1] = move{p.lambda * float64(r), min(q+1, p.k), r - 1}
	}
	return moves
}

// after returns the state that follows a landing under a policy.
func (p process) after(add policy, m move) int {
	if add[p.index(m.q, m.r)] {
		return p.index(m.q, m.r+1)
	}
	return p.index(m.q, m.r)
}

// cost returns the cost of a unit of time in a state, (1.13): starvation, and arrivals that find the queue full.
func (p process) cost(q, r int) float64 {
	switch q {
	case 0:
		return p.gamma
	case p.k:
		return p.lambda * float64(r)
	}
	return 0
}

// classes returns the closed classes of a policy's chain.
func (p process) classes(add policy) [][]int {
	return closedClasses(p.states(), func(i int, to []int) []int {
		q, r := p.state(i)
		for _, m := range p.moves(q, r) {
			if m.rate > 0 {
				to = append(to, p.after(add, m))
			}
		}
		return to
	})
}

// steer changes the policy where necessary, so that every state leads to the target. The chain communicates (Lemma
// 2): among the landings that do not lead there, one is always a single choice away from a state that does.
func (p process) steer(add policy, target int) policy {
	add = slices.Clone(add)
	leads := make([]bool, p.states())
	leads[target] = true
	for again := true; again; {
		again = false
		for i := range leads {
			q, r := p.state(i)
			for _, m := range p.moves(q, r) {
				if !leads[i] && m.rate > 0 && leads[p.after(add, m)] {
					leads[i], again = true, true
				}
			}
		}
		for i := 0; i < len(add) && !again; i++ {
			q, r := p.state(i)
			if p.optional(q, r) && !leads[p.after(add, move{1, q, r})] {
				add[i] = !add[i]
				again = leads[p.after(add, move{1, q, r})]
				if !again {
					add[i] = !add[i]
				}
			}
		}
	}
	return add
}
