package dashboard

import "time"

// timeLine is a page's visits and versions drawn on a line of time.
type timeLine struct {
	From, To string
	Visits   []timed
	Versions []timed
}

// timed is a moment of a time line.
type timed struct {
	X    float64 // of timeWidth
	Bad  bool    // the visit failed
	Text string
}

const timeWidth, timeMargin = 640.0, 10.0

// lineOf lays out a page's visits and versions. It returns nil if there are fewer than two moments.
func lineOf(h History) *timeLine {
	var from, to time.Time
	widen := func(t time.Time) {
		if from.IsZero() || t.Before(from) {
			from = t
		}
		if t.After(to) {
			to = t
		}
	}
	for _, v := range h.Visits {
		widen(v.At)
	}
	for _, v := range h.Versions {
		widen(v.At)
	}
	if !to.After(from) {
		return nil
	}
	x := func(t time.Time) float64 {
		return timeMargin + float64(t.Sub(from))/float64(to.Sub(from))*(timeWidth-2*timeMargin)
	}
	l := &timeLine{From: showTimeOf(from), To: showTimeOf(to)}
	for _, v := range h.Visits {
		bad := v.Outcome != "stored" && v.Outcome != "not-modified"
		l.Visits = append(l.Visits, timed{x(v.At), bad, showTimeOf(v.At) + " " + v.Outcome})
	}
	for _, v := range h.Versions {
		l.Versions = append(l.Versions, timed{X: x(v.At), Text: showTimeOf(v.At)})
	}
	return l
}
