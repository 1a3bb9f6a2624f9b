package change

import (
	"math"
	"slices"
)

// Packed is Evidence with one byte per rate: the logarithm of each likelihood relative to the greatest. The zero
// value has no visits.
type Packed [Rates]uint8

// perOctave is how many steps of a Packed halve a likelihood. Likelihoods below 2^-31 of the greatest become 0.
const perOctave = 8

// likelihoods are the values of the bytes of a Packed.
var likelihoods = func() (all [256]float32) {
	for i := range 255 {
		all[i] = float32(math.Exp2(-float64(i) / perOctave))
	}
	return all
}()

// Pack rounds the evidence. It rounds each likelihood up or down at random, with the nearer value more likely. So
// visits that each tell less than a step add up correctly. It draws from the seed. O(Rates).
func (e *Evidence) Pack(seed uint64) (p Packed) {
	top := math.Log2(float64(slices.Max(e[:])))
	for k, likelihood := range e {
		seed = seed*6364136223846793005 + 1442695040888963407
		chance := float64(seed>>33) / (1 << 31)
		p[k] = uint8(math.Min(255, perOctave*(top-math.Log2(float64(likelihood)))+chance))
	}
	return p
}

// Evidence returns the packed evidence, up to a common factor. O(Rates).
func (p *Packed) Evidence() (e Evidence) {
	for k := range p {
		e[k] = p.Likelihood(k)
	}
	return e
}

// Likelihood returns element k of the Evidence.
func (p *Packed) Likelihood(k int) float32 { return likelihoods[p[k]] }
