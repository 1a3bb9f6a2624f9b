package queue

import (
	"math/rand/v2"

	"freshet/change"
	"freshet/sim/event"
)

// happening is an event of this package's simulations.
type happening struct {
	kind kind
	page int // of a change
}

type kind uint8

const (
	arrival   kind = iota // of a page at the queue
	departure             // of a page that has been processed
	changed               // a page of the web
	access                // the crawler has fetched the next page of its sequence
)

// simulateQueue runs a queue with Poisson arrivals at rate load and service times of mean 1 for span, starting empty.
// It returns the share of time with an empty queue, and the arrivals lost per unit of time. It does not count the
// first tenth.
func simulateQueue(rng *rand.Rand, load float64, places int, span float64, service func(*rand.Rand) float64) (empty, lost float64) {
	var events event.Queue[happening]
	events.Push(rng.ExpFloat64()/load, happening{kind: arrival})
	warm, last := span/10, 0.0
	for length := 0; ; {
		now, e, _ := events.Pop() // there is always an arrival ahead
		if length == 0 {
			empty += max(0, min(now, span)-max(last, warm))
		}
		if last = now; now >= span {
			break
		}
		switch {
		case e.kind == departure:
			if length--; length > 0 {
				events.Push(now+service(rng), happening{kind: departure})
			}
			continue
		case length == places:
			if now >= warm {
				lost++
			}
		default:
			if length++; length == 1 {
				events.Push(now+service(rng), happening{kind: departure})
			}
		}
		events.Push(now+rng.ExpFloat64()/load, happening{kind: arrival})
	}
	return empty / (span - warm), lost / (span - warm)
}

// simulateVisits simulates pages that change as Poisson processes, and a crawler that repeats the sequence of pages.
// A copy shows the page at the end of the access. simulateVisits returns, for each page, the share of time in which
// its copy was out of date, after the first tenth.
func simulateVisits(rng *rand.Rand, rates []float64, sequence []int, span float64, gap func(*rand.Rand) float64) []float64 {
	var events event.Queue[happening]
	for page, rate := range rates {
		events.Push(change.Poisson(rate).First(rng), happening{changed, page})
	}
	events.Push(gap(rng), happening{kind: access})
	since := make([]float64, len(rates)) // when a stale page's copy went out of date
	stale := make([]bool, len(rates))
	spent := make([]float64, len(rates))
	warm, step := span/10, 0
	settle := func(page int, now float64) {
		if stale[page] {
			spent[page] += max(0, now-max(since[page], warm))
		}
	}
	for {
		now, e, _ := events.Pop() // there is always an access ahead
		if now >= span {
			break
		}
		if e.kind == changed {
			if !stale[e.page] {
				stale[e.page], since[e.page] = true, now
			}
			events.Push(now+change.Poisson(rates[e.page]).Gap(rng), e)
			continue
		}
		page := sequence[step%len(sequence)]
		settle(page, now)
		stale[page] = false
		step++
		events.Push(now+gap(rng), e)
	}
	for page := range rates {
		settle(page, span)
		spent[page] /= span - warm
	}
	return spent
}

// cycleCost returns Σ c_i r_i of a cyclic sequence with c_i = μ_i and accesses of mean 1. A page with
// gaps d_j, in accesses, is out of date for a share of the time of
//
//	r_i = 1 - Σ_j (1-h_i^d_j) / (L μ_i)     (Liu and Nain 2005, Lemma 3)
func cycleCost(rates []float64, sequence []int, kept func(rate float64) float64) float64 {
	var cost float64
	for page, rate := range rates {
		h, fresh := kept(rate), 0.0
		for from, p := range sequence {
			if p != page {
				continue
			}
			left := h // h^d for the gap d that begins at from
			for d := 1; sequence[(from+d)%len(sequence)] != page; d++ {
				left *= h
			}
			fresh += 1 - left
		}
		cost += rate * (1 - fresh/(float64(len(sequence))*rate))
	}
	return cost
}
