package change

import (
	"iter"
	"math/rand/v2"
)

// A Renewal is a Process whose changes can be drawn. It is in equilibrium at time 0.
type Renewal interface {
	Process
	// First draws the time from 0 to the first change, in seconds.
	First(rng *rand.Rand) float64
	// Gap draws the time between two changes, in seconds.
	Gap(rng *rand.Rand) float64
}

// Draw draws the times of a page's changes, in seconds, strictly rising from 0 to until.
func Draw(p Renewal, rng *rand.Rand, until float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		last := 0.0
		for at := p.First(rng); at <= until; at += p.Gap(rng) {
			if at > last && !yield(at) {
				return
			}
			last = at
		}
	}
}
