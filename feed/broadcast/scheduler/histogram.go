package scheduler

import (
	"math"
	"math/bits"
)

const (
	octave  = 8    // buckets of equal width from a time to its double
	octaves = 44   // from a millisecond to five centuries
	least   = 1e-3 // s
)

// A Histogram counts times in buckets whose width is an eighth to a sixteenth of the time. The zero value
// is empty; 2.8 KB.
type Histogram struct {
	counts [octave*octaves + 1]int // the first: less than a millisecond
	total  int
}

// Add counts a time n times.
func (h *Histogram) Add(seconds float64, n int) {
	bucket := 0
	if seconds >= least {
		// The exponent and the three highest bits of the mantissa number the buckets.
		const one = 0x3ff << 3
		bucket = min(1+int(math.Float64bits(seconds/least)>>49)-one, len(h.counts)-1)
	}
	h.counts[bucket] += n
	h.total += n
}

// lag counts, for each member of a group of subscribers and each missing page, how long the page has been missing.
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

// Quantile returns the q-quantile of the times, in seconds, within 6.25 %; q is 0 to 1. Times below a millisecond
// count as 0. It returns 0 if there are none.
func (h *Histogram) Quantile(q float64) float64 {
	rank := int(math.Ceil(q * float64(h.total)))
	for bucket, n := range h.counts {
		if rank -= n; rank > 0 || n == 0 {
			continue
		}
		if bucket == 0 {
			return 0
		}
		octaves, eighths := (bucket-1)/octave, (bucket-1)%octave
		return math.Ldexp(least*(1+(float64(eighths)+0.5)/octave), octaves)
	}
	return 0
}
