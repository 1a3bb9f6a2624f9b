package fleet

import "slices"

// An evaluation is the long-run result of a policy whose states all lead to one.
type evaluation struct {
	average float64   // θ, per mean service time
	value   []float64 // relative value of each state, 0 in the reference
	share   []float64 // stationary probability of each state
}

// evaluate eliminates the states of a policy's chain one by one, the reference last: what remains is the chain
// observed only in the states left, with the costs and times of the excursions between them (Grassmann, Taksar and
// Heyman 1985). At the end there is one state, and θ is the cost of a cycle divided by its length. The way back gives
// the values and the probabilities. Only θ itself is subtracted, so the smallest probability keeps its digits.
//
// The chain is a band as wide as the shorter of queue and fleet. O(states · width²) time,
// O(states · width) memory.
//
// If a state leads to the reference with a probability below the range of float64, it is returned as stuck, and there
// is no evaluation. Else stuck is -1. The chain is built in c and replaces its content.
func (p process) evaluate(c *chain, add policy, reference int) (e evaluation, stuck int) {
	p.chain(c, add, reference)
	for k := range c.states {
		if k != reference && !c.eliminate(k) {
			return evaluation{}, k
		}
	}
	return c.goBack(), -1
}

// chain is a policy's chain, from which states are being eliminated.
type chain struct {
	states, width, reference int

	band  []float64 // rate from i to j, both but the reference, see at
	to    []float64 // rate from each state to the reference
	from  []float64 // rate from the reference to each state
	cost  []float64 // of the state and of the excursions to eliminated states
	spent []float64 // time, of the state and of the same excursions
	out   []float64 // rate out of a state when it is eliminated
}

// at returns the index in the band of the rate from i to j; those to the states after j follow it.
func (c *chain) at(i, j int) int { return i*(2*c.width+1) + c.width + j - i }

// last returns the last state that k leads to directly, apart from the reference.
func (c *chain) last(k int) int { return min(c.states-1, k+c.width) }

// chain makes c the chain of a policy.
func (p process) chain(c *chain, add policy, reference int) {
	n, h := p.states(), p.width()
	c.states, c.width, c.reference = n, h, reference
	for _, row := range []*[]float64{&c.to, &c.from, &c.cost, &c.spent, &c.out} {
		*row = zeros(*row, n)
	}
	c.band = zeros(c.band, n*(2*h+1))
	for i := range n {
		q, r := p.state(i)
		c.cost[i], c.spent[i] = p.cost(q, r), 1
		for _, m := range p.moves(q, r) {
			if m.rate == 0 {
				continue
			}
			switch j := p.after(add, m); {
			case j == i:
			case j == reference:
				c.to[i] += m.rate
			case i == reference:
				c.from[j] += m.rate
			default:
				c.band[c.at(i, j)] += m.rate
			}
		}
	}
}

// zeros returns n zeros, in room if that is large enough.
func zeros(room []float64, n int) []float64 {
	room = slices.Grow(room[:0], n)[:n]
	clear(room)
	return room
}

// eliminate removes state k from the chain, unless it leads nowhere. All states before it but the reference are
// removed already.
func (c *chain) eliminate(k int) bool {
	last := c.last(k)
	ahead := c.band[c.at(k, k+1):][:last-k] // rates from k to k+1 … last
	c.out[k] = c.to[k]
	for _, rate := range ahead {
		c.out[k] += rate
	}
	if c.out[k] == 0 {
		return false
	}
	for i := k + 1; i <= last; i++ {
		rate := c.band[c.at(i, k)]
		if rate == 0 {
			continue
		}
		rate /= c.out[k]
		target := c.band[c.at(i, k+1):][:len(ahead)]
		for j, next := range ahead {
			target[j] += rate * next
		}
		c.to[i] += rate * c.to[k]
		c.cost[i] += rate * c.cost[k]
		c.spent[i] += rate * c.spent[k]
	}
	if c.from[k] > 0 {
		rate := c.from[k] / c.out[k]
		for j, next := range ahead {
			c.from[k+1+j] += rate * next
		}
		c.cost[c.reference] += rate * c.cost[k]
		c.spent[c.reference] += rate * c.spent[k]
	}
	return true
}

// goBack evaluates the chain when only the reference is left, by the states in the opposite order.
func (c *chain) goBack() evaluation {
	e := evaluation{average: c.cost[c.reference] / c.spent[c.reference], value: make([]float64, c.states), share: make([]float64, c.states)}
	e.share[c.reference] = 1
	sum := 1.0
	for k := c.states - 1; k >= 0; k-- {
		if k == c.reference {
			continue
		}
		value, share := c.cost[k]-e.average*c.spent[k], c.from[k]*e.share[c.reference]
		for j := k + 1; j <= c.last(k); j++ {
			value += c.band[c.at(k, j)] * e.value[j]
			if j != c.reference {
				share += c.band[c.at(j, k)] * e.share[j]
			}
		}
		e.value[k], e.share[k] = value/c.out[k], share/c.out[k]
		sum += e.share[k]
		if sum > 1e200 {
			sum *= 1e-200
			e.scale(c.reference, k, 1e-200)
		}
	}
	for k := range e.share {
		e.share[k] /= sum
	}
	return e
}

// scale multiplies the probabilities of the reference and of the states from k on.
func (e *evaluation) scale(reference, k int, factor float64) {
	for j := k; j < len(e.share); j++ {
		e.share[j] *= factor
	}
	if reference < k {
		e.share[reference] *= factor
	}
}
