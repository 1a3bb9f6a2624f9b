package change

import "math"

// Rates is the number of rates in the grid.
const Rates = 20

// slowest is the lowest rate of the grid, in changes per second: one change in 4096 days.
const slowest = 1.0 / 4096 / 86400

// GridRate returns rate k of the grid, 0 ≤ k < Rates, in changes per second: 2^k changes in 4096 days. The grid reaches
// from one change in eleven years to 128 a day.
func GridRate(k int) float64 { return slowest * float64(uint64(1)<<k) }

// A Belief is a distribution over the rates of the grid: for each rate a number proportional to the probability that
// a page changes at that rate. Only the proportions matter.
type Belief [Rates]float32

// Shape returns the belief that falls by a factor of 2^power for each step away from rate k.
func Shape(k int, power float64) Belief {
	var b Belief
	for j := range b {
		b[j] = float32(math.Exp2(-power * math.Abs(float64(j-k))))
	}
	return b
}

// Evidence is what the visits of a page say about its rate: for each rate of the grid the likelihood of the visits,
// relative to the prior's expectation. The posterior is prior × evidence. The zero value is not ready for use;
// NewEvidence is that of a page without a visit.
//
// Evidence combines visits at any distance. A visit shows whether the page has changed since the one before (likelihood
// 1-e^-dt or e^-dt), or when it last changed. The rates of the grid double, so one exponential and squarings give all
// likelihoods.
type Evidence [Rates]float32

// NewEvidence returns the evidence of no visits: 1 for every rate.
func NewEvidence() Evidence {
	var e Evidence
	for k := range e {
		e[k] = 1
	}
	return e
}

// Visit adds a visit, length seconds after the one before, that saw a change or none. Shared is the expected number
// of shared changes in that time, 0 if none: a change that they explain says little about the page itself. O(Rates).
func (e *Evidence) Visit(length, shared float64, changed bool) {
	q, s := math.Exp(-slowest*length), math.Exp(-shared)
	if changed && shared == 0 {
		for k := range e { // 1 - e^-dt without cancellation
			e[k] *= float32(-math.Expm1(-GridRate(k) * length))
		}
		return
	}
	for k := range e {
		unchanged := q * s
		if changed {
			e[k] *= float32(1 - unchanged)
		} else {
			e[k] *= float32(unchanged)
		}
		q *= q
	}
}

// Scale divides the evidence by the prior's expectation, so that its mean under the prior is 1. Then it mixes it with
// 1 in the proportion forget, 0 to 1, because the page may behave differently now. Evidence that no rate explains
// becomes 1. O(Rates).
func (e *Evidence) Scale(prior *Belief, forget float64) {
	sum, mass := 0.0, 0.0
	for k, p := range prior {
		sum += float64(p) * float64(e[k])
		mass += float64(p)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		*e = NewEvidence()
		return
	}
	keep := (1 - forget) * mass / sum
	for k := range e {
		e[k] = float32(math.Min(keep*float64(e[k])+forget, math.MaxFloat32))
	}
}

// Posterior returns prior × evidence with sum 1. O(Rates).
func (e *Evidence) Posterior(prior *Belief) Belief {
	var b Belief
	sum := 0.0
	for k, p := range prior {
		sum += float64(p) * float64(e[k])
	}
	if !(sum > 0) {
		return *prior
	}
	for k, p := range prior {
		b[k] = float32(float64(p) * float64(e[k]) / sum)
	}
	return b
}

// Mean returns the mean rate, in changes a second.
func (b *Belief) Mean() float64 {
	sum, mass := 0.0, 0.0
	for k, p := range b {
		sum += float64(p) * GridRate(k)
		mass += float64(p)
	}
	return sum / mass
}

// GeometricMean returns e to the mean of the logarithm of the rate, in changes a second. After one change in a long
// time the mean depends mostly on the fastest rates of the grid; the geometric mean hardly does.
func (b *Belief) GeometricMean() float64 {
	sum, mass := 0.0, 0.0
	for k, p := range b {
		sum += float64(p) * float64(k)
		mass += float64(p)
	}
	return slowest * math.Exp2(sum/mass)
}

// Unchanged returns the probability that the page does not change in length seconds.
func (b *Belief) Unchanged(length float64) float64 {
	q := math.Exp(-slowest * length)
	sum, mass := 0.0, 0.0
	for _, p := range b {
		sum += float64(p) * q
		mass += float64(p)
		q *= q
	}
	return sum / mass
}

// Add adds w times another belief to b.
func (b *Belief) Add(other *Belief, w float64) {
	for k := range b {
		b[k] += float32(w * float64(other[k]))
	}
}

// Normalise makes the sum 1.
func (b *Belief) Normalise() {
	sum := 0.0
	for _, p := range b {
		sum += float64(p)
	}
	for k := range b {
		b[k] = float32(float64(b[k]) / sum)
	}
}
