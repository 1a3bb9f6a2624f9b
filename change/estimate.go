package change

import "math"

// An Observation is what one visit of a page told: how long after the one before it came, and whether the
// page had changed, at least once, in between.
type Observation struct {
	Length  float64 // s, positive
	Changed bool
}

// A Tally is the sums that the estimators of regular visits need; they are all that must be kept.
type Tally struct {
	Visits  float64
	Changed float64 // visits that saw a change
	Length  float64 // s, of all visits together
}

// Add adds a visit.
func (t *Tally) Add(o Observation) {
	t.Visits++
	t.Length += o.Length
	if o.Changed {
		t.Changed++
	}
}

// Naive returns the changes seen a second. It is too low wherever a page changes more than once between
// visits.
func (t Tally) Naive() float64 { return t.Changed / t.Length }

// BiasReduced returns the rate that visits at a regular interval suggest, in changes a second:
//
//	-(n/Σu) ln((n-X+½)/(n+½))
//
// of n visits of which X saw a change (Cho and Garcia-Molina 2003). It is finite where every visit saw one,
// and 0 without visits.
func (t Tally) BiasReduced() float64 {
	if t.Visits == 0 {
		return 0
	}
	return t.Visits / t.Length * math.Log((t.Visits+0.5)/(t.Visits-t.Changed+0.5))
}

// Online returns the rate if visits come at random times, as a Poisson process: p X/(n-X+1), where p is
// the visits a second (Avrachenkov, Patil and Thoppe 2020, with their constant 1). It is consistent, and
// needs nothing but the tally.
func (t Tally) Online() float64 {
	if t.Visits == 0 {
		return 0
	}
	return t.Visits / t.Length * t.Changed / (t.Visits - t.Changed + 1)
}

// MaximumLikelihood returns the most likely rate, in changes a second, of a Poisson page that was visited at
// any times: the root of
//
//	Σ_changed u/(e^du - 1) = Σ_unchanged u.
//
// It is 0 if no visit saw a change and +Inf if every one did. Newton's method climbs from the naive rate,
// which is never too high: the left side is convex. About six steps of O(n).
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

// MomentMatch returns the rate at which as many visits are expected to see a change as did, in changes a
// second: Σ (1 - e^-du) = X (Upadhyay et al. 2020). It is 0 if none did and +Inf if all did. About six steps
// of O(n).
func MomentMatch(visits []Observation) float64 {
	var t Tally
	for _, o := range visits {
		t.Add(o)
	}
	switch t.Changed {
	case 0:
		return 0
	case t.Visits:
		return math.Inf(1)
	}
	return climb(t.Naive(), func(d float64) (f, slope float64) {
		f = -t.Changed
		for _, o := range visits {
			f -= math.Expm1(-d * o.Length)
			slope += o.Length * math.Exp(-d*o.Length)
		}
		return f, slope
	})
}

// climb finds the root of a function by Newton's method from a point on its left, from which no step
// passes it.
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

// Dates is what is known of a page whose last change is dated at each visit.
type Dates struct {
	Changes float64 // that were dated
	Quiet   float64 // s without a change: from the last change to the visit, or between visits that saw none
}

// Add adds a visit, length seconds after the one before, that saw no change; or one whose last change was
// quiet seconds before it.
func (d *Dates) Add(length float64, changed bool, quiet float64) {
	if !changed {
		d.Quiet += length
		return
	}
	d.Changes++
	d.Quiet += math.Min(quiet, length)
}

// Rate returns the most likely rate, in changes a second: a Poisson page, seen backwards from a visit, is
// quiet for an exponential time, cut short by the visit before. 0 without visits.
func (d Dates) Rate() float64 {
	if d.Changes == 0 {
		return 0
	}
	return d.Changes / d.Quiet
}

// Trust is how far a site's dates of last changes have proved right. The zero value trusts nobody.
type Trust struct {
	Right, Wrong float64
}

// Add takes in a visit at a time, after one at since, that was given the date of the last change: right if
// the page changed and the date lies between the two, or it did not and the date lies before; s seconds of
// slack are for clocks that differ.
func (t *Trust) Add(since, at float64, changed bool, date, slack float64) {
	after := date > since-slack
	if date <= at+slack && after == changed {
		t.Right++
	} else {
		t.Wrong++
	}
}

// Precision returns how often what is told is right, by the mean of a Beta(1,1) prior and what was seen: a half
// before anything was.
func (t Trust) Precision() float64 { return (t.Right + 1) / (t.Right + t.Wrong + 2) }

// Trusted reports whether dates are right in nineteen of twenty cases or more, as far as can be said, so not
// before eighteen visits.
func (t Trust) Trusted() bool { return t.Precision() >= 0.95 }
