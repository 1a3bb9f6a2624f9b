package fleet

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooLarge is the wrapped error of a call that would take more than half a minute or half a gigabyte: the queue or
// the fleet is far too large for the exact methods.
var ErrTooLarge = errors.New("too large to solve exactly")

// A Model is the paper's search engine: fetchers that bring pages to a queue of bounded length, and
// one server that processes them. Only ratios of the three rates matter, so any unit of time will do
// as long as it is the same for all.
type Model struct {
	ArrivalRate float64 // λ: pages a second that one active fetcher brings, a Poisson process
	ServiceRate float64 // μ: pages a second that the processing takes when it is never idle
	Queue       int     // K: the most pages in the queue, including the one in service, at least 2
	Gamma       float64 // γ: cost of a second of starvation; a lost page costs 1
}

// Ratios of rates beyond these count as mistakes. Within them no number of fetchers and no probability that matters
// leaves the range of float64.
const (
	minRatio = 1e-9
	maxRatio = 1e9
)

// maxQueue is the longest queue: beyond it, half a queue and half a page cannot be told apart with
// the digits that the optimal load needs.
const maxQueue = 1_000_000_000_000

// Validate returns all faults of the model joined, or nil: rates and γ must be positive and within a
// factor of 1e9 of the service rate, and the queue from 2 to 10¹².
func (m Model) Validate() error {
	var faults []error
	rates := []struct {
		name  string
		value float64
	}{{"arrival rate", m.ArrivalRate}, {"service rate", m.ServiceRate}, {"gamma", m.Gamma}}
	for _, rate := range rates {
		if !(rate.value > 0) || math.IsInf(rate.value, 1) {
			faults = append(faults, fmt.Errorf("fleet: %s %v: want a positive number", rate.name, rate.value))
		}
	}
	if faults == nil {
		for _, rate := range rates {
			if ratio := rate.value / m.ServiceRate; !(ratio >= minRatio && ratio <= maxRatio) {
				faults = append(faults, fmt.Errorf("fleet: %s %v is %.3g times the service rate %v: want %g to %g times",
					rate.name, rate.value, ratio, m.ServiceRate, minRatio, maxRatio))
			}
		}
	}
	if m.Queue < 2 || m.Queue > maxQueue {
		faults = append(faults, fmt.Errorf("fleet: queue %d: want 2 to %d", m.Queue, maxQueue))
	}
	return errors.Join(faults...)
}

// scaled returns the model in units of the mean service time: λ/μ, γ/μ. A cost in these units times
// μ is the cost.
func (m Model) scaled() (lambda, gamma float64) {
	return m.ArrivalRate / m.ServiceRate, m.Gamma / m.ServiceRate
}
