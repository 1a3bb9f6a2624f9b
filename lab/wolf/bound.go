package wolf

import (
	"math"

	"freshet/change"
)

// bound returns a lower bound of the mean staleness, by the problem's weights, in the long run, for budget crawls an
// interval at times fixed in advance. It is the staleness with a continuous number of crawls of each page. They are
// evenly spaced, or just after every nth instant of a quasi-deterministic page. If only the frequency of the instants
// is known, those are evenly spaced too. bound computes the value of the dual problem. That is a bound for every
// multiplier, and the optimum for the multiplier that spends the budget.
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

// best returns the optimal crawls an interval of page i if a crawl costs mu, and its staleness with them.
func (p problem) best(i int, mu float64, instantsKnown bool) (crawls, stale float64) {
	w := p.weight(i)
	if w == 0 {
		return 0, 1
	}
	if p.recipe[i%10] == quasi {
		if instantsKnown {
			return bestOf(p.rhythm(i), mu/w)
		}
		return blind(p.rhythm(i), mu/w)
	}
	process := p.process(i)
	length := change.Length(process, mu/w)
	stale, _ = process.Staleness(length)
	return 1 / length, stale
}

// rhythm returns the process of the quasi-deterministic page i, repeated every interval in its phase.
func (p *pages) rhythm(i int) change.Rhythm {
	number := quasiInstants(p.rates[i])
	_, phase := math.Modf(float64(i/10+1) * (math.Sqrt(5) - 1) / 2)
	return change.Rhythm{Period: 1 / number, Phase: phase / number, Probability: min(1, p.rates[i]/number)}
}

// bestOf returns the optimal crawls an interval if a crawl costs mu, each just after an instant, and the staleness
// with them. With a crawl at every jth instant the copy is fresh for (1-(1-k)^j)/(kj) of the time.
func bestOf(r change.Rhythm, mu float64) (crawls, stale float64) {
	k := r.Probability
	if r.Period/k <= mu {
		return 0, 1
	}
	worth, miss := 0.0, 1.0
	for j := 1.0; ; j++ {
		miss *= 1 - k
		fresh := (1 - miss) / (k * j)
		w := fresh - mu/(r.Period*j)
		if w <= worth && worth > 0 {
			return crawls, stale
		}
		if w > worth {
			worth, crawls, stale = w, 1/(r.Period*j), 1-fresh
		}
		if miss == 0 && worth == 0 {
			return 0, 1
		}
	}
}

// blind is bestOf for evenly spaced crawls that ignore the instants. At a time s = (m + f) periods after a crawl, the
// copy is fresh with probability keep(s) = (1-k)^m (1-fk). F is the integral of keep. The best spacing L solves F(L)
// - L keep(L) = mu.
func blind(r change.Rhythm, mu float64) (crawls, stale float64) {
	k := r.Probability
	fresh := func(length float64) (integral, keep float64) {
		m, f := math.Modf(length / r.Period)
		power := math.Pow(1-k, m)
		return ((1-k/2)*(1-power)/k + power*(f-k*f*f/2)) * r.Period, power * (1 - f*k)
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

// fresh returns the expected time between from and to in which a copy is fresh. The copy was made at crawled, before
// both.
func fresh(r change.Rhythm, crawled, from, to float64) float64 {
	first := r.Next(crawled)
	sum, keep, since := 0.0, 1.0, crawled
	for j := 0.0; since < to; j++ {
		next := math.Min(first+j*r.Period, to)
		sum += keep * math.Max(0, next-math.Max(since, from))
		since = next
		keep *= 1 - r.Probability
	}
	return sum
}
