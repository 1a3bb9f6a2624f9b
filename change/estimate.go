package change

import "math"

// An Observation is the result of one visit of a page: the time since the visit before, and whether the page had
// changed at least once in between.
type Observation struct {
	Length  float64 // s, positive
	Changed bool
}

// A Tally holds the sums that the estimators for regular visits need. No other state is kept.
type Tally struct {
	Visits  float64
	Changed float64 // visits that saw a change
	Length  float64 // s, sum over all visits
}

// Add adds a visit.
func (t *Tally) Add(o Observation) {
	t.Visits++
	t.Length += o.Length
	if o.Changed {
		t.Changed++
	}
}

// Naive returns the observed changes per second. It is too low if a page changes more than once between visits.
func (t Tally) Naive() float64 { return t.Changed / t.Length }

// BiasReduced estimates the rate from visits at a regular interval, in changes per second:
//
//	-(n/Σu) ln((n-X+½)/(n+½))
//
// for n visits of which X saw a change (Cho and Garcia-Molina 2003). It is finite even if every visit saw a change. It
// is 0 without visits.
func (t Tally) BiasReduced() float64 {
	if t.Visits == 0 {
		return 0
	}
	return t.Visits / t.Length * math.Log((t.Visits+0.5)/(t.Visits-t.Changed+0.5))
}

// MaximumLikelihood returns the most likely rate, in changes per second, of a Poisson page visited at arbitrary times.
// It is the root of
//
//	Σ_changed u/(e^du - 1) = Σ_unchanged u.
//
// The rate is 0 if no visit saw a change and +Inf if every visit did. Newton's method climbs from the naive rate, which
// is never too high because the left side is convex. It takes about six steps of O(n).
func MaximumLikelihood(visits []Observation) float64 {
	var t Tally
	unchanged := 0.0
	for _, o := range visits {
		t.Add(o)
		if !o.Changed {
			unchanged += o.Length
		}
	}
	switch {
	case t.Changed == 0:
		return 0
	case unchanged == 0:
		return math.Inf(1)
	}
	return climb(t.Naive(), func(d float64) (f, slope float64) {
		f = -unchanged
		for _, o := range visits {
			if o.Changed {
				s := math.Expm1(d * o.Length)
				term := o.Length / s
				f += term
				slope -= term * (term + o.Length) // (u/s)² e^du, without overflow
			}
		}
		return f, slope
	})
}

// climb finds the root of a function by Newton's method. It starts to the left of the root, and no step passes the
// root.
func climb(d float64, f func(float64) (value, slope float64)) float64 {
	for range 200 {
		value, slope := f(d)
		step := -value / slope
		if !(step > 1e-10*d) {
			break
		}
		d += step
	}
	return d
}

// Trust counts how often a site's dates of last change were right and wrong. The zero value is ready to use.
type Trust struct {
	Right, Wrong float64
}

// Precision returns the estimated share of right dates: the posterior mean with a Beta(1,1) prior. It is ½ before the
// first date is checked.
func (t Trust) Precision() float64 { return (t.Right + 1) / (t.Right + t.Wrong + 2) }
