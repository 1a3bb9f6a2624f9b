package clock

import (
	"math"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, value string
		want        time.Duration
		ok          bool
	}{
		{"none", "", 0, false},
		{"blank", " ", 0, false},
		{"seconds", "120", 2 * time.Minute, true},
		{"blanks", " 120 ", 2 * time.Minute, true},
		{"zero", "0", 0, true},
		{"a year", "31536000", 365 * 24 * time.Hour, true},
		{"past every Duration", "9999999999999", math.MaxInt64, true},
		{"past every integer", "99999999999999999999999", math.MaxInt64, true},
		{"negative", "-1", 0, false},
		{"fraction", "1.5", 0, false},
		{"word", "soon", 0, false},
		{"date", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute, true},
		{"old form of a date", "Friday, 02-Jan-26 03:05:05 GMT", time.Minute, true},
		{"C's date", "Fri Jan  2 03:05:05 2026", time.Minute, true},
		{"past date", "Fri, 02 Jan 2025 03:05:05 GMT", 0, true},
		{"date far off", "Fri, 02 Jan 9999 03:05:05 GMT", math.MaxInt64, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := RetryAfter(test.value, now)
			if got != test.want || ok != test.ok {
				t.Errorf("got %v %v, want %v %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Fri, 02 Jan 2026 03:05:05 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if wait, ok := RetryAfter(value, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); wait < 0 || wait > 0 && !ok {
			t.Errorf("%q: %v %v", value, wait, ok)
		}
	})
}
