package lam

import "math"

// bound returns a freshness, over clients or over data, that no scheduler exceeds in the long run, even if it knows
// every page's rate. It holds only without downloaders, if one sending of a whole chunk serves all, and for a run so
// long that the complete copies at the start do not matter.
//
// The bound respects the capacity only on average, by a price ν for a second of sending. Then every chunk is a
// problem of its own. A chunk is all fresh when it has been sent, and Poisson changes have no memory, so sendings
// make equal cycles. With d stale pages the chunk loses V·d a second. This grows within a cycle. So the best time to
// send is when V·d first reaches the average loss: when m pages are stale, for some m. Let t_j be the mean time
// during which j pages are stale. Then the average loss of a cycle with m is
//
//	(ν·length + V·Σ_{j<m} j·t_j) / Σ_{j<m} t_j,
//
// and without any sending V·pages. For every ν ≥ 0, the sum of the chunks' least losses, minus ν, is a loss that no
// scheduler avoids. The largest over all ν gives the bound.
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
	return min(1, 1-loss)
}

// leastLoss returns the least loss per second of a chunk, including the price, over all numbers of stale pages at
// which to send it. used is the share of time in which the chunk is being sent.
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

// staleTimes returns, for each j below the number of pages, the mean time in s during which exactly j of them are
// stale. All are fresh at first, and change as Poisson processes with these mean intervals. The time is the integral
// of the probability that j have changed, on a logarithmic grid from a second to 30,000 years.
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

// values returns, by chunk, how much one fresh page adds to the total freshness.
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
