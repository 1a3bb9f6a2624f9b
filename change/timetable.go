package change

import "math"

const (
	day            = 86400.0
	hours          = 24
	hour           = day / hours
	anytime        = hours // index of the probability that a page keeps no hour
	keepers        = 0.01  // prior share of pages that keep an hour
	leastForgotten = 1e-6  // least share of the belief forgotten at a visit, so that no hour becomes impossible
)

// A Timetable is a belief about the hour of the day at which a page changes. For each full hour it has the probability
// that the page changes only within half an hour of it. The last element is the probability that the page changes at
// any time. A page that is published on the hour, or by a nightly job, is best visited right after it changes. Times
// are in seconds from midnight. A nil Timetable describes a page without visits: it changes at any time.
type Timetable [hours + 1]float32

// NewTimetable returns the belief before the first visit: one page in a hundred keeps an hour.
func NewTimetable() *Timetable {
	t := new(Timetable)
	for h := range t {
		t[h] = float32(usually(h))
	}
	return t
}

// usually returns the prior probability that a page keeps hour h, or none.
func usually(h int) float64 {
	if h == anytime {
		return 1 - keepers
	}
	return keepers / hours
}

// within returns how many seconds between from and to are within hour h of any day.
func within(h int, from, to float64) float64 {
	upTo := func(at float64) float64 {
		at -= (float64(h) - 0.5) * hour
		days := math.Floor(at / day)
		return days*hour + math.Min(at-days*day, hour)
	}
	return upTo(to) - upTo(from)
}

// Own returns the time between from and to on the page's own clock, in seconds. That clock advances by a day per day,
// and runs faster in hours when changes are more likely. O(hours).
func (t *Timetable) Own(from, to float64) float64 {
	if !t.Punctual() {
		return to - from
	}
	sum := float64(t[anytime]) * (to - from)
	for h := range hours {
		sum += float64(t[h]) * hours * within(h, from, to)
	}
	return sum
}

// Awaited converts the time between two visits to the time after which a visit is worth as much to a page that changes
// evenly. The later the changes come, the longer that time is, because the copy was fresh until then. It is √(2 ∫ s dτ)
// for the page's clock τ(s), which holds while changes are still unlikely.
//
// An hour counts when it is over. Consecutive likely hours count when the last is over: a visit that comes too early
// leaves the page stale until the next day.
func (t *Timetable) Awaited(from, to float64) float64 {
	length := to - from
	if !t.Punctual() {
		return length
	}
	moment := float64(t[anytime]) * length * length / 2 // ∫ s dτ
	for h := range hours {
		end := (float64(t.last(h)) + 0.5) * hour
		first := end + math.Ceil((from-end)/day)*day - from // and each day from then on, n times
		if n := math.Floor((length-first)/day) + 1; n > 0 {
			moment += float64(t[h]) * day * (n*first + day*n*(n-1)/2)
		}
	}
	return math.Sqrt(2 * moment)
}

// last returns the last of the consecutive likely hours that begin with hour h. It may be in the next day.
func (t *Timetable) last(h int) int {
	for before := h + hours - 1; h < before && t[(h+1)%hours] > 1.0/hours; {
		h++
	}
	return h
}

// See updates the belief by a visit that saw a change or none. Unchanged returns the probability that the page is
// unchanged after a number of seconds of its own clock. Forget is the share of the belief that See replaces by the
// prior. O(hours).
func (t *Timetable) See(from, to float64, changed bool, forget float64, unchanged func(own float64) float64) {
	var likely [hours + 1]float64
	sum := 0.0
	for h := range t {
		own := to - from
		if h != anytime {
			own = hours * within(h, from, to)
		}
		p := unchanged(own)
		if changed {
			p = 1 - p
		}
		likely[h] = float64(t[h]) * p
		sum += likely[h]
	}
	if !(sum > 0) {
		return
	}
	forget = math.Max(forget, leastForgotten)
	for h := range t {
		t[h] = float32((1-forget)*likely[h]/sum + forget*usually(h))
	}
}

// Punctual reports whether the page probably keeps an hour.
func (t *Timetable) Punctual() bool { return t != nil && t[anytime] < 0.5 }

// Anytime returns the probability that the page keeps no hour.
func (t *Timetable) Anytime() float64 { return float64(t[anytime]) }

// Rhythm returns the rhythm of a page that changes on a day with the given probability, around its most likely hour.
// The instants are at the end of that hour, or of the consecutive likely hours that follow it: a visit there sees the
// change. ok is false if the page is not Punctual.
func (t *Timetable) Rhythm(probability float64) (r Rhythm, ok bool) {
	if !t.Punctual() {
		return r, false
	}
	kept := 0
	for h := range hours {
		if t[h] > t[kept] {
			kept = h
		}
	}
	end := math.Mod((float64(t.last(kept))+0.5)*hour, day)
	return Rhythm{Period: day, Phase: end, Probability: probability}, true
}
