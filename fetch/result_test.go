package fetch

import (
	"math"
	"net/http"
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
			r := Result{Header: http.Header{"Retry-After": {test.value}}}
			got, ok := r.RetryAfter(now)
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
		r := Result{Header: http.Header{"Retry-After": {value}}}
		if wait, ok := r.RetryAfter(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); wait < 0 || wait > 0 && !ok {
			t.Errorf("%q: %v %v", value, wait, ok)
		}
	})
}

func TestRedirect(t *testing.T) {
	tests := []struct {
		name      string
		status    int
		location  string
		want      string
		permanent bool
	}{
		{"moved", 301, "/b", "http://example.com/b", true},
		{"permanent", 308, "https://example.org/", "https://example.org/", true},
		{"found", 302, "c?d", "http://example.com/a/c?d", false},
		{"see other", 303, "//example.org/x", "http://example.org/x", false},
		{"temporary", 307, "?q", "http://example.com/a/b?q", false},
		{"no location", 301, "", "", false},
		{"other scheme", 301, "ftp://example.com/", "", false},
		{"script", 302, "javascript:alert(1)", "", false},
		{"not a redirect", 200, "/b", "", false},
		{"not modified", 304, "/b", "", false},
		{"choices", 300, "/b", "", false},
		{"space and raw UTF-8", 301, "/caf\u00e9 x", "http://example.com/caf%C3%A9%20x", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Result{URL: page(t, "http://example.com/a/b"), Status: test.status, Header: http.Header{"Location": {test.location}}}
			target, permanent, ok := r.Redirect()
			if target.String() != test.want || permanent != test.permanent || ok != (test.want != "") {
				t.Errorf("got %q %v %v", target, permanent, ok)
			}
		})
	}
}

// Labels of metrics are words, each its own.
func TestLabels(t *testing.T) {
	seen := map[string]bool{}
	label := func(s string) {
		if s == "" || seen[s] {
			t.Errorf("label %q is empty or repeated", s)
		}
		seen[s] = true
	}
	for o := Answered; o < outcomes; o++ {
		if o != Answered {
			label((&Result{Outcome: o}).Class())
		}
	}
	for _, status := range []int{101, 204, 301, 404, 503, 999} {
		label((&Result{Outcome: Answered, Status: status}).Class())
	}
	for p := PhaseDNS; p <= PhaseDone; p++ {
		label(p.String())
	}
}
