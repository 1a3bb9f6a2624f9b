package frontier

import (
	"fmt"
	"strings"
	"time"
)

// Manners are an operator's rules for one site. A zero field changes nothing.
type Manners struct {
	Delay  *time.Duration // replaces Options.Delay
	Budget int            // maximum fetches per day, spread evenly over Hours
	Least  time.Duration  // the delay is at least this
	Hours  Hours          // when requests are allowed
}

// Interval returns the shortest wait between two requests to the site; delay is the wait for all sites. It converts a
// budget to an interval, which is part of the gate that every fetch stores. So a restart does not start a new day.
func (m *Manners) Interval(delay time.Duration) time.Duration {
	if m == nil {
		return delay
	}
	if m.Delay != nil {
		delay = *m.Delay
	}
	delay = max(delay, m.Least)
	if m.Budget > 0 {
		delay = max(delay, m.Hours.Open()/time.Duration(m.Budget))
	}
	return min(delay, MaxCrawlDelay)
}

// opens returns the first instant, not before from, at which requests to the site are allowed.
func (m *Manners) opens(from instant) instant {
	if m == nil || len(m.Hours.spans) == 0 || from == never {
		return from
	}
	return at(m.Hours.Next(from.time()))
}

// Hours are spans of the day, in a time zone. The zero value is the whole day.
type Hours struct {
	spans []daySpan
	zone  *time.Location
}

// daySpan is a span between two minutes of the day. If to is not after from, it ends on the next day.
type daySpan struct{ from, to int }

const minutesOfDay = 24 * 60

// maxSpans limits the number of spans in a day.
const maxSpans = 24

// ParseHours parses spans, separated by commas, and a time zone of the IANA database: "22:00-06:00 Europe/Berlin",
// "0:00-6:00,12:30-13:30". The default zone is UTC.
func ParseHours(text string) (Hours, error) {
	fault := func(want string) error { return fmt.Errorf("frontier: hours %q: want %s", text, want) }
	spans, zone, _ := strings.Cut(strings.TrimSpace(text), " ")
	location, err := time.LoadLocation(strings.TrimSpace(zone))
	if err != nil || zone == "Local" {
		return Hours{}, fault("a time zone such as Europe/Berlin behind the spans")
	}
	h := Hours{zone: location}
	for span := range strings.SplitSeq(spans, ",") {
		from, to, _ := strings.Cut(span, "-")
		begins, err1 := minuteOf(from)
		ends, err2 := minuteOf(to)
		if err1 != nil || err2 != nil || begins == minutesOfDay || begins == ends || len(h.spans) == maxSpans {
			return Hours{}, fault("spans such as 22:00-06:00,12:00-13:00, at most 24")
		}
		h.spans = append(h.spans, daySpan{begins, ends})
	}
	return h, nil
}

// minuteOf parses 0:00 to 24:00.
func minuteOf(text string) (int, error) {
	hour, minute, ok := strings.Cut(text, ":")
	if !ok || len(hour) == 0 || len(hour) > 2 || len(minute) != 2 || !isNumber(hour) || !isNumber(minute) {
		return 0, fmt.Errorf("frontier: time of day %q", text)
	}
	n := 0
	for _, digit := range hour {
		n = 10*n + int(digit-'0')
	}
	m := 10*int(minute[0]-'0') + int(minute[1]-'0')
	if m > 59 || n*60+m > minutesOfDay {
		return 0, fmt.Errorf("frontier: time of day %q", text)
	}
	return n*60 + m, nil
}

// Open returns the total length of the spans in a day of 24 hours.
func (h Hours) Open() time.Duration {
	if len(h.spans) == 0 {
		return 24 * time.Hour
	}
	var open [minutesOfDay]bool
	for _, s := range h.spans {
		for m := s.from; m < s.end(); m++ {
			open[m%minutesOfDay] = true
		}
	}
	n := 0
	for _, is := range open {
		if is {
			n++
		}
	}
	return time.Duration(n) * time.Minute
}

// end returns the minute at which the span ends, counted from the day on which it begins.
func (s daySpan) end() int {
	if s.to <= s.from {
		return s.to + minutesOfDay
	}
	return s.to
}

// Next returns now if it is within the hours, else the beginning of the next span. When a zone's clocks change, spans
// begin and end by the new local time. O(spans).
func (h Hours) Next(now time.Time) time.Time {
	if len(h.spans) == 0 {
		return now
	}
	year, month, day := now.In(h.zone).Date()
	var next time.Time
	for _, s := range h.spans {
		for offset := -1; offset <= 1; offset++ {
			from := time.Date(year, month, day+offset, 0, s.from, 0, 0, h.zone)
			to := time.Date(year, month, day+offset, 0, s.end(), 0, 0, h.zone)
			if !now.Before(from) && now.Before(to) {
				return now
			}
			if from.After(now) && (next.IsZero() || from.Before(next)) {
				next = from
			}
		}
	}
	return next
}

// IsZero reports whether the hours are the whole day.
func (h Hours) IsZero() bool { return len(h.spans) == 0 }

// String returns the hours in the form that ParseHours accepts, empty for the whole day.
func (h Hours) String() string {
	if len(h.spans) == 0 {
		return ""
	}
	spans := make([]string, len(h.spans))
	for i, s := range h.spans {
		spans[i] = fmt.Sprintf("%d:%02d-%d:%02d", s.from/60, s.from%60, s.to/60, s.to%60)
	}
	return strings.Join(spans, ",") + " " + h.zone.String()
}
