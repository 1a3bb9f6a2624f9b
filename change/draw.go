package change

import (
	"iter"
	"math/rand/v2"
)

// A Renewal is a Process whose changes can be drawn from time 0 on, at which it is in equilibrium.
type Renewal interface {
	Process
	// First draws the seconds to the first change.
	First(rng *rand.Rand) float64
	// Gap draws the seconds between two changes.
	Gap(rng *rand.Rand) float64
}

// Draw draws the changes of a page from time 0 up to a time in seconds, rising strictly.
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
