package wolf

import (
	"math"

	"freshet/change"
)

// A law is how a page changes.
type law int8

const (
	poisson law = iota
	pareto
	quasi
)

// recipes are the mixtures of Figure 8. Each gives the laws of ten consecutive pages.
var recipes = map[string][10]law{
	"mixed":   {6: pareto, pareto, pareto, quasi},
	"poisson": {},
	"pareto":  {pareto, pareto, pareto, pareto, pareto, pareto, pareto, pareto, pareto, pareto},
	"quasi":   {quasi, quasi, quasi, quasi, quasi, quasi, quasi, quasi, quasi, quasi},
}

// pages holds the pages of a mixture over an interval of 1. It is not for concurrent use.
type pages struct {
	recipe [10]law
	rates  []float64 // changes an interval
	shape  float64   // of the Pareto pages
	quasi  map[int]*change.Quasi

	// The process that process returned last. It is kept here so that process allocates nothing.
	poisson change.Poisson
	pareto  change.Pareto
}

// newPages returns n pages of a mixture, of Zipf exponent theta and Pareto shape.
func newPages(n int, mixture string, theta, shape float64) (*pages, error) {
	p := &pages{recipe: recipes[mixture], rates: make([]float64, n), shape: shape, quasi: map[int]*change.Quasi{}}
	sum := 0.0
	for i := range n {
		p.rates[i] = math.Pow(float64(i+1), theta-1)
		sum += p.rates[i]
	}
	for i := range n {
		p.rates[i] *= 1.5 * float64(n) / sum
		if p.recipe[i%10] != quasi {
			continue
		}
		page, err := newQuasi(p.rates[i])
		if err != nil {
			return nil, err
		}
		p.quasi[i] = page
	}
	return p, nil
}

// quasiInstants returns the number of instants an interval of a quasi-deterministic page with this rate.
func quasiInstants(rate float64) float64 { return max(1, min(48, math.Ceil(2*rate))) }

// newQuasi returns the quasi-deterministic page of a rate. It has ⌈2 rate⌉ instants, 1 to 48, in the middles of equal
// parts of the interval, with equal probabilities.
func newQuasi(rate float64) (*change.Quasi, error) {
	n := int(quasiInstants(rate))
	times, probabilities := make([]float64, n), make([]float64, n)
	for j := range n {
		times[j] = (float64(j) + 0.5) / float64(n)
		probabilities[j] = min(1, rate/float64(n))
	}
	return change.NewQuasi(times, probabilities, 1, 0)
}

// own returns the process of page i. Unlike that of process, it stays valid.
func (p *pages) own(i int) change.Process {
	if pareto, ok := p.process(i).(*change.Pareto); ok {
		return *pareto
	}
	return p.poisson
}

// process returns the process of page i, or nil if it is quasi-deterministic. It is valid until the next call.
func (p *pages) process(i int) change.Renewal {
	switch p.recipe[i%10] {
	case poisson:
		p.poisson = change.Poisson(p.rates[i])
		return &p.poisson
	case pareto:
		p.pareto, _ = change.NewPareto(p.rates[i], p.shape) // shapes are checked with the parameters
		return &p.pareto
	}
	return nil
}

// page returns the gain of crawls of page i, which must not be quasi-deterministic. By the paper's convention the
// page is fresh at the start.
func (p *pages) page(i int) change.Page { return change.Page{Process: p.process(i), Interval: 1} }

func (p *pages) staleness(i, crawls int) float64 {
	if q := p.quasi[i]; q != nil {
		return q.Staleness(crawls)
	}
	return p.page(i).Staleness(crawls)
}

// A problem holds pages that compete for crawls by weight. Nil weights are equal weights.
type problem struct {
	*pages
	weights []float64
}

// Len returns the number of pages.
func (p problem) Len() int { return len(p.rates) }

// Bounds returns none.
func (p problem) Bounds(int) (least, most int) { return 0, math.MaxInt32 }

func (p problem) weight(i int) float64 {
	if p.weights == nil {
		return 1
	}
	return p.weights[i]
}

// Gain returns the weighted staleness that one more crawl of page i saves, after x crawls.
func (p problem) Gain(i, x int) float64 {
	if q := p.quasi[i]; q != nil {
		return p.weight(i) * q.Gain(x)
	}
	return p.weight(i) * p.page(i).Gain(x)
}

// Crawls returns approximately how many crawls of page i each save more than gain.
func (p problem) Crawls(i int, gain float64) float64 {
	w := p.weight(i)
	if w == 0 {
		return 0
	}
	if q := p.quasi[i]; q != nil {
		return q.Crawls(gain / w)
	}
	return p.page(i).Crawls(gain / w)
}

// mean returns the mean of staleness(i) over the pages, by the problem's weights.
func (p problem) mean(staleness func(i int) float64) float64 {
	sum, weights := 0.0, 0.0
	for i := range p.rates {
		w := p.weight(i)
		sum += w * staleness(i)
		weights += w
	}
	return sum / weights
}

// embarrassment returns weights by eq. 8. It draws from the splitmix64 generator with the seed as its state, as the
// reference values did.
func embarrassment(n int, seed uint64) []float64 {
	byCentre := clickWeights()
	uniform := func() float64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64((z^z>>31)>>11) / (1 << 53)
	}
	weights := make([]float64, n)
	for i := range weights {
		d := uniform()
		weights[i] = d * byCentre[int(50*uniform())]
	}
	return weights
}

// clickWeights returns Σ c b for pages with centres 1 to 50.
func clickWeights() (weights [50]float64) {
	harmonic := 0.0
	for m := 1; m <= 50; m++ {
		harmonic += 1 / float64(m)
	}
	for centre := range weights {
		sum, total := 0.0, 0.0
		for m := range weights {
			c := 1 / float64(m+1) / harmonic * math.Pow(0.8, float64(m/10))
			b := math.Exp(-float64((m-centre)*(m-centre)) / 50)
			sum, total = sum+c*b, total+b
		}
		weights[centre] = sum / total
	}
	return weights
}
