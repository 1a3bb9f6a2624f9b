package sequence

import (
	"fmt"
	"math"
)

// An AccessTime is the distribution of the time X that a visit takes.
type AccessTime interface {
	// Mean returns E[X] in seconds.
	Mean() float64
	// LogLaplace returns ln E[e^{−rate·X}] ≤ 0, for rate > 0 in 1/s.
	LogLaplace(rate float64) float64
}

// Constant is the distribution of a visit that always takes the same time, in seconds.
type Constant float64

// Mean returns E[X] in seconds.
func (c Constant) Mean() float64 { return float64(c) }

// LogLaplace returns −rate·E[X].
func (c Constant) LogLaplace(rate float64) float64 { return -rate * float64(c) }

// Erlang is the distribution of a sum of exponential stages. One stage is the exponential distribution.
type Erlang struct {
	Seconds float64 // mean of the sum
	Stages  int
}

// Mean returns E[X] in seconds.
func (e Erlang) Mean() float64 { return e.Seconds }

// LogLaplace returns −m·ln(1 + rate·E[X]/m) for m stages.
func (e Erlang) LogLaplace(rate float64) float64 {
	stages := float64(e.Stages)
	return -stages * math.Log1p(rate*e.Seconds/stages)
}

// Samples are measured durations of visits, all equally likely.
type Samples []float64

// Mean returns E[X] in seconds. O(n).
func (s Samples) Mean() float64 {
	var sum float64
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

// LogLaplace returns the logarithm of the mean of e^{−rate·x}. O(n).
func (s Samples) LogLaplace(rate float64) float64 {
	var sum float64
	for _, x := range s {
		sum += math.Expm1(-rate * x)
	}
	return math.Log1p(sum / float64(len(s)))
}

// validate returns an error if a distribution is invalid.
func validate(access AccessTime) error {
	if e, ok := access.(Erlang); ok && e.Stages < 1 {
		return fmt.Errorf("sequence: access time of %d stages: want 1 or more", e.Stages)
	}
	if s, ok := access.(Samples); ok {
		for i, x := range s {
			if !(x >= 0) {
				return fmt.Errorf("sequence: access time %d is %v s: want 0 or more", i+1, x)
			}
		}
	}
	if mean := access.Mean(); !(mean > 0) || math.IsInf(mean, 1) {
		return fmt.Errorf("sequence: mean access time %v s: want more than 0", mean)
	}
	return nil
}
