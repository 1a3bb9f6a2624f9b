package node

import (
	"math"
	"time"

	"freshet/change"
	"freshet/crawl/keepfresh"
	"freshet/store"
)

// A Model is how a page changes, as far as its visits show.
type Model struct {
	Process    string // "poisson": at random; "quasi": around an hour of the day, but not every day
	RatePerDay float64
	Visits     int           // that showed whether the page had changed
	Changed    int           // of these, the number that found a change
	Rhythm     change.Rhythm // of "quasi"
	Anytime    float64       // of "quasi": the probability that the page keeps no hour after all
}

// FitVisits fits a model to the visits of a page, oldest first. The rate is the maximum-likelihood estimate for a page
// that changes at random. If every visit found a change, or none did, half a visit is added to keep the estimate finite
// and positive. ok is false unless two visits saw the whole page. O(visits).
func FitVisits(visits []store.Visit) (m Model, ok bool) {
	var seen []change.Observation
	var ends []float64
	var tally change.Tally
	last := int64(0)
	for _, v := range visits {
		if !v.Complete {
			continue
		}
		if last != 0 && v.At > last {
			o := change.Observation{Length: float64(v.At-last) / 1e9, Changed: v.Changed}
			seen, ends = append(seen, o), append(ends, keepfresh.Seconds(time.Unix(0, v.At)))
			tally.Add(o)
			if v.Changed {
				m.Changed++
			}
		}
		last = v.At
	}
	if len(seen) == 0 {
		return m, false
	}
	m.Process, m.Visits = "poisson", len(seen)
	if rate := tally.BiasReduced(); m.Changed == 0 || m.Changed == m.Visits {
		m.RatePerDay = rate * 86400
	} else {
		m.RatePerDay = change.MaximumLikelihood(seen) * 86400
	}
	if hours := hoursOf(seen, ends, m.RatePerDay/86400); hours.Punctual() {
		m.Process, m.Anytime = "quasi", hours.Anytime()
		m.Rhythm, _ = hours.Rhythm(-math.Expm1(-m.RatePerDay))
	}
	return m, true
}

// hoursOf returns a belief about the hour of the day at which a page with that rate changes, learned as a refresh
// policy would. It uses the visits, given by their end times, that came within a day of the one before. It returns nil
// if there is none.
func hoursOf(seen []change.Observation, ends []float64, rate float64) (hours *change.Timetable) {
	for i, o := range seen {
		if o.Length >= 86400 {
			continue
		}
		if hours == nil {
			hours = change.NewTimetable()
		}
		hours.See(ends[i]-o.Length, ends[i], o.Changed, 0, func(own float64) float64 { return math.Exp(-rate * own) })
	}
	return hours
}
