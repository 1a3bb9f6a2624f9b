package consent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"freshet/consent"
)

// TestVerdict holds what each signal means. The lines of robots.txt are the examples of draft-ietf-aipref-attach and of
// contentsignals.org.
func TestVerdict(t *testing.T) {
	const no, yes, none = consent.Disallowed, consent.Allowed, consent.Unsaid
	for _, c := range []struct {
		signals                  string
		search, aiInput, aiTrain consent.Verdict
	}{
		{"", none, none, none},
		{"header content-usage: train-ai=n", none, none, no},
		{"header content-usage: train-ai=y, search=n", no, none, yes},
		{"header content-usage: ai-use=n;exception=1, train-ai", none, no, none},
		{"header content-usage: train-ai=?0", none, none, none},
		{"header content-usage: train-ai=y, train-genai=n", none, none, no},
		{"header content-usage: bots=n, search=y", yes, no, no},
		{"robots.txt content-usage: / train-ai=n", none, none, no},
		{"robots.txt content-usage: /ai-ok/ train-ai=y", none, none, yes},
		{"robots.txt content-usage: train-ai=n", none, none, no},
		{"robots.txt content-signal: search=yes, ai-train=no", yes, none, no},
		{"robots.txt content-signal: Search=YES,AI-Train=No,ai-input=maybe", yes, none, no},
		{"header content-signal: ai-train=yes, search=yes, ai-input=yes", yes, yes, yes},
		{"header tdm-reservation: 1", none, no, no},
		{"meta tdm-reservation: 0", none, yes, yes},
		{"meta tdm-reservation: 2", none, none, none},
		{"meta tdm-policy: https://a.test/policy.json", none, none, none},
		{"meta robots: noai, noimageai", none, no, no},
		{"header robots: noimageai", none, none, none},
		{"header robots: noindex", no, none, none},
		{"meta robots: none", no, none, none},
		{"meta robots: noai, max-image-preview: none", none, no, no},
		{"link license: https://creativecommons.org/licenses/by/4.0/", none, none, none},
		// The stricter one holds, whichever comes first.
		{"meta robots: noai\nheader content-usage: train-ai=y", none, no, no},
		{"header tdm-reservation: 0\nrobots.txt content-signal: ai-train=no", none, yes, no},
	} {
		s := consent.Parse(c.signals)
		got := [...]consent.Verdict{s.Verdict(consent.Search), s.Verdict(consent.AIInput), s.Verdict(consent.AITrain)}
		if want := [...]consent.Verdict{c.search, c.aiInput, c.aiTrain}; got != want {
			t.Errorf("%q: got %v, want %v", c.signals, got, want)
		}
		if s.String() != c.signals {
			t.Errorf("%q: kept as %q", c.signals, s)
		}
		for _, u := range consent.Uses() {
			if s.Reserved([]consent.Use{u}) != (s.Verdict(u) == no) {
				t.Errorf("%q: %s", c.signals, u)
			}
		}
	}
}

