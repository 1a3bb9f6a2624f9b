package change

import (
	"fmt"
	"math"
)

// A Curve is the staleness of one page as a function of the number of crawls in an interval. It is convex and
// decreasing. It is safe for concurrent use.
type Curve interface {
	// Staleness returns the fraction of the interval, in [0, 1], for which the copy is stale with x ≥ 0 crawls at the
	// best times.
	Staleness(x int) float64
	// Gain returns Staleness(x) - Staleness(x+1), without cancellation. It is never negative and, apart from rounding,
	// does not rise with x.
	Gain(x int) float64
	// Crawls returns how many crawls gain more than gain each: the smallest x with Gain(x) ≤ gain, to within about 1.
	// For gain ≤ 0 it is +Inf if every crawl gains.
	Crawls(gain float64) float64
	// Times appends the best times of x crawls to dst, rising, in seconds from the interval's start.
	Times(dst []float64, x int) []float64
}

// A Page is the Curve of a page that changes by a Process.
type Page struct {
	Process  Process
	Interval float64 // T in seconds, positive
	Age      float64 // δ in seconds: the copy was last known fresh this long before the start; may be +Inf
}

// NewPage returns the page, or an error if the interval is not positive and finite or the age is negative.
func NewPage(p Process, interval, age float64) (Page, error) {
	if err := positive("interval", interval); err != nil {
		return Page{}, err
	}
	if !(age >= 0) {
		return Page{}, fmt.Errorf("change: age %v: want 0 or more seconds", age)
	}
	return Page{p, interval, age}, nil
}

// even reports whether the best x crawls start at once and divide the interval alone. That holds if the copy is older
// than the gaps. Otherwise the crawls and the last visit divide Age + Interval.
func (p Page) even(x float64) bool { return x > 0 && x*p.Age > p.Interval }

// Staleness returns, with S = T+δ, (S/T) A(S/(x+1)) - Φ(δ)/T if the gaps are longer than δ, else A(T/x). O(1).
func (p Page) Staleness(x int) float64 {
	n := float64(x)
	if p.even(n) {
		stale, _ := p.Process.Staleness(p.Interval / n)
		return stale
	}
	if math.IsInf(p.Age, 1) {
		return 1
	}
	span := p.Interval + p.Age
	stale, fresh := p.Process.Staleness(span / (n + 1))
	if p.Age == 0 {
		return stale
	}
	before, freshBefore := p.Process.Staleness(p.Age)
	if before > 0.5 { // both near 1: subtract what is fresh
		return clamp(1 - (span*fresh-p.Age*freshBefore)/p.Interval)
	}
	return clamp((span*stale - p.Age*before) / p.Interval)
}

// Gain returns the difference of Staleness. It adds two parts if the best spacing changes its form between x and x+1
// crawls. O(1).
func (p Page) Gain(x int) float64 {
	n := float64(x)
	if p.even(n) {
		return Difference(p.Process, p.Interval, n, 1)
	}
	if math.IsInf(p.Age, 1) {
		return Difference(p.Process, p.Interval, 0, 1)
	}
	span := p.Interval + p.Age
	if p.Age == 0 || !p.even(n+1) {
		return span / p.Interval * Difference(p.Process, span, n+1, 1)
	}
	turn := p.Interval / p.Age
	return span/p.Interval*Difference(p.Process, span, n+1, turn-n) +
		Difference(p.Process, p.Interval, turn, n+1-turn)
}

// Crawls inverts the derivative of Staleness, which lies between the gains on either side of it.
func (p Page) Crawls(gain float64) float64 {
	length := Length(p.Process, gain*p.Interval)
	if math.IsInf(length, 1) {
		return 0
	}
	// A gain at x is the derivative at about x+1/2.
	if length < p.Age {
		return math.Max(0, p.Interval/length-0.5)
	}
	return math.Max(0, (p.Interval+p.Age)/length-1.5)
}

// Times spreads the crawls evenly, as Staleness assumes.
func (p Page) Times(dst []float64, x int) []float64 {
	first, gap := 0.0, p.Interval/float64(x)
	if !p.even(float64(x)) {
		gap = (p.Interval + p.Age) / float64(x+1)
		first = gap - p.Age
	}
	for j := range x {
		dst = append(dst, math.Max(0, first+float64(j)*gap))
	}
	return dst
}
