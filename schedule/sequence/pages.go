package sequence

import (
	"fmt"
	"math"
)

// Pages are the pages that one crawler visits.
type Pages struct {
	rates   []float64 // μ_i, 1/s
	costs   []float64 // c_i, cost per second out of date
	logs    []float64 // −ln h_i
	surplus []float64 // μ_i·E[X] + ln h_i ≥ 0: the cost of the variation of X
	access  float64   // E[X], s
	even    bool      // c_i = c₀·μ_i, where the paper's closed forms hold
}

// New returns pages of which page i changes rates[i] > 0 times per second and costs costs[i] ≥ 0 per second while out
// of date. If costs is nil, c_i is μ_i, and the cost counts changes not yet seen. New returns an error if there are no
// pages, the lengths differ, or a value is out of range.
func New(rates, costs []float64, access AccessTime) (*Pages, error) {
	if err := validate(access); err != nil {
		return nil, err
	}
	if len(rates) == 0 {
		return nil, fmt.Errorf("sequence: no pages")
	}
	p := &Pages{rates: rates, costs: costs, access: access.Mean(), even: costs == nil}
	if p.even {
		p.costs = rates
	}
	if len(p.costs) != len(rates) {
		return nil, fmt.Errorf("sequence: %d costs of %d pages", len(costs), len(rates))
	}
	p.logs, p.surplus = make([]float64, len(rates)), make([]float64, len(rates))
	for i, rate := range rates {
		if !(rate > 0) || math.IsInf(rate, 1) {
			return nil, fmt.Errorf("sequence: page %d changes at %v a second: want more than 0", i, rate)
		}
		if c := p.costs[i]; !(c >= 0) || math.IsInf(c, 1) {
			return nil, fmt.Errorf("sequence: page %d costs %v: want 0 or more", i, c)
		}
		p.logs[i] = -access.LogLaplace(rate)
		p.surplus[i] = max(0, rate*p.access-p.logs[i])
	}
	return p, nil
}

// Len returns the number of pages.
func (p *Pages) Len() int { return len(p.rates) }

// A spacing is a distance between two visits of a page, counted in visits of all pages, and the share of all visits
// that are followed by it.
type spacing struct {
	share float64
	after float64
}

// stale returns r_i, the long-run fraction of time that page i is out of date, for spacings with Σ share·after = 1.
// Without spacings it returns 1.
//
//	r_i = Σ share·(after·E[X] − (1 − h_i^after)/μ_i)/E[X]
//
// (Lemma 3), rearranged so that nothing cancels for pages that hardly change.
func (p *Pages) stale(i int, spacings ...spacing) float64 {
	if len(spacings) == 0 {
		return 1
	}
	sum := p.surplus[i]
	for _, s := range spacings {
		if s.share > 0 {
			sum += s.share * missed(s.after*p.logs[i])
		}
	}
	return sum / (p.rates[i] * p.access)
}

// missed returns y − (1 − e^{−y}): the expected number of changes beyond the first, if their number is Poisson with
// mean y.
func missed(y float64) float64 {
	if y < 1e-2 { // relative error < 1e-14: the next term is y⁵/2520 of the first
		return y * y * (1.0/2 - y*(1.0/6-y*(1.0/24-y*(1.0/120-y*(1.0/720-y/5040)))))
	}
	return y + math.Expm1(-y)
}

// Cost returns the exact cost C = Σ c_i·r_i, per second, of a cycle that repeats forever. A page that is not in the
// cycle is always out of date. Cost panics if the cycle has a page that p does not have. O(len(cycle) + pages).
func (p *Pages) Cost(cycle []int32) float64 {
	first := make([]int, p.Len())
	last := make([]int, p.Len())
	sums := make([]float64, p.Len())
	for at, page := range cycle {
		if last[page] == 0 {
			first[page] = at + 1
		} else {
			sums[page] += missed(float64(at+1-last[page]) * p.logs[page])
		}
		last[page] = at + 1
	}
	var cost float64
	for i := range p.rates {
		r := 1.0
		if last[i] > 0 {
			around := missed(float64(first[i]+len(cycle)-last[i]) * p.logs[i])
			r = (p.surplus[i] + (sums[i]+around)/float64(len(cycle))) / (p.rates[i] * p.access)
		}
		cost += p.costs[i] * r
	}
	return cost
}