// TestWith holds what is kept of what is found.
func TestWith(t *testing.T) {
	var s consent.Signals
	s = s.With(consent.Meta, consent.Directives, "nofollow, max-snippet:20")
	s = s.With(consent.Header, consent.TDMPolicy, " \n ")
	if len(s) != 0 {
		t.Errorf("what says nothing is kept: %v", s)
	}
	s = s.With(consent.Header, consent.ContentUsage, "train-ai=n\r\n meta robots: none").With(consent.Header, consent.ContentUsage, "train-ai=n\tmeta robots: none")
	if s.String() != "header content-usage: train-ai=n meta robots: none" {
		t.Errorf("a line break: %q", s)
	}
	s = s.With(consent.Link, consent.License, strings.Repeat("é", consent.MaxValue))
	if v := s[1].Value; len(v) > consent.MaxValue || strings.ContainsRune(v, '\uFFFD') {
		t.Errorf("%d bytes: %q", len(v), v)
	}
	for i := range 2 * consent.MaxSignals {
		s = s.With(consent.Link, consent.License, fmt.Sprint(i))
	}
	if len(s) != consent.MaxSignals {
		t.Errorf("%d signals", len(s))
	}
	if got := consent.Parse("footer content-usage: train-ai=n\nmeta author: somebody\nmeta robots noai\nmeta robots: noai"); !slices.Equal(got, consent.Signals{{Source: "meta", Name: "robots", Value: "noai"}}) {
		t.Errorf("lines that are no signals: %v", got)
	}
	// What is beyond the bounds refuses all the same.
	long := strings.Repeat("x", consent.MaxValue)
	for _, c := range []struct{ source, name, value, kept string }{
		{consent.Robots, consent.ContentUsage, "/" + long + " train-ai = n;q=" + long + ", train-ai=y, bots=y", "train-ai=n, bots=y"},
		{consent.Robots, consent.ContentSignal, "/" + long + " search=yes, ai-train=no", "search=yes, ai-train=no"},
		{consent.Meta, consent.Directives, long + " NOAI, max-snippet:2", "noai"},
	} {
		if got := s[:0:0].With(c.source, c.name, c.value); len(got) != 1 || got[0].Value != c.kept || got.Verdict(consent.AITrain) != consent.Disallowed {
			t.Errorf("a long %s is kept as %q", c.name, got)
		}
		full := s.With(c.source, c.name, c.value)
		if len(full) != consent.MaxSignals || full.Verdict(consent.AITrain) != consent.Disallowed {
			t.Errorf("%d signals and a refusal: %v", len(s), full)
		}
	}
	if _, err := consent.ParseUse("translate"); err == nil {
		t.Error("a use that there is not")
	}
}

// FuzzParse holds that what is read is written as it was read, that it keeps to the bounds, and that one more signal
// never makes a verdict milder than it was, nor than its own.
func FuzzParse(f *testing.F) {
	f.Add("robots.txt content-usage: / train-ai=n\nmeta robots: noai", "header", "ai-train=yes")
	f.Add("link license: x\n\nheader tdm-reservation: 1\r", "meta", "=,;=\xff")
	f.Fuzz(func(t *testing.T, text, source, value string) {
		s := consent.Parse(text)
		if again := consent.Parse(s.String()); !slices.Equal(again, s) {
			t.Fatalf("%q, then %q", s, again)
		}
		if len(s) > consent.MaxSignals {
			t.Fatalf("%d signals", len(s))
		}
		for _, name := range []string{consent.ContentUsage, consent.ContentSignal, consent.TDMReservation, consent.Directives} {
			more, alone := s.With(source, name, value), consent.Signals{{Source: source, Name: name, Value: value}}
			for _, u := range consent.Uses() {
				if more.Verdict(u) < s.Verdict(u) || alone.Verdict(u) == consent.Disallowed && more.Verdict(u) != consent.Disallowed {
					t.Fatalf("%s: %v, with %q %v", u, s.Verdict(u), value, more.Verdict(u))
				}
			}
			if len(more) > consent.MaxSignals {
				t.Fatalf("%d signals", len(more))
			}
		}
	})
}

// TestNarrow holds which signals of another answer are added to known ones.
func TestNarrow(t *testing.T) {
	for _, test := range []struct{ known, said, want string }{
		{"", "", ""},
		{"", "header robots: noai", "header robots: noai"},
		{"header robots: noai", "header robots: noai", ""},
		{"meta robots: noai", "header robots: noai", ""},
		{"meta robots: noai", "header content-signal: search=no", "meta robots: noai\nheader content-signal: search=no"},
		{"header robots: noai", "header content-signal: ai-train=yes", ""},
		{"header robots: noai", "", ""},
	} {
		if got := consent.Parse(test.said).Narrow(test.known); got != test.want {
			t.Errorf("known %q, said %q: %q, want %q", test.known, test.said, got, test.want)
		}
	}
}
