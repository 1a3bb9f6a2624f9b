package extract

import (
	"strings"
	"time"
)

// Layouts of dates: the W3C's forms, other forms that servers write, and the mail format of RSS. None parses a zone
// by its name, because that would depend on the machine.
var (
	w3cLayouts = []string{
		time.RFC3339, "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01", "2006",
		"2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
	}
	mailLayouts = []string{
		"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04 -0700", "2 Jan 06 15:04:05 -0700",
		"2 Jan 06 15:04 -0700", "2 January 2006 15:04:05 -0700", "2 Jan 2006",
	}
)

// maxDate is longer than any date.
const maxDate = 64

// parseDate returns the time in a date of a sitemap or feed, in UTC. A date without a time is its first instant. It
// returns zero if s is not a date, or is outside the years 1970 to 2261, which nanoseconds can express.
func parseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) < len("2006") || len(s) > maxDate {
		return time.Time{}
	}
	layouts := w3cLayouts
	if !isDigits(s[:4]) {
		layouts, s = mailLayouts, numericZone(s)
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			if t = t.UTC(); t.Year() >= 1970 && t.Year() <= 2261 {
				return t
			}
		}
	}
	return time.Time{}
}

// numericZone returns a date in the mail format without its weekday and with a numeric zone.
func numericZone(s string) string {
	if _, after, found := strings.Cut(s, ","); found {
		s = after
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		return ""
	}
	last := &words[len(words)-1]
	switch strings.ToUpper(*last) {
	case "UT", "UTC", "GMT", "Z":
		*last = "+0000"
	case "EDT":
		*last = "-0400"
	case "EST", "CDT":
		*last = "-0500"
	case "CST", "MDT":
		*last = "-0600"
	case "MST", "PDT":
		*last = "-0700"
	case "PST":
		*last = "-0800"
	}
	return strings.Join(words, " ")
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
