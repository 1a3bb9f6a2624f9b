package scheduler

import (
	"math"
	"math/bits"
)

const (
	octave  = 8    // buckets from a time to its double
	octaves = 44   // from a millisecond to five centuries
	least   = 1e-3 // s
)

// A Histogram counts times in buckets each 9 % wider than the last. The zero value is empty; 2.8 KB.
type Histogram struct {
	counts [octave*octaves + 1]int // the first: at most a millisecond
	total  int
}

// Add counts a time n times.
func (h *Histogram) Add(seconds float64, n int) {
	bucket := 0
	if seconds > least {
		bucket = min(1+int(octave*math.Log2(seconds/least)), len(h.counts)-1)
	}
	h.counts[bucket] += n
	h.total += n
}

// lag counts how long each member of a group of subscribers has lacked each page it lacks.
func (h *Histogram) lag(g *group, now float64) {
	if g.downloads {
		return
	}
	for missing := g.missing; missing != 0; missing &= missing - 1 {
		h.Add(now-g.since[bits.TrailingZeros64(missing)], len(g.members))
	}
}

// Total returns how many times were counted.
func (h *Histogram) Total() int { return h.total }

// Quantile returns the time, in seconds, that the part q of the times, from 0 to 1, do not exceed; within
// 5 %. 0 if there are none.
func (h *Histogram) Quantile(q float64) float64 {
	rank := int(math.Ceil(q * float64(h.total)))
	for bucket, n := range h.counts {
		if rank -= n; rank <= 0 && bucket > 0 && h.total > 0 {
			return least * math.Exp2((float64(bucket)-0.5)/octave)
		} else if rank <= 0 {
			return 0
		}
	}
	return 0
}
