package main

import (
	"testing"
	"time"

	"freshet/clock"
)

// TestPace holds the forms of --clock, and that two clocks of one start agree whenever they are opened.
func TestPace(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "28800": "28800", "0.5": "0.5", "86400@2026-01-31T13:00:00+01:00": "86400@2026-01-31T12:00:00Z",
		"0": "", "-1": "", "1e7": "", "NaN": "", "": "", "2@noon": "", "@2026-01-31T12:00:00Z": "",
	} {
		p := pace{rate: 1}
		switch err := p.Set(text); {
		case want == "" && (err == nil || p.rate != 1):
			t.Errorf("%q is taken for %v", text, p.String())
		case want != "" && (err != nil || p.String() != want):
			t.Errorf("%q: %q, %v: want %q", text, p.String(), err, want)
		}
	}
	p := pace{rate: 1000, start: clock.Real().Now().Add(-time.Hour)}
	first := p.clock()
	second := p.clock()
	a, b, c := first.Now(), second.Now(), first.Now()
	if a.Sub(p.start) < 1000*time.Hour || b.Sub(a) < -time.Second || c.Sub(b) < -time.Second {
		t.Errorf("two clocks of one pace: %v, %v, %v: want them in order, and 1000 hours after %v", a, b, c, p.start)
	}
}
