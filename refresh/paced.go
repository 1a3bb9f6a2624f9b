package refresh

import (
	"fmt"
	"math"
	"math/rand/v2"

	"freshet/change"
)

// An Objective returns the optimal crawls a second of a page, given its rate of change and its weight, if a crawl
// must be worth mu. It falls with mu.
type Objective func(rate, weight, mu float64) float64

// Proportional crawls a page in proportion to how often it changes, and to its weight.
func Proportional(rate, weight, mu float64) float64 { return weight * rate / mu }

// Even maximises freshness with a fixed interval for each page (Cho and Garcia-Molina 2003): (w/d)(1 - (1+x) e^-x) =
// mu with x = d/r. Pages of w/d ≤ mu are never crawled.
func Even(rate, weight, mu float64) float64 {
	if !(weight > 0) {
		return 0
	}
	return 1 / change.Length(change.Poisson(rate), mu/weight)
}

// Memoryless maximises freshness with crawls at random times (Azar et al. 2018): r = √(w d/mu) - d. Pages of w/d ≤ mu
// are never crawled.
func Memoryless(rate, weight, mu float64) float64 {
	return math.Max(0, math.Sqrt(weight*rate/mu)-rate)
}

// Harmonic minimises a penalty that grows with the logarithm of the missed changes (Kolobov et al. 2019,
// LambdaCrawl): r = (-d + √(d² + 4 w d/mu))/2. Every page of positive weight is crawled.
func Harmonic(rate, weight, mu float64) float64 {
	q := 4 * weight * rate / mu
	return q / (2 * (rate + math.Sqrt(rate*rate+q))) // the root, without cancellation
}

// An Estimate reduces a belief to one rate, in changes a second: (*change.Belief).Mean or
// (*change.Belief).GeometricMean.
type Estimate func(*change.Belief) float64

// Paced gives every page a rate of crawls. Together they spend a budget. It plans the rates again each week, and when
// the number of pages has doubled. It visits the page whose time since the last visit, multiplied by its rate, is
// largest.
type Paced struct {
	learner   learner
	ranking   Ranking
	objective Objective
	estimate  Estimate
	budget    float64
	rates     []float64 // by ID, crawls a second
	mu        float64
	replan    float64
	now       float64
	lots      *lots // nil unless pages are drawn
	random    *rand.Rand
}

// NewPaced returns the policy for a budget in crawls a second, which must be positive. If random is not nil, each
// call of Next draws a page with probability proportional to its rate.
func NewPaced(objective Objective, estimate Estimate, budget float64, o Learning, random *rand.Rand) (*Paced, error) {
	if !(budget > 0) || math.IsInf(budget, 1) {
		return nil, fmt.Errorf("refresh: budget of %v crawls a second: want a positive number", budget)
	}
	o.Shared = false
	p := &Paced{learner: newLearner(o), objective: objective, estimate: estimate, budget: budget, mu: 1 / budget, replan: math.Inf(-1), random: random}
	if random != nil {
		p.lots = new(lots)
	}
	p.ranking = Ranking{
		Value: func(id ID, at float64) float64 { return p.rates[id] * (at - p.learner.tried(id)) },
		Since: p.learner.tried,
		Root:  func(times float64) float64 { return times },
	}
	return p, nil
}

// Add adds the page, with a rate from the beliefs about its group.
func (p *Paced) Add(id ID, page Page) {
	p.learner.add(id, page)
	p.rates = Grown(p.rates, id)
	p.rates[id] = p.rate(id)
	p.now = math.Max(p.now, page.Fresh)
	p.place(id)
}

// Remove forgets the page.
func (p *Paced) Remove(id ID) {
	p.learner.remove(id)
	p.take(id)
}

// Weigh gives the page the rate for its new weight.
func (p *Paced) Weigh(id ID, weight float64) {
	p.learner.weigh(id, weight)
	p.rates[id] = p.rate(id)
	if !p.learner.pages[id].marks.has(out) {
		p.place(id)
	}
}

// Visited learns from the visit. The page keeps its planned rate.
func (p *Paced) Visited(id ID, v Visit) {
	p.now = math.Max(p.now, v.At)
	p.learner.visited(id, v)
	p.place(id)
}

