package allocate

import (
	"fmt"
	"math"
)

// A Problem is a set of pages that compete for crawls. Its methods are called from one goroutine at a time, many
// times a page.
type Problem interface {
	// Len returns the number of pages.
	Len() int
	// Bounds returns the least and the most crawls of page i, 0 ≤ least ≤ most < 2³¹.
	Bounds(i int) (least, most int)
	// Gain returns what crawl x+1 of page i gains, x ≥ 0. It is at least 0 and does not rise with x.
	Gain(i, x int) float64
	// Crawls returns about how many crawls of page i gain more than gain each, gain > 0, whatever its
	// bounds; it may be +Inf. A bad guess costs time only.
	Crawls(i int, gain float64) float64
}

// An InfeasibleError names the constraint that cannot be satisfied.
type InfeasibleError struct {
	Site    int   // the site whose cap is too small, or -1 if the budget is at fault
	Need    int64 // crawls that the minimums or the budget require
	Allowed int64 // crawls that the budget or cap, or the maximums, allow
	Minimum bool  // the minimums are too high; else the budget is
}

// Error says what is required and what is allowed.
func (e *InfeasibleError) Error() string {
	switch {
	case e.Site >= 0:
		return fmt.Sprintf("allocate: site %d allows %d crawls, but its pages' minimums add up to %d", e.Site, e.Allowed, e.Need)
	case e.Minimum:
		return fmt.Sprintf("allocate: the pages' minimums add up to %d crawls, but the budget is %d", e.Need, e.Allowed)
	}
	return fmt.Sprintf("allocate: the budget is %d crawls, but maximums and caps allow only %d", e.Need, e.Allowed)
}

// feasible returns the sum of the minimums, or an *InfeasibleError. It panics on bounds that cross.
func feasible(p Problem, budget int) (least int64, err error) {
	var most int64
	for i := range p.Len() {
		low, high := p.Bounds(i)
		if low < 0 || high < low || high > math.MaxInt32 {
			panic(fmt.Sprintf("allocate: bounds %d and %d of page %d: want 0 ≤ least ≤ most < 2³¹", low, high, i))
		}
		least += int64(low)
		most += int64(high)
	}
	if int64(budget) < least {
		return 0, &InfeasibleError{Site: -1, Need: least, Allowed: int64(budget), Minimum: true}
	}
	if int64(budget) > most {
		return 0, &InfeasibleError{Site: -1, Need: int64(budget), Allowed: most}
	}
	return least, nil
}

// A Certificate proves an allocation optimal, for the sum that it spends.
type Certificate struct {
	Next, Last float64 // the largest gain left out, -Inf if none; the least gain taken above the minimums, +Inf if none
	NextPage   int     // the page of Next, or -1
	LastPage   int     // the page of Last, or -1
}

// Optimal reports whether no gain left out exceeds one that was taken.
func (c Certificate) Optimal() bool { return c.Next <= c.Last }

// Certify returns the certificate of an allocation within its bounds, O(n).
func Certify(p Problem, crawls []int32) Certificate {
	c := Certificate{math.Inf(-1), math.Inf(1), -1, -1}
	for i, x := range crawls {
		least, most := p.Bounds(i)
		if int(x) < most {
			if gain := p.Gain(i, int(x)); gain > c.Next {
				c.Next, c.NextPage = gain, i
			}
		}
		if int(x) > least {
			if gain := p.Gain(i, int(x)-1); gain < c.Last {
				c.Last, c.LastPage = gain, i
			}
		}
	}
	return c
}

// minimums returns an allocation of each page's least crawls.
func minimums(p Problem) []int32 {
	crawls := make([]int32, p.Len())
	for i := range crawls {
		least, _ := p.Bounds(i)
		crawls[i] = int32(least)
	}
	return crawls
}

// An element is one gain of one page. The elements have a total order: what is taken first comes first.
type element struct {
	gain float64
	page int32
	x    int32 // crawl x+1 gains it
}

// before reports whether e is taken before o: larger gain, then lower page, then fewer crawls.
func (e element) before(o element) bool {
	if e.gain != o.gain {
		return e.gain > o.gain
	}
	if e.page != o.page {
		return e.page < o.page
	}
	return e.x < o.x
}

// order is before as a comparison.
func order(a, b element) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}
