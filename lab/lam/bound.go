package lam

import "math"

// bound returns a freshness that no scheduler exceeds in the long run, even one that knows every page's
// rate: over clients, or over data. It holds for subscribers alone, and for a run so long that it does not
// matter that they started with everything.
//
// It holds the sendings to the capacity on average only, with a price ν a second of sending, and then every
// chunk stands alone. It is all fresh when it has been sent, and Poisson changes do not remember, so its
// sendings make equal cycles; with d pages stale it loses V·d a second, which grows within a cycle, so the best
// instant to send is the first at which V·d reaches the average loss: when m pages are stale, for some m. With
// t_j the mean time in which j are, a cycle of m loses the average
//
//	(ν·length + V·Σ_{j<m} j·t_j) / Σ_{j<m} t_j,
//
// never sending V·pages. For every ν ≥ 0 the sum of the chunks' least losses minus ν is a loss that cannot be
// avoided; the greatest of these, over ν, is the bound.
func (w *world) bound(overData bool) float64 {
	value := w.values(overData)
	stale := make([][]float64, len(w.chunks))
	for i, v := range value {
		if v > 0 {
			stale[i] = staleTimes(w.means[i])
		}
	}
	// at returns the loss at a price, and the part of the capacity that is used.
	at := func(price float64) (loss, used float64) {
		for i, v := range value {
			if v > 0 {
				l, u := leastLoss(v, price, float64(len(stale[i])*pageTime), stale[i])
				loss, used = loss+l, used+u
			}
		}
		return loss - price, used
	}
	low, high := 0.0, 1.0 // all the freshness there is, for a second of sending
	for {
		if _, used := at(high); used <= 1 {
			break
		}
		high *= 16
	}
	for range 40 {
		price := (low + high) / 2
		if _, used := at(price); used > 1 {
			low = price
		} else {
			high = price
		}
	}
	loss, _ := at(high)
	return 1 - loss
}

// leastLoss returns what a chunk loses a second at the best number of stale pages to send it at, the price
// included, and the part of the time in which it is being sent.
func leastLoss(value, price, length float64, stale []float64) (loss, used float64) {
	loss = value * float64(len(stale))
	var cycle, area float64
	for j, t := range stale {
		cycle += t
		area += float64(j) * t
		if average := (price*length + value*area) / cycle; average < loss {
			loss, used = average, length/cycle
		}
	}
	return loss, used
}

// staleTimes returns the mean time, in s, in which j of some pages are stale before j+1 are, for each j below
// their number, if all are fresh at first and change as Poisson processes with these mean intervals: the integral of
// the probability that j have changed, over a logarithmic grid from a second to 30,000 years.
func staleTimes(means []float64) []float64 {
	const step = 0.25
	times := make([]float64, len(means))
	changed := make([]float64, len(means)+1)
	for s := 0.0; s < 27.6; s += step {
		t := math.Exp(s)
		clear(changed)
		changed[0] = 1
		for n, mean := range means {
			p := -math.Expm1(-t / mean)
			for j := n + 1; j > 0; j-- {
				changed[j] += p * (changed[j-1] - changed[j])
			}
			changed[0] *= 1 - p
		}
		for j := range times {
			times[j] += changed[j] * t * step
		}
	}
	return times
}

// values returns, by chunk, what one fresh page adds to the freshness of all.
func (w *world) values(overData bool) []float64 {
	value := make([]float64, len(w.chunks))
	all := 0.0
	for _, chunks := range w.wants[:w.subscribers] {
		pages := 0
		for _, i := range chunks {
			pages += w.chunks[i].Pages
		}
		worth := 1.0
		if !overData {
			worth = 1 / float64(pages)
		}
		for _, i := range chunks {
			value[i] += worth
			all += worth * float64(w.chunks[i].Pages)
		}
	}
	for i := range value {
		value[i] /= all
	}
	return value
}
