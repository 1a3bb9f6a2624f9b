package keepfresh

import (
	"math"
	"time"
)

// A Pacer hands out a budget's requests evenly over its interval. What is not asked for is kept for a while: a
// hundredth of the interval's requests, so that no interval sees more than that beyond its budget. It is not
// safe for concurrent use.
type Pacer struct {
	perNs  float64 // requests a nanosecond
	most   float64 // requests kept
	kept   float64
	at     time.Time // of kept
	window [2]int64  // requests in the last whole interval and in this one
	ends   time.Time // of this interval
	length time.Duration
}

// NewPacer returns the pacer of a budget of requests an interval, both positive, which begins now. It has one
// request kept.
func NewPacer(budget int64, interval time.Duration, now time.Time) *Pacer {
	p := &Pacer{at: now, ends: now.Add(interval), length: interval, kept: 1}
	p.SetBudget(budget, now)
	return p
}

// SetBudget changes the budget from now on.
func (p *Pacer) SetBudget(budget int64, now time.Time) {
	p.fill(now)
	p.perNs = float64(budget) / float64(p.length)
	p.most = math.Max(1, float64(budget)/100)
	p.kept = math.Min(p.kept, p.most)
}

// Fill keeps as many requests as may be kept.
func (p *Pacer) Fill() { p.kept = p.most }

// Take takes a request out of the budget. If none is left it returns when there will be one.
func (p *Pacer) Take(now time.Time) (wake time.Time, ok bool) {
	p.fill(now)
	if p.kept < 1 {
		return now.Add(time.Duration(math.Ceil((1 - p.kept) / p.perNs))), false
	}
	p.kept--
	p.window[1]++
	return time.Time{}, true
}

// GiveBack returns a request that was taken and not made.
func (p *Pacer) GiveBack() {
	p.kept++
	p.window[1]--
}

func (p *Pacer) fill(now time.Time) {
	if passed := now.Sub(p.at); passed > 0 {
		p.kept = math.Min(p.most, p.kept+float64(passed)*p.perNs)
		p.at = now
	}
	if late := now.Sub(p.ends); late >= 0 {
		p.window[0], p.window[1] = p.window[1], 0
		if late >= p.length {
			p.window[0] = 0
		}
		p.ends = p.ends.Add(p.length * (1 + late/p.length))
	}
}

// Requests returns how many requests were made in the last whole interval, and in this one so far.
func (p *Pacer) Requests(now time.Time) (last, this int64) {
	p.fill(now)
	return p.window[0], p.window[1]
}
