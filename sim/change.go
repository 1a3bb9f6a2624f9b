package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"freshet/change"
)

// ProcessKind is a family of change processes.
type ProcessKind uint8

// The ways in which pages change.
const (
	Never    ProcessKind = iota
	Poisson              // at random, at Rate
	Periodic             // every Period
	Quasi                // at each Period with probability Probability
)

// String returns the kind's name in lower case.
func (k ProcessKind) String() string {
	switch k {
	case Never:
		return "never"
	case Poisson:
		return "poisson"
	case Periodic:
		return "periodic"
	case Quasi:
		return "quasi"
	}
	return fmt.Sprintf("process(%d)", uint8(k))
}

// Process is the random process by which the text of a page changes, from the start of the web on.
type Process struct {
	Kind        ProcessKind
	Rate        float64       // changes a day in the long run
	Period      time.Duration // of Periodic and Quasi: time between instants at which it may change
	Phase       time.Duration // of Periodic and Quasi: time from the start to the first such instant
	Probability float64       // of Quasi: of a change at such an instant

	seed uint64
}

const day = 24 * time.Hour

// NewProcess returns the change process of a page, drawn from the seed. A third of the pages never change, and a tenth
// change about every hour. Most others change every few days or weeks, and some at fixed times.
func NewProcess(seed uint64) Process {
	rng := rand.New(rand.NewPCG(seed, 0xc4a6e))
	p := Process{seed: seed}
	switch u := rng.Float64(); {
	case u < 0.35:
		p.Kind = Never
	case u < 0.75:
		p.Kind = Poisson
		p.Rate = min(max(0.1*math.Exp(1.5*rng.NormFloat64()), 1.0/365), 4)
	case u < 0.85:
		p.Kind, p.Rate = Poisson, 24
	default:
		periods := [...]time.Duration{6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day}
		p.Kind, p.Probability = Periodic, 1
		p.Period = periods[rng.IntN(len(periods))]
		p.Phase = time.Duration(1 + rng.Int64N(int64(p.Period)))
		if u > 0.95 {
			p.Kind, p.Probability = Quasi, 0.3+0.6*rng.Float64()
		}
		p.Rate = p.Probability * float64(day) / float64(p.Period)
	}
	return p
}

// Changes returns how often the text has changed in the given time since the web's start, and how long after the start
// the last change was: 0 if there was none. O(1) for Periodic, otherwise O(changes) at about 10 ns each.
func (p Process) Changes(elapsed time.Duration) (n int, last time.Duration) {
	if elapsed <= 0 {
		return 0, 0
	}
	switch p.Kind {
	case Poisson:
		return p.poisson(elapsed)
	case Periodic:
		if elapsed < p.Phase {
			return 0, 0
		}
		n = 1 + int((elapsed-p.Phase)/p.Period)
		return n, p.Phase + time.Duration(n-1)*p.Period
	case Quasi:
		return p.quasi(elapsed)
	}
	return 0, 0
}

// poisson is Changes of a Poisson process.
func (p Process) poisson(elapsed time.Duration) (n int, last time.Duration) {
	var source rand.PCG
	source.Seed(p.seed, 0x9015)
	for at := range change.Draw(change.Poisson(p.Rate/float64(day)), rand.New(&source), float64(elapsed)) {
		n, last = n+1, time.Duration(at)
	}
	return n, last
}

// quasi is Changes of a Quasi process.
func (p Process) quasi(elapsed time.Duration) (n int, last time.Duration) {
	var source rand.PCG
	source.Seed(p.seed, 0x4a51)
	r := change.Rhythm{Period: float64(p.Period), Phase: float64(p.Phase), Probability: p.Probability}
	for at := range r.Draw(rand.New(&source), 0, float64(elapsed)) {
		n, last = n+1, time.Duration(at)
	}
	return n, last
}
