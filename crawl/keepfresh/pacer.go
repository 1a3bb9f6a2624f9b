package keepfresh

import (
	"math"
	"time"

	"freshet/weburl"
)

// A Pacer spreads a budget of requests evenly over its interval. It saves unused requests, up to a hundredth of the
// budget. So no interval exceeds its budget by more than that. It is not safe for concurrent use.
type Pacer struct {
	perNs  float64 // requests per nanosecond
	most   float64 // maximum of kept
	kept   float64
	at     time.Time // when kept was computed
	window [2]int64  // requests in the last whole interval and in this one
	spent  [2]spending
	ends   time.Time // of this interval
	length time.Duration
}

// NewPacer returns the pacer for a budget of requests per interval, both positive, that starts now with one saved
// request.
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

// Fill saves the maximum number of requests.
func (p *Pacer) Fill() { p.kept = p.most }

// Take spends one request of the budget. If none is left, ok is false and wake is when the next one is available.
func (p *Pacer) Take(now time.Time) (wake time.Time, ok bool) {
	p.fill(now)
	if p.kept < 1 {
		return now.Add(time.Duration(math.Ceil((1 - p.kept) / p.perNs))), false
	}
	p.kept--
	p.window[1]++
	return time.Time{}, true
}

// GiveBack returns a request that Take spent and that was not made.
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
		p.window, p.spent = [2]int64{p.window[1]}, [2]spending{p.spent[1]}
		if late >= p.length {
			p.window[0], p.spent[0] = 0, spending{}
		}
		p.ends = p.ends.Add(late - late%p.length + p.length)
	}
}

// Requests returns the number of requests made in the last whole interval, and in this one so far.
func (p *Pacer) Requests(now time.Time) (last, this int64) {
	p.fill(now)
	return p.window[0], p.window[1]
}

// Spend notes what a request was made for.
func (p *Pacer) Spend(on Purpose, site weburl.Site, now time.Time) {
	p.fill(now)
	p.spent[1].count(on, site)
}

// Spent returns what the last whole interval and this one so far were spent on.
func (p *Pacer) Spent(now time.Time) (last, this Spending) {
	p.fill(now)
	return p.spent[0].And(Spending{}), p.spent[1].And(Spending{})
}
