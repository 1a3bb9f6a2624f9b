package refresh

import "math"

const (
	hours          = 24
	hour           = day / hours
	anytime        = hours // index of the probability that a page keeps no hour
	keepers        = 0.01  // share of the pages that keep an hour, before anything is seen of them
	leastForgotten = 1e-6  // of what is believed, at a visit: no hour becomes impossible
)

// A timetable is what is believed of the hour of the day at which a page changes: for each full hour the
// probability that the page changes only around it, from half an hour before to half an hour after, and last
// that it changes at any time. Who publishes on the hour, or by a nightly job, is best visited right after it.
// A page has one once it was visited twice within a day; nil is that of any other page. Until it is more likely
// than not that the page keeps an hour, it is visited as if it kept none.
type timetable [hours + 1]float32

func newTimetable() *timetable {
	t := new(timetable)
	for h := range t {
		t[h] = float32(usually(h))
	}
	return t
}

// restoredTimetable returns the timetable of logarithms of probabilities.
func restoredTimetable(state []byte) *timetable {
	t := new(timetable)
	sum := float32(0)
	for h := range t {
		t[h] = power(state[h])
		sum += t[h]
	}
	for h := range t {
		t[h] /= sum
	}
	return t
}

// usually returns the probability that a page keeps hour h, or none, before anything is seen of it.
func usually(h int) float64 {
	if h == anytime {
		return 1 - keepers
	}
	return keepers / hours
}

// within returns the seconds between two times that are of hour h of the days.
func within(h int, from, to float64) float64 {
	upTo := func(at float64) float64 {
		at -= (float64(h) - 0.5) * hour
		days := math.Floor(at / day)
		return days*hour + math.Min(at-days*day, hour)
	}
	return upTo(to) - upTo(from)
}

// own returns the seconds between two times by the page's own clock: it shows the day's length at the end of a
// day, and runs at the pace at which changes are to be expected in between. O(hours).
func (t *timetable) own(from, to float64) float64 {
	if !t.punctual() {
		return to - from
	}
	sum := float64(t[anytime]) * (to - from)
	for h := range hours {
		sum += float64(t[h]) * hours * within(h, from, to)
	}
	return sum
}

// awaited returns the seconds of evenly spread changes after which a visit would be worth as much as after the
// time between two visits by the page's own clock. It is more the later the changes come, as until then the
// copy was fresh: √(2 ∫ s dτ) for the clock τ(s), right for changes that are not likely yet.
//
// An hour counts when it is over, and so do likely hours in a row, because to wait is better amid them: who
// comes early leaves the page stale until the next day.
func (t *timetable) awaited(from, to float64) float64 {
	length := to - from
	if !t.punctual() {
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

// last returns the last of the likely hours in a row after hour h, or h. It may be one of the next day.
func (t *timetable) last(h int) int {
	for before := h + hours - 1; h < before && t[(h+1)%hours] > 1.0/hours; {
		h++
	}
	return h
}

// seeHours learns from a visit when the page changes, as see does.
func (s *state) seeHours(at float64, changed bool, forget float64, unchanged func(own float64) float64) {
	if s.hours == nil && at-s.seen < day {
		s.hours = newTimetable()
	}
	if s.hours != nil {
		s.hours.see(s.seen, at, changed, forget, unchanged)
	}
}

// steady returns for how long the worth of a visit to the page rises no faster than a power of time.
func (s *state) steady() float64 {
	if s.hours.punctual() {
		return hour / 4
	}
	return math.Inf(1)
}

// see learns from a visit that saw a change or none, by the probability that the page is unchanged after so
// many seconds of its own clock. Some of what was believed is forgotten. O(hours).
func (t *timetable) see(from, to float64, changed bool, forget float64, unchanged func(own float64) float64) {
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

// punctual reports whether the page is believed to keep an hour.
func (t *timetable) punctual() bool { return t != nil && t[anytime] < 0.5 }
