package fleet

import (
	"fmt"
	"math"
	"slices"
)

// A Service is the shape of a distribution of service times: the mean is the unit of time. The zero value is
// exponential. It is a mixture of gamma distributions, with a fixed time as their limit. So the number of arrivals
// during a service is a mixture of negative binomial and Poisson numbers.
type Service struct {
	branches []branch // none: exponential
}

// A branch is a gamma distribution of a mixture.
type branch struct {
	weight float64 // its probability; the weights sum to 1
	mean   float64 // in units of the whole distribution's mean
	shape  float64 // 1 is exponential, +Inf a fixed time
}

// Exponential returns the exponential distribution, which the paper assumes.
func Exponential() Service { return Service{} }

// Deterministic returns the distribution of a fixed service time.
func Deterministic() Service { return Service{[]branch{{1, 1, math.Inf(1)}}} }

// Erlang returns the distribution of a sum of that many exponential stages, with squared coefficient of variation
// 1/stages. It returns an error unless stages is 1 or more.
func Erlang(stages int) (Service, error) {
	if stages < 1 {
		return Service{}, fmt.Errorf("fleet: erlang service of %d stages: want 1 or more", stages)
	}
	if stages == 1 {
		return Exponential(), nil
	}
	return Service{[]branch{{1, 1, float64(stages)}}}, nil
}

// Hyperexponential returns the mixture of two exponential distributions with that squared coefficient of variation and
// balanced means: each branch makes up half of the work. It returns an error unless variation is from 1, which is the
// exponential distribution, to 1e6.
func Hyperexponential(variation float64) (Service, error) {
	if !(variation >= 1 && variation <= 1e6) {
		return Service{}, fmt.Errorf("fleet: hyperexponential service of squared variation %v: want 1 to 1e6", variation)
	}
	if variation == 1 {
		return Exponential(), nil
	}
	root := math.Sqrt((variation - 1) / (variation + 1))
	often, seldom := (1+root)/2, 1/(variation+1)/(1+root) // (1−root)/2 without the difference
	return Service{[]branch{{often, 1 / (2 * often), 1}, {seldom, 1 / (2 * seldom), 1}}}, nil
}

// maxDistinct is how many different service times Empirical keeps apart.
const maxDistinct = 10_000

// Empirical returns the distribution of measured service times, each with the same probability, and their mean in the
// samples' own unit. If there are more than 10,000 samples, neighbours in size form 10,000 equal groups, each at its
// mean: the mean stays the same, and the variance falls by the variance within the groups. Empirical returns an error
// if there is no sample, if one is negative, infinite or NaN, or if all are 0. O(n log n).
func Empirical(samples []float64) (service Service, mean float64, err error) {
	var sum float64
	for i, x := range samples {
		if !(x >= 0) || math.IsInf(x, 1) {
			return Service{}, 0, fmt.Errorf("fleet: sample %d is %v: want a service time of 0 or more", i+1, x)
		}
		sum += x
	}
	mean = sum / float64(len(samples))
	if !(mean > 0) || math.IsInf(mean, 1) {
		return Service{}, 0, fmt.Errorf("fleet: %d samples with sum %v: want a positive, finite mean service time", len(samples), sum)
	}
	sorted := slices.Sorted(slices.Values(samples))
	groups := min(len(sorted), maxDistinct)
	for g := range groups {
		group := sorted[g*len(sorted)/groups : (g+1)*len(sorted)/groups]
		weight := float64(len(group)) / float64(len(sorted))
		var total float64
		for _, x := range group {
			total += x / mean
		}
		size := total / float64(len(group))
		if last := len(service.branches) - 1; last >= 0 && service.branches[last].mean == size {
			service.branches[last].weight += weight
			continue
		}
		service.branches = append(service.branches, branch{weight, size, math.Inf(1)})
	}
	return service, mean, nil
}

