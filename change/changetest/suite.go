// Package changetest tests that an update process obeys the laws that package allocate relies on.
package changetest

import (
	"math"
	"testing"

	"freshet/change"
)

// Run tests a process. Staleness and freshness must add up to 1, and rise and fall with length. Results must depend on
// rate × length only. Marginal must be the derivative, and differences must agree with values. The curves of pages must
// be convex and decreasing for every age. scaled(c) must return the same process in a time unit c times as long, so
// with a rate c times as large; scaled(1) is the process itself.
func Run(t *testing.T, scaled func(c float64) change.Process) {
	t.Helper()
	p := scaled(1)
	mean := 1 / p.Rate()
	t.Run("values", func(t *testing.T) { values(t, p, mean) })
	t.Run("scale", func(t *testing.T) { scale(t, p, scaled, mean) })
	t.Run("marginal", func(t *testing.T) { marginal(t, p, mean) })
	t.Run("length", func(t *testing.T) { length(t, p, mean) })
	for _, age := range []float64{0, 1e-9, 0.03, 0.2, 1.7, math.Inf(1)} {
		for _, interval := range []float64{1e-12, 1e-6, 1e-2, 0.5, 3, 40, 1e4, 1e12} {
			curve(t, change.Page{Process: p, Interval: interval * mean, Age: age * interval * mean})
		}
	}
}

func values(t *testing.T, p change.Process, mean float64) {
	last := 0.0
	for e := -14.0; e <= 14; e += 0.125 {
		length := mean * math.Pow(10, e)
		stale, fresh := p.Staleness(length)
		if !(stale >= 0 && stale <= 1 && fresh >= 0 && fresh <= 1) || math.Abs(stale+fresh-1) > 1e-12 {
			t.Errorf("Staleness(%g) = %g, %g", length, stale, fresh)
		}
		if stale < last*(1-1e-12) {
			t.Errorf("Staleness(%g) = %g falls from %g", length, stale, last)
		}
		if bound := length / mean / 2; stale > bound*(1+1e-12) {
			t.Errorf("Staleness(%g) = %g, above λL/2 = %g", length, stale, bound)
		}
		last = stale
	}
	if stale, fresh := p.Staleness(0); stale != 0 || fresh != 1 {
		t.Errorf("Staleness(0) = %v, %v", stale, fresh)
	}
	if stale, fresh := p.Staleness(math.Inf(1)); stale != 1 || fresh != 0 {
		t.Errorf("Staleness(+Inf) = %v, %v", stale, fresh)
	}
}

func scale(t *testing.T, p change.Process, scaled func(float64) change.Process, mean float64) {
	for _, c := range []float64{1e-9, 1.0 / 86400, 86400, 1e9} {
		other := scaled(c)
		for _, length := range []float64{1e-3, 0.3, 1, 20} {
			a, _ := p.Staleness(length * mean)
			b, _ := other.Staleness(length * mean / c)
			if !near(a, b, 1e-11) {
				t.Errorf("staleness %g, in a unit %g times as long %g", a, c, b)
			}
		}
	}
}

// marginal compares with the difference quotient of the perspective n ↦ A(T/n).
func marginal(t *testing.T, p change.Process, mean float64) {
	last := 0.0
	for e := -8.0; e <= 8; e += 0.25 {
		length := mean * math.Pow(10, e)
		got := p.Marginal(length)
		if !(got >= last) {
			t.Errorf("Marginal(%g) = %g falls from %g", length, got, last)
		}
		last = got
		before, freshBefore := p.Staleness(length / (1 - 1e-4))
		after, freshAfter := p.Staleness(length / (1 + 1e-4))
		quotient := before - after
		if before > 0.5 {
			quotient = freshAfter - freshBefore
		}
		if quotient *= length / 2e-4; !near(got, quotient, 1e-3) {
			t.Errorf("Marginal(%g) = %g, by differences %g", length, got, quotient)
		}
	}
}

func length(t *testing.T, p change.Process, mean float64) {
	for e := -8.0; e <= 3; e += 0.5 {
		want := mean * math.Pow(10, e)
		m := p.Marginal(want)
		got := change.Length(p, m)
		// For long spacings Marginal is flat, and many lengths have the same value.
		if back := p.Marginal(got); !near(got, want, 1e-4) && !near(back, m, 1e-8) && got < math.Inf(1) {
			t.Errorf("Length(Marginal(%g)) = %g, of marginal %g for %g", want, got, back, m)
		}
	}
	if got := change.Length(p, 0); got != 0 {
		t.Errorf("Length(0) = %v", got)
	}
}

func curve(t *testing.T, page change.Page) {
	last := math.Inf(1)
	for x := 0; x <= 3000; x = next(x) {
		gain := page.Gain(x)
		if !(gain >= 0) || gain > last*(1+1e-12) {
			t.Errorf("%+v: gain %g of crawl %d, after %g", page, gain, x, last)
		}
		if x < 40 {
			here, there := page.Staleness(x), page.Staleness(x+1)
			if math.Abs(here-there-gain) > 1e-11*math.Max(here, 1e-3)*(1+finite(page.Age)/page.Interval) {
				t.Errorf("%+v: staleness %g with %d crawls, %g with one more, but gain %g", page, here, x, there, gain)
			}
		}
		if guess := page.Crawls(gain); gain > 0 && !(math.Abs(guess-float64(x)) <= 1.51) {
			// Where the curve is straight, many numbers of crawls have the gain.
			if there := page.Gain(int(math.Min(math.Max(0, guess-1), 1e15))); !near(gain, there, 1e-6) {
				t.Errorf("%+v: Crawls(%g) = %g, want about %d", page, gain, guess, x)
			}
		}
		last = gain
	}
}

// next adds 1 at first, then ever larger steps.
func next(x int) int { return x + 1 + x/16 }

func finite(v float64) float64 {
	if math.IsInf(v, 1) {
		return 0
	}
	return v
}

func near(a, b, relative float64) bool {
	return a == b || math.Abs(a-b) <= relative*math.Max(math.Abs(a), math.Abs(b))
}
