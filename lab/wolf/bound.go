package wolf

import (
	"math"

	"freshet/change"
)

// bound returns a mean staleness, by the problem's weights, that no crawls at times fixed beforehand go
// below in the long run, budget of them an interval: that of a continuous number of crawls of each page,
// evenly spaced, or just after every so manieth instant of a quasi-deterministic page; or, if the instants are
// not known but how often they come, evenly spaced as well. It is the value of the dual problem, which is a
// bound for every multiplier and the optimum at the one that spends the budget.
func (p problem) bound(budget float64, instantsKnown bool) float64 {
	spend := func(mu float64) (crawls, stale float64) {
		for i := range p.rates {
			n, s := p.best(i, mu, instantsKnown)
			crawls += n
			stale += p.weight(i) * s
		}
		return crawls, stale
	}
	low, high := math.Log(1e-12), math.Log(1e3)
	for high-low > 1e-9 {
		middle := (low + high) / 2
		if crawls, _ := spend(math.Exp(middle)); crawls > budget {
			low = middle
		} else {
			high = middle
		}
	}
	mu := math.Exp(high)
	crawls, stale := spend(mu)
	weights := 0.0
	for i := range p.rates {
		weights += p.weight(i)
	}
	return (stale + mu*(crawls-budget)) / weights
}

// best returns the crawls an interval of page i, and its staleness with them, that are best if a crawl
// costs mu.
func (p problem) best(i int, mu float64, instantsKnown bool) (crawls, stale float64) {
	w := p.weight(i)
	if w == 0 {
		return 0, 1
	}
	if p.recipe[i%10] == quasi {
		if instantsKnown {
			return p.instants(i).best(mu / w)
		}
		return p.instants(i).blind(mu / w)
	}
	process := p.process(i)
	length := change.Length(process, mu/w)
	stale, _ = process.Staleness(length)
	return 1 / length, stale
}

// instants are those of a quasi-deterministic page that goes on and on: so many an interval, evenly, the
// first at phase/number, and at each of them the page changes with a probability.
type instants struct {
	number             float64
	phase, probability float64
}

// instants returns those of page i, in its phase.
func (p *pages) instants(i int) instants {
	number := quasiInstants(p.rates[i])
	_, phase := math.Modf(float64(i/10+1) * (math.Sqrt(5) - 1) / 2)
	return instants{number, phase, min(1, p.rates[i]/number)}
}

// count returns the instants up to a time in intervals, itself included; of times after the start.
func (q instants) count(time float64) float64 { return math.Floor(time*q.number-q.phase) + 1 }

// at returns the time of the j-th instant, from 0.
func (q instants) at(j float64) float64 { return (j + q.phase) / q.number }

// best returns the crawls an interval, each just after an instant, and the staleness with them, that are
// best if a crawl costs mu. With a crawl at every j-th instant the copy is fresh for (1-(1-k)^j)/(kj) of
// the time.
func (q instants) best(mu float64) (crawls, stale float64) {
	k := q.probability
	if 1/k <= mu*q.number {
		return 0, 1
	}
	worth, miss := 0.0, 1.0
	for j := 1.0; ; j++ {
		miss *= 1 - k
		fresh := (1 - miss) / (k * j)
		w := fresh - mu*q.number/j
		if w <= worth && worth > 0 {
			return crawls, stale
		}
		if w > worth {
			worth, crawls, stale = w, q.number/j, 1-fresh
		}
		if miss == 0 && worth == 0 {
			return 0, 1
		}
	}
}

// blind is best for crawls that are evenly spaced without regard to the instants. An interval s after a
// crawl, with sn = m + f, the copy is fresh with probability keep = (1-k)^m (1-fk); with F its integral, the
// best spacing L has F(L) - L keep(L) = mu.
func (q instants) blind(mu float64) (crawls, stale float64) {
	k := q.probability
	fresh := func(length float64) (integral, keep float64) {
		m, f := math.Modf(length * q.number)
		power := math.Pow(1-k, m)
		return ((1-k/2)*(1-power)/k + power*(f-k*f*f/2)) / q.number, power * (1 - f*k)
	}
	low, high := -20.0, 20.0 // logarithms of lengths
	for high-low > 1e-9 {
		middle := (low + high) / 2
		length := math.Exp(middle)
		if integral, keep := fresh(length); integral-length*keep < mu {
			low = middle
		} else {
			high = middle
		}
	}
	if high == 20 {
		return 0, 1
	}
	length := math.Exp(high)
	integral, _ := fresh(length)
	return 1 / length, 1 - integral/length
}

// fresh returns the time between from and to, in intervals, in which a copy made at crawled, before both, is
// expected to be fresh.
func (q instants) fresh(crawled, from, to float64) float64 {
	sum, keep := 0.0, 1.0
	since := crawled
	for j := q.count(crawled); ; j++ {
		next := math.Min(q.at(j), to)
		sum += keep * math.Max(0, next-math.Max(since, from))
		if since = next; since >= to {
			return sum
		}
		keep *= 1 - q.probability
	}
}
