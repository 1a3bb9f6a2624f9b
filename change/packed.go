package change

import (
	"math"
	"slices"
)

// Packed is Evidence in a byte a rate: the logarithm of each likelihood beside the greatest. The zero value is that of
// no visits.
type Packed [Rates]uint8

// perOctave is how many steps of a Packed halve a likelihood. What is less than 2^-31 of the greatest becomes 0.
const perOctave = 8

// likelihoods are what the bytes of a Packed stand for.
var likelihoods = func() (all [256]float32) {
	for i := range 255 {
		all[i] = float32(math.Exp2(-float64(i) / perOctave))
	}
	return all
}()

// Pack rounds the evidence. Each likelihood goes up or down by chance, up the more often the nearer that is: many
// visits that each tell less than a step tell together what they should. The chance is drawn from the seed. O(Rates).
func (e *Evidence) Pack(seed uint64) (p Packed) {
	top := math.Log2(float64(slices.Max(e[:])))
	for k, likelihood := range e {
		seed = seed*6364136223846793005 + 1442695040888963407
		chance := float64(seed>>33) / (1 << 31)
		p[k] = uint8(math.Min(255, perOctave*(top-math.Log2(float64(likelihood)))+chance))
	}
	return p
}

// Evidence returns what was packed, in proportion. O(Rates).
func (p *Packed) Evidence() (e Evidence) {
	for k, steps := range p {
		e[k] = likelihoods[steps]
	}
	return e
}
