package fleet

// An evaluation is what a policy comes to in the long run, if all its states lead to one.
type evaluation struct {
	average float64   // θ, per mean service time
	value   []float64 // relative value of each state, 0 in the reference
	share   []float64 // stationary probability of each state
}

// evaluate eliminates the states of a policy's chain one by one, the reference last: what remains is
// the chain watched only in the states that are left, with the costs and times of the excursions
// between them (Grassmann, Taksar and Heyman 1985). At the end there is one state, and the cost of a
// cycle over its length is θ. Going back gives the values one way and the probabilities the other.
// Nothing is subtracted but θ itself, so that the smallest probability keeps its digits.
//
// The chain is a band as wide as the shorter of queue and fleet. O(states · width²) time,
// O(states · width) memory.
//
// A state that leads to the reference with a probability below the range of float64 is returned as
// stuck, and there is no evaluation. Else stuck is -1.
func (p process) evaluate(add policy, reference int) (e evaluation, stuck int) {
	n, h := p.states(), p.width()
	row := 2*h + 1
	band := make([]float64, n*row) // rate from i to j in band[i*row+h+j−i]
	var (
		to    = make([]float64, n) // rate from each state to the reference
		from  = make([]float64, n) // rate from the reference to each state
		cost  = make([]float64, n) // of the state and of the excursions to what is eliminated
		spent = make([]float64, n) // time, likewise
		out   = make([]float64, n) // rate at which a state is left, as it is eliminated
	)
	for i := range n {
		q, r := p.state(i)
		cost[i], spent[i] = p.cost(q, r), 1
		for _, m := range p.moves(q, r) {
			if m.rate == 0 {
				continue
			}
			switch j := p.after(add, m); {
			case j == i:
			case j == reference:
				to[i] += m.rate
			case i == reference:
				from[j] += m.rate
			default:
				band[i*row+h+j-i] += m.rate
			}
		}
	}
	for k := range n {
		if k == reference {
			continue
		}
		last := min(n-1, k+h)
		ahead := band[k*row+h+1 : k*row+h+1+last-k] // rates from k to k+1 … last
		out[k] = to[k]
		for _, rate := range ahead {
			out[k] += rate
		}
		if out[k] == 0 {
			return evaluation{}, k
		}
		for i := k + 1; i <= last; i++ {
			rate := band[i*row+h+k-i]
			if rate == 0 {
				continue
			}
			rate /= out[k]
			target := band[i*row+h+k+1-i:][:len(ahead)]
			for j, next := range ahead {
				target[j] += rate * next
			}
			to[i] += rate * to[k]
			cost[i] += rate * cost[k]
			spent[i] += rate * spent[k]
		}
		if from[k] > 0 {
			rate := from[k] / out[k]
			for j, next := range ahead {
				from[k+1+j] += rate * next
			}
			cost[reference] += rate * cost[k]
			spent[reference] += rate * spent[k]
		}
	}
	e = evaluation{average: cost[reference] / spent[reference], value: make([]float64, n), share: make([]float64, n)}
	e.share[reference] = 1
	sum := 1.0
	for k := n - 1; k >= 0; k-- {
		if k == reference {
			continue
		}
		value, share := cost[k]-e.average*spent[k], from[k]*e.share[reference]
		for j := k + 1; j <= min(n-1, k+h); j++ {
			value += band[k*row+h+j-k] * e.value[j]
			if j != reference {
				share += band[j*row+h+k-j] * e.share[j]
			}
		}
		e.value[k], e.share[k] = value/out[k], share/out[k]
		sum += e.share[k]
		if sum > 1e200 {
			sum *= 1e-200
			e.share[reference] *= 1e-200
			for j := k; j < n; j++ {
				if j != reference {
					e.share[j] *= 1e-200
				}
			}
		}
	}
	for k := range e.share {
		e.share[k] /= sum
	}
	return e, -1
}
