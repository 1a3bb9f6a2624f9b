package node

import (
	"math"
	"time"

	"freshet/change"
	"freshet/crawl/keepfresh"
	"freshet/store"
)

// A Model is how a page changes, as far as its visits tell.
type Model struct {
	Process    string // "poisson": at random; "quasi": around an hour of the day, or not that day
	RatePerDay float64
	Visits     int           // that told whether it had changed
	Changed    int           // of these, that found a change
	Rhythm     change.Rhythm // of "quasi"
	Anytime    float64       // of "quasi": the probability that it keeps no hour after all
}

// FitVisits fits a model to the visits of a page, oldest first. The rate is the most likely one of a page
// that changes at random; that of a page that always, or never, had changed is held off infinity, or 0, by
// half a visit. ok is false without two visits that saw the page whole. O(visits).
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

// hoursOf returns what visits that end at these times say of the hour of the day at which a page of that rate
// changes, as a refresh policy learns it: from those within a day of the one before. Nil if there is none.
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
