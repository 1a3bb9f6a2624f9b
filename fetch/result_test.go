package fetch

import (
	"net/http"
	"testing"
)

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
