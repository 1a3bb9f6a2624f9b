package node

import (
	"time"

	"freshet/change"
	"freshet/crawl/keepfresh"
	"freshet/store"
)

// A Model is how a page changes, as far as its visits tell.
type Model struct {
	Process    string // "poisson": at random; "quasi": at a phase of a period, or not
	RatePerDay float64
	Visits     int // that told whether it had changed
	Changed    int // of these, that found a change
	Rhythm     change.Rhythm
}

// rhythms are the periods that are looked for, the longest first: what keeps a phase of the day keeps one of
// its halves too.
var rhythms = [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour, 12 * time.Hour, 6 * time.Hour}

// Of a rhythm it is asked that it stands out by so much, and that visits are so much closer than its period:
// else it may be that of the visits.
const (
	rhythmChance = 1e-3
	rhythmVisits = 4
)

// FitVisits fits a model to the visits of a page, oldest first. The rate is the most likely one of a page
// that changes at random; that of a page that always, or never, had changed is held off infinity, or 0, by
// half a visit. ok is false without two visits that saw the page whole. O(visits).
func FitVisits(visits []store.Visit) (m Model, ok bool) {
	var seen []change.Observation
	var changes []float64
	var tally change.Tally
	last, length := int64(0), 0.0
	for _, v := range visits {
		if !v.Complete {
			continue
		}
		if last != 0 && v.At > last {
			o := change.Observation{Length: float64(v.At-last) / 1e9, Changed: v.Changed}
			seen = append(seen, o)
			tally.Add(o)
			length += o.Length
			if v.Changed {
				changes = append(changes, keepfresh.Seconds(time.Unix(0, v.At))-o.Length/2)
			}
		}
		last = v.At
	}
	if len(seen) == 0 {
		return m, false
	}
	m = Model{Process: "poisson", Visits: len(seen), Changed: len(changes)}
	if rate := tally.BiasReduced(); m.Changed == 0 || m.Changed == m.Visits {
		m.RatePerDay = rate * 86400
	} else {
		m.RatePerDay = change.MaximumLikelihood(seen) * 86400
	}
	for _, p := range rhythms {
		if length/float64(len(seen)) >= p.Seconds()/rhythmVisits {
			continue
		}
		if r := change.FindRhythm(changes, []float64{p.Seconds()}); r.Chance*float64(len(rhythms)) < rhythmChance {
			m.Process, m.Rhythm = "quasi", r
			break
		}
	}
	return m, true
}
