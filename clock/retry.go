package clock

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long after now the Retry-After field of an answer asks to wait, in seconds or as a date (RFC
// 9110, 10.2.3). A date in the past is 0, a number beyond the range the longest Duration. ok is false if the field is
// empty, negative or unreadable.
func RetryAfter(field string, now time.Time) (wait time.Duration, ok bool) {
	field = strings.TrimSpace(field)
	if field != "" && strings.Trim(field, "0123456789") == "" {
		return seconds(field), true
	}
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} { // RFC 9110, 5.6.7
		if date, err := time.Parse(form, field); err == nil {
			return max(0, date.Sub(now)), true
		}
	}
	return 0, false
}

// seconds converts a string of decimal digits. On overflow it returns the longest Duration.
func seconds(digits string) time.Duration {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}
