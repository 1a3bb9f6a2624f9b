package frontier

import (
	"strconv"
	"strings"
)

// How often a path may repeat a name. Trees of documentation repeat the name of a directory (foo/foo/foo.html), so two
// or three in a row are common. A relative link that resolves below its own page adds one with every page.
const (
	maxSame   = 3 // directories of one name in a path, wherever they stand
	maxBlocks = 2 // the same two or more directories, one after the other
)

// repeats reports whether a path repeats itself: more than maxSame of its directories have one name, or a run of two or
// more directories occurs more than maxBlocks times in a row. The last segment, the page's own name, does not count.
// Names of digits alone, such as identifiers and dates, repeat by chance, so they count only as part of a run with
// others.
func repeats(path string) bool {
	directories := strings.Split(strings.TrimPrefix(path, "/"), "/")
	directories = directories[:len(directories)-1]
	for i, name := range directories {
		if name != "" && !isNumber(name) && count(directories[i:], name) > maxSame {
			return true
		}
	}
	for length := 2; length*(maxBlocks+1) <= len(directories); length++ {
		if hasRun(directories, length) {
			return true
		}
	}
	return false
}

func count(names []string, name string) (n int) {
	for _, other := range names {
		if other == name {
			n++
		}
	}
	return n
}

// hasRun reports whether a block of length names, not all of them numbers, occurs more than maxBlocks times in a row.
// That is so if at least maxBlocks × length names in a row each equal the name length places before.
func hasRun(names []string, length int) bool {
	same, words := 0, 0
	for i := length; i < len(names); i++ {
		if names[i] != names[i-length] {
			same, words = 0, 0
			continue
		}
		same++
		if !isNumber(names[i]) {
			words++
		}
		if same >= maxBlocks*length && words > 0 {
			return true
		}
	}
	return false
}

// Calendars link from every month to the next and the previous one, forever. Pages for the years between these two are
// admitted.
const (
	firstYear   = 1990 // hardly any site has pages about earlier years
	futureYears = 2    // years that calendars are filled in advance
)

// isEndlessCalendar reports whether a URL names a date, as calendars do, in a distant year. Dates are: a path that
// ends in year/month/day ("2031/05/17") or in year/month after a word for calendars; a path segment or query value
// that is year-month or year-month-day ("2031-05"); a query parameter for the year beside one for the month. A date
// followed by the name of an article does not count, nor does a number alone.
func isEndlessCalendar(path, query string, thisYear int) bool {
	far := func(year int) bool { return year != 0 && (year < firstYear || year > thisYear+futureYears) }
	segments := strings.Split(strings.Trim(path, "/"), "/")
	last := segments[len(segments)-1]
	return far(dashedDate(last)) || far(pathDate(segments)) || query != "" && far(queryDate(query))
}

// dashedDate returns the year of "2031-05" or "2031-05-17", or 0 for other texts.
func dashedDate(text string) int {
	parts := strings.Split(text, "-")
	if len(parts) == 3 && !inRange(parts[2], 2, 1, 31) {
		return 0
	}
	if len(parts) != 2 && len(parts) != 3 || !inRange(parts[1], 2, 1, 12) {
		return 0
	}
	return year(parts[0])
}

// pathDate returns the year of a path that ends in year/month/day, or in year/month after a word for
// calendars, or 0.
func pathDate(segments []string) int {
	n := len(segments)
	if n >= 3 && inRange(segments[n-2], 2, 1, 12) && inRange(segments[n-1], 2, 1, 31) {
		if y := year(segments[n-3]); y != 0 {
			return y
		}
	}
	if n >= 3 && isCalendar(segments[n-3]) && inRange(segments[n-1], 0, 1, 12) {
		return year(segments[n-2])
	}
	return 0
}

func isCalendar(word string) bool {
	switch strings.ToLower(word) {
	case "calendar", "calendars", "cal", "kalender", "calendrier", "calendario", "agenda", "events", "event",
		"month", "schedule", "termine":
		return true
	}
	return false
}

// queryDate returns the year that a query names, or 0: as the value of one parameter, or of one for
// the year beside one for the month.
func queryDate(query string) int {
	named, month := 0, false
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if y := dashedDate(value); y != 0 {
			return y
		}
		switch strings.ToLower(name) {
		case "year", "yr", "y", "jahr":
			named = year(value)
		case "month", "mon", "m", "monat":
			month = month || inRange(value, 0, 1, 12)
		}
	}
	if month {
		return named
	}
	return 0
}

// year returns the year from 1000 to 9999 that text is, or 0.
func year(text string) int {
	if !inRange(text, 4, 1000, 9999) {
		return 0
	}
	y, _ := strconv.Atoi(text)
	return y
}

// inRange reports whether text is that many digits (0: one or two) and a number from low to high.
func inRange(text string, digits, low, high int) bool {
	if digits == 0 && len(text) > 2 || digits > 0 && len(text) != digits || !isNumber(text) {
		return false
	}
	n, _ := strconv.Atoi(text)
	return low <= n && n <= high
}

func isNumber(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
