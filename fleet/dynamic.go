package fleet

import (
	"fmt"
	"math"
)

// A Dynamic is the optimal way to switch fetchers on and off, and its long-run averages. Service is exponential.
type Dynamic struct {
	Fetchers   int     // N: those available or, without a limit, as many as are ever useful
	Cost       float64 // θ, the least long-run average cost, γ·Starvation + Loss
	Gap        float64 // the true θ is below Cost by at most this
	Starvation float64 // share of time in which the queue is empty
	Loss       float64 // pages lost per unit time because the queue is full
	MeanActive float64 // N̄, the long-run average number active
	// MinActive and MaxActive are the least and the greatest number of fetchers that are active again and again,
	// however seldom.
	MinActive, MaxActive int
	// MostAtEmpty is r_max, the largest number active at which a departure that empties the queue
	// still turns one more on. The paper prints it as N_max. The process need not get there.
	MostAtEmpty int
	// Departure is the switching curve f₀: with r < N active, a departure turns one more on if the
	// queue was at most Departure[r] before it; 0 for never.
	Departure []int
	// Arrival is the switching curve f₁: with r = 1…N active, a fetcher that has brought a page goes
	// on if the queue was at most Arrival[r-1] before it; -1 for never.
	Arrival []int
	// Monotone reports whether the policy is what these two curves say and both fall as r grows, as
	// the paper conjectures. Choices that cost the same to within rounding may fall either way.
	Monotone bool
	// Iterations is the rounds of policy iteration.
	Iterations int
}

// The largest problems that are tried: memory of an evaluation, its multiplications, and the length of the curves in
// fetchers.
const (
	maxCells     = 6e7
	maxEliminate = 2e9
	maxAvailable = 1_000_000
)

// Dynamic returns the optimal policy for n available fetchers, or for any number if n is 0, by policy iteration. The
// answer is exact except for rounding; Gap proves it. A round takes time proportional to K·N·min(K,N)², and there are
// about 4 to 8.
//
// It returns an error if the model is invalid, if n is negative or above a million, or, with ErrTooLarge, if the
// problem would take more than half a minute or half a gigabyte.
func (m Model) Dynamic(n int) (Dynamic, error) {
	return m.dynamic(n, process.iterate)
}

// dynamic solves for n fetchers, or for as many as are useful. If more are available than the policy turns on in any
// state, further ones change nothing.
func (m Model) dynamic(n int, solve func(p process, fixed int) (solution, error)) (Dynamic, error) {
	fixed, err := m.Best(Exponential())
	if err != nil {
		return Dynamic{}, err
	}
	if n < 0 || n > maxAvailable {
		return Dynamic{}, fmt.Errorf("fleet: %d fetchers: want 0, for any number, to %d", n, maxAvailable)
	}
	lambda, gamma := m.scaled()
	for trial := 1.5*float64(fixed.Fetchers) + 25; ; trial *= 2 {
		if n > 0 {
			trial = min(trial, float64(n))
		}
		if err := m.manageable(trial); err != nil {
			return Dynamic{}, err
		}
		p := process{lambda: lambda, gamma: gamma, k: m.Queue, n: int(trial)}
		s, err := solve(p, fixed.Fetchers)
		if err != nil {
			return Dynamic{}, err
		}
		enough := s.mostAtEmpty() + 1
		if p.n == n || enough < p.n {
			if n == 0 {
				n = enough
			}
			return m.describe(&s, n), nil
		}
	}
}

// manageable returns an error if the process is too large.
func (m Model) manageable(n float64) error {
	states := (float64(m.Queue) + 1) * (n + 1)
	width := min(float64(m.Queue), n) + 1
	if states*(2*width+1) > maxCells || states*width*width > maxEliminate {
		return fmt.Errorf("fleet: queue %d with %.0f fetchers: %w: %.3g states in bands of %.0f", m.Queue, n, ErrTooLarge, states, 2*width+1)
	}
	return nil
}

// mostAtEmpty returns max{r : D(0,r) < 0}; in (0,0) a fetcher is always turned on.
func (s *solution) mostAtEmpty() int {
	most := 0
	for r := range s.n {
		if s.add[s.index(0, r)] {
			most = r
		}
	}
	return most
}

// describe returns a solution in the model's own units, with curves for n fetchers.
func (m Model) describe(s *solution, n int) Dynamic {
	d := Dynamic{
		Fetchers: n, Cost: s.average * m.ServiceRate, Gap: s.gap * m.ServiceRate,
		MinActive: s.n, MostAtEmpty: s.mostAtEmpty(),
		Monotone: s.monotone(), Iterations: s.rounds,
	}
	for _, i := range s.recurrent {
		q, r := s.state(i)
		d.MinActive, d.MaxActive = min(d.MinActive, r), max(d.MaxActive, r)
		d.MeanActive += s.share[i] * float64(r)
		switch q {
		case 0:
			d.Starvation += s.share[i]
		case s.k:
			d.Loss += s.share[i] * float64(r) * m.ArrivalRate
		}
	}
	d.Departure, d.Arrival = make([]int, n), make([]int, n)
	for r := range n {
		d.Arrival[r] = -1
		if r >= s.n { // never reached, and none is turned on
			continue
		}
		for q := range s.k + 1 {
			if s.add[s.index(min(q+1, s.k), r)] {
				d.Arrival[r] = q
			}
			if q > 0 && s.add[s.index(q-1, r)] {
				d.Departure[r] = q
			}
		}
	}
	return d
}

// monotone reports whether no choice to turn one on comes after a choice not to, as q or r grows.
func (s *solution) monotone() bool {
	refused := make([]bool, s.k+1) // by any smaller r, at each q
	for r := range s.n {
		below := false // refused at any smaller q
		for q := range refused {
			if !s.optional(q, r) {
				continue
			}
			gain, rounding := s.gain(s.value, q, r)
			if gain < -rounding && (below || refused[q]) {
				return false
			}
			if gain > rounding {
				below, refused[q] = true, true
			}
		}
	}
	return true
}

// Rest returns the number of fetchers at which the curves rest with this queue and k places: with one fetcher fewer,
// one is turned on; with this number, none is. It falls as the queue grows.
func (d Dynamic) Rest(queue, k int) int {
	n := 0
	for n < d.Fetchers && (queue < d.Departure[n] || d.Arrival[n] == k) {
		n++
	}
	return n
}

// Improvement returns how much more expensive a fixed number of fetchers is: (C_s−C_d)/C_d of Tables 1.2 and
// 1.3, as a fraction of the dynamic cost.
func (d Dynamic) Improvement(fixed Static) float64 {
	if d.Cost == 0 {
		return math.Inf(1)
	}
	return (fixed.Cost - d.Cost) / d.Cost
}
