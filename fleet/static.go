package fleet

import (
	"fmt"
	"math"
)

// A Static is the long-run result of a fixed number of fetchers.
type Static struct {
	Fetchers   int     // N, all of them active at all times
	Load       float64 // ρ = Nλ/μ
	Starvation float64 // P(X=0), the share of time in which the queue is empty
	Loss       float64 // pages lost per unit time because the queue is full, ρμP(X=K)
	Cost       float64 // γ·Starvation + Loss, (1.2)
}

// maxFetchers is the most fetchers that Fixed takes: all integers up to it are exact in float64.
const maxFetchers = 1 << 53

// Fixed returns the long-run cost of n fetchers that are always active, for that distribution of service times, with
// its mean 1/μ. With exponential service it is the closed form of (1.3) and (1.4), good to twelve digits for every load
// and any probability above 1e-300; else the embedded chain of the M/G/1/K queue, O(K²) at most.
//
// It returns an error if the model is invalid, if n is below 1 or above 2⁵³, or, with ErrTooLarge, if a queue of other
// than exponential service is longer than 20,000.
func (m Model) Fixed(n int, service Service) (Static, error) {
	if err := m.Validate(); err != nil {
		return Static{}, err
	}
	if n < 1 || n > maxFetchers {
		return Static{}, fmt.Errorf("fleet: %d fetchers: want 1 to %d", n, maxFetchers)
	}
	if err := m.fits(service); err != nil {
		return Static{}, err
	}
	fixed, _ := m.fixed(n, service)
	return fixed, nil
}

// maxGeneralQueue is the longest queue of other than exponential service.
const maxGeneralQueue = 20_000

func (m Model) fits(service Service) error {
	if !service.exponential() && m.Queue > maxGeneralQueue {
		return fmt.Errorf("fleet: queue %d: %w: with other than exponential service want at most %d", m.Queue, ErrTooLarge, maxGeneralQueue)
	}
	return nil
}

// fixed is Fixed after the checks; work counts the multiplications.
func (m Model) fixed(n int, service Service) (fixed Static, work float64) {
	rho := float64(n) * m.ArrivalRate / m.ServiceRate
	var empty, full float64
	if service.exponential() {
		empty, full, work = emptyProbability(rho, m.Queue), fullProbability(rho, m.Queue), 1
	} else {
		empty, full, work = service.general(rho, m.Queue)
	}
	loss := rho * m.ServiceRate * full
	return Static{Fetchers: n, Load: rho, Starvation: empty, Loss: loss, Cost: m.Gamma*empty + loss}, work
}

// tie is the relative difference below which two costs are the same.
const tie = 1e-12

// better reports whether s is better than t: it costs less, or the same with fewer fetchers.
func (s Static) better(t Static) bool {
	if math.Abs(s.Cost-t.Cost) <= tie*t.Cost {
		return s.Fetchers < t.Fetchers
	}
	return s.Cost < t.Cost
}

// Best returns the number of fetchers N(γ,K) whose fixed cost is least, at least 1, and its cost; among numbers that
// cost the same to within 1e-12 the smallest. With exponential service it is Proposition 1: the better of ρ(γ,K)μ/λ
// rounded down and rounded up, O(1). Otherwise it is found by branch and bound, which does not assume a single minimum.
//
// It returns an error if the model is invalid, or, with ErrTooLarge, if a general service would take too long.
func (m Model) Best(service Service) (Static, error) {
	if err := m.Validate(); err != nil {
		return Static{}, err
	}
	if err := m.fits(service); err != nil {
		return Static{}, err
	}
	lambda, gamma := m.scaled()
	ideal := optimalLoad(gamma, m.Queue) / lambda
	best, _ := m.fixed(max(1, int(math.Floor(ideal))), service)
	above, _ := m.fixed(max(1, int(math.Ceil(ideal))), service)
	if above.better(best) {
		best = above
	}
	if service.exponential() {
		return best, nil
	}
	return m.search(best, service)
}

// maxWork bounds the multiplications of a search, and of a policy iteration: half a minute at most.
const maxWork = 2e10

// search returns the best number of fetchers for any service, from a first guess, by branch and bound. More arrivals
// leave the queue empty less often, and for every service
//
//	C = (γ+μ) P(X=0) + μ(ρ−1)
//
// so of the numbers between low and high none costs less than (γ+μ) P(X=0 at high) + μ(ρ(low)−1). From
// P(X=0) ≥ max(0, 1−ρ) there follow C ≥ γ(1−ρ) and C ≥ μ(ρ−1), which bound the search at both ends.
func (m Model) search(best Static, service Service) (Static, error) {
	lambda, gamma := m.scaled()
	ceiling := best.Cost / m.ServiceRate
	low := max(1, int(math.Ceil((1-ceiling/gamma)/lambda)))
	high := max(low, int(math.Floor((1+ceiling)/lambda)))
	var work float64
	evaluate := func(n int) Static {
		fixed, w := m.fixed(n, service)
		work += w + 1
		if fixed.better(best) {
			best = fixed
		}
		return fixed
	}
	// cheapest is the least that a number strictly between two can cost.
	cheapest := func(low, high Static) float64 {
		return (m.Gamma+m.ServiceRate)*high.Starvation + m.ServiceRate*(low.Load+lambda-1)
	}
	var between func(low, high Static)
	between = func(low, high Static) {
		if high.Fetchers-low.Fetchers < 2 || work > maxWork || cheapest(low, high) > best.Cost {
			return
		}
		middle := evaluate(low.Fetchers + (high.Fetchers-low.Fetchers)/2)
		if cheapest(low, middle) < cheapest(middle, high) {
			between(low, middle)
			between(middle, high)
		} else {
			between(middle, high)
			between(low, middle)
		}
	}
	between(evaluate(low), evaluate(high))
	if work > maxWork {
		return Static{}, fmt.Errorf("fleet: queue %d with up to %d fetchers: %w", m.Queue, high, ErrTooLarge)
	}
	return best, nil
}

// LargeQueue returns the number of fetchers that is best as K grows forever, (1.12): μ/λ rounded up or down,
// whichever has the lower limit cost, γ(1−ρ) below load 1 and μ(ρ−1) above it; up if they tie. The model's queue has
// no effect but must be valid.
func (m Model) LargeQueue() (int, error) {
	if err := m.Validate(); err != nil {
		return 0, err
	}
	lambda, gamma := m.scaled()
	down := math.Floor(1 / lambda * (1 + tie)) // 0.3/0.1 is 3
	up := math.Ceil(1 / lambda * (1 - tie))
	if down < 1 || up*lambda-1 <= gamma*(1-down*lambda)+tie {
		return int(up), nil
	}
	return int(down), nil
}