// Variation returns the squared coefficient of variation: 1 for the exponential distribution, 0 for a
// fixed time.
func (s Service) Variation() float64 {
	if s.exponential() {
		return 1
	}
	var square float64
	for _, b := range s.branches {
		square += b.weight * b.mean * b.mean * (1 + 1/b.shape)
	}
	return max(0, square-1)
}

func (s Service) exponential() bool { return len(s.branches) == 0 }

// arrivals is the distribution of A, the number of arrivals in one service.
type arrivals struct {
	none   float64   // P(A=0)
	more   []float64 // more[j] = P(A>j), j < K
	excess []float64 // excess[j] = E(A−j)⁺ = Σ_{i≥j} P(A>i), j ≤ K
	work   float64   // multiplications it took
}

// arrivals returns the number of arrivals in a service at load rho, up to a queue of k. Tails are sums of their
// terms, never 1 minus a sum near 1.
func (s Service) arrivals(rho float64, k int) arrivals {
	a := arrivals{more: make([]float64, k), excess: make([]float64, k+1)}
	branches := s.branches
	if s.exponential() {
		branches = []branch{{1, 1, 1}}
	}
	var terms []float64
	for _, b := range branches {
		mean := b.mean * rho
		switch {
		case b.shape == 1:
			a.addGeometric(b.weight, mean)
		case mean > 4*float64(k)+100:
			a.addBeyond(b.weight, mean, b.shape)
		default:
			terms = a.addTerms(terms[:0], b.weight, mean, b.shape)
		}
		a.work += float64(k + len(terms))
	}
	return a
}

// addGeometric adds a branch of exponential service: P(A>j) = q^(j+1), q = mean/(1+mean).
func (a *arrivals) addGeometric(weight, mean float64) {
	q := mean / (1 + mean)
	a.none += weight / (1 + mean)
	tail := weight
	for j := range a.more {
		a.excess[j] += tail * mean
		tail *= q
		a.more[j] += tail
	}
	a.excess[len(a.more)] += tail * mean
}

// ratio returns P(A=j+1)/P(A=j) of a gamma service: (shape+j)/(j+1) · mean/(shape+mean), which for a
// fixed time is the Poisson mean/(j+1).
func ratio(j int, mean, shape float64) float64 {
	return (1 + float64(j)/shape) / (1 + mean/shape) * mean / float64(j+1)
}

// addTerms adds a branch by its probabilities, computed from the largest outwards and scaled to sum
// to 1. It returns the buffer of terms for the next branch.
func (a *arrivals) addTerms(p []float64, weight, mean, shape float64) []float64 {
	mode := int(mean)
	p = slices.Grow(p, mode+64)[:mode+1]
	p[mode] = 1
	for j := mode; j > 0; j-- {
		p[j-1] = p[j] / ratio(j-1, mean, shape)
	}
	for j := mode; p[j] > 1e-60; j++ {
		p = append(p, p[j]*ratio(j, mean, shape))
	}
	var sum float64
	for _, term := range slices.Backward(p) { // the small ones first
		sum += term
	}
	scale := weight / sum
	a.none += p[0] * scale
	var tail, excess float64 // P(A>j), E(A−j)⁺
	for j := len(p) - 1; j >= 0; j-- {
		excess += tail
		if j < len(a.more) {
			a.more[j] += tail * scale
		}
		if j < len(a.excess) {
			a.excess[j] += excess * scale
		}
		tail += p[j]
	}
	return p
}

// addBeyond adds a branch with far more than K arrivals, by subtracting the terms up to K; the numbers differ enough
// here.
func (a *arrivals) addBeyond(weight, mean, shape float64) {
	p := math.Exp(-mean)
	if !math.IsInf(shape, 1) {
		p = math.Exp(-shape * math.Log1p(mean/shape))
	}
	a.none += weight * p
	upTo, excess := p, mean
	for j := range a.more {
		more := max(0, 1-upTo)
		a.more[j] += weight * more
		a.excess[j] += weight * excess
		excess -= more
		p *= ratio(j, mean, shape)
		upTo += p
	}
	a.excess[len(a.more)] += weight * excess
}