// Next returns the most overdue page, or draws one.
func (p *Paced) Next(now float64) (ID, float64, bool) {
	p.now = now
	p.learner.learn(now, nil, func(ID) {})
	if p.learner.known > 0 && (now >= p.replan || p.learner.doubled()) {
		p.replan = now + 7*day
		p.plan()
	}
	id, ok := p.pick(now)
	if !ok {
		return 0, math.Inf(1), false
	}
	p.learner.pages[id].marks.set(out, true)
	return id, now, true
}

func (p *Paced) pick(now float64) (ID, bool) {
	if p.lots == nil {
		return p.ranking.Pick(now)
	}
	id, ok := p.lots.draw(p.random)
	if ok {
		p.lots.set(id, 0)
	}
	return id, ok
}

// place puts the page in the queue or the lots by its rate.
func (p *Paced) place(id ID) {
	if p.lots != nil {
		p.lots.set(id, p.rates[id])
		return
	}
	p.ranking.Place(id, p.now)
}

func (p *Paced) take(id ID) {
	if p.lots != nil {
		p.lots.set(id, 0)
		return
	}
	p.ranking.Drop(id)
}

func (p *Paced) rate(id ID) float64 {
	belief := p.learner.posterior(id)
	return p.objective(p.estimate(&belief), float64(p.learner.pages[id].weight), p.mu)
}

// plan finds, by bisection on logarithms, the multiplier at which the rates add up to the budget.
func (p *Paced) plan() {
	p.learner.planned = p.learner.known
	type known struct{ rate, weight float64 }
	var pages []known
	var ids []ID
	for i := range p.learner.pages {
		if s := &p.learner.pages[i]; s.marks.has(there) {
			belief := p.learner.posterior(ID(i))
			pages = append(pages, known{p.estimate(&belief), float64(s.weight)})
			ids = append(ids, ID(i))
		}
	}
	spent := func(mu float64) float64 {
		sum := 0.0
		for _, page := range pages {
			sum += p.objective(page.rate, page.weight, mu)
		}
		return sum
	}
	low, high := math.Log(p.mu)-0.1, math.Log(p.mu)+0.1
	for step := 0.2; step < 1e3 && spent(math.Exp(low)) < p.budget; step *= 2 {
		low -= step
	}
	for step := 0.2; step < 1e3 && spent(math.Exp(high)) > p.budget; step *= 2 {
		high += step
	}
	for high-low > 1e-4 {
		if middle := (low + high) / 2; spent(math.Exp(middle)) > p.budget {
			low = middle
		} else {
			high = middle
		}
	}
	p.mu = math.Exp((low + high) / 2)
	for i, id := range ids {
		p.rates[id] = p.objective(pages[i].rate, pages[i].weight, p.mu)
		if !p.learner.pages[id].marks.has(out) {
			p.place(id)
		}
	}
}

// lots draws pages in proportion to their rates: sums in a binary indexed tree (Fenwick 1994).
type lots struct {
	rates []float64
	sums  []float64 // sums[i] holds the rates of the i&-i pages that end at page i-1
}

// set gives the page a rate, O(log n).
func (l *lots) set(id ID, rate float64) {
	if int(id) >= len(l.rates) {
		size := 64
		for size <= int(id) {
			size *= 2
		}
		l.rates = append(l.rates, make([]float64, size-len(l.rates))...)
		l.sums = make([]float64, size+1)
		for i, r := range l.rates {
			l.add(i, r)
		}
	}
	l.add(int(id), rate-l.rates[id])
	l.rates[id] = rate
}

func (l *lots) add(i int, r float64) {
	for i++; i < len(l.sums); i += i & -i {
		l.sums[i] += r
	}
}

// draw returns a page, O(log n), unless all rates are 0.
func (l *lots) draw(random *rand.Rand) (ID, bool) {
	if len(l.sums) == 0 || !(l.sums[len(l.sums)-1] > 0) {
		return 0, false
	}
	left := random.Float64() * l.sums[len(l.sums)-1]
	at := 0
	for step := len(l.rates); step > 0; step /= 2 {
		if at+step < len(l.sums) && l.sums[at+step] <= left {
			at += step
			left -= l.sums[at]
		}
	}
	if at == len(l.rates) || l.rates[at] == 0 { // by rounding
		for at = range l.rates {
			if l.rates[at] > 0 {
				break
			}
		}
	}
	return ID(at), at < len(l.rates) && l.rates[at] > 0
}
