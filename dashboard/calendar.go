package dashboard

import (
	"time"
)

// A month of a calendar of versions.
type month struct {
	Name  string
	Weeks [][]day // of seven days each, Monday first
}

// A day of a calendar. The zero day is outside of its month.
type day struct {
	Number   int
	Versions int    // stored then
	Visits   int    // that found nothing new
	Replay   string // address of the last version of the day; empty: none is kept
}

// calendar returns the last months in which a page was visited, oldest first, at most that many. Months without a
// visit are left out.
func calendar(h History, replay func(Version) string, most int) (months []month) {
	days := map[time.Time]*day{}
	at := func(t time.Time) *day {
		date := t.UTC().Truncate(24 * time.Hour)
		if days[date] == nil {
			days[date] = &day{}
		}
		return days[date]
	}
	for _, v := range h.Visits {
		if !v.Changed {
			at(v.At).Visits++
		}
	}
	for _, v := range h.Versions {
		d := at(v.At)
		d.Versions++
		if v.WARC != "" {
			d.Replay = replay(v)
		}
	}
	firsts := map[time.Time]bool{}
	var first, last time.Time
	for date := range days {
		m := date.AddDate(0, 0, 1-date.Day())
		firsts[m] = true
		if first.IsZero() || m.Before(first) {
			first = m
		}
		if m.After(last) {
			last = m
		}
	}
	for m := last; len(months) < most && !m.Before(first) && len(firsts) > 0; m = m.AddDate(0, -1, 0) {
		if firsts[m] {
			months = append([]month{monthOf(m, days)}, months...)
		}
	}
	return months
}

// monthOf lays out the month that begins at a day.
func monthOf(first time.Time, days map[time.Time]*day) month {
	m := month{Name: first.Format("January 2006")}
	week := make([]day, (int(first.Weekday())+6)%7, 7)
	for date := first; date.Month() == first.Month(); date = date.AddDate(0, 0, 1) {
		d := day{}
		if known := days[date]; known != nil {
			d = *known
		}
		d.Number = date.Day()
		if week = append(week, d); len(week) == 7 {
			m.Weeks = append(m.Weeks, week)
			week = nil
		}
	}
	if len(week) > 0 {
		m.Weeks = append(m.Weeks, append(week, make([]day, 7-len(week))...))
	}
	return m
}
