package sites

import (
	"testing"
	"time"
)

func TestViolations(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	exchange := func(host string, start, end int) Exchange {
		e := Exchange{Host: host, Start: at(start)}
		if end > 0 {
			e.End = at(end)
		}
		return e
	}
	for name, test := range map[string]struct {
		exchanges []Exchange
		want      []time.Duration // the gaps of the violations
	}{
		"none":            {nil, nil},
		"far enough":      {[]Exchange{exchange("a", 0, 10), exchange("a", 110, 120)}, nil},
		"too soon":        {[]Exchange{exchange("a", 0, 10), exchange("a", 109, 120)}, []time.Duration{99 * time.Millisecond}},
		"at once":         {[]Exchange{exchange("a", 0, 200), exchange("a", 150, 160)}, []time.Duration{-50 * time.Millisecond}},
		"other hosts":     {[]Exchange{exchange("a", 0, 200), exchange("b", 150, 160)}, nil},
		"out of order":    {[]Exchange{exchange("a", 109, 120), exchange("a", 0, 10)}, []time.Duration{99 * time.Millisecond}},
		"never ended":     {[]Exchange{exchange("a", 10, 0), exchange("a", 500, 510)}, []time.Duration{-490 * time.Millisecond}},
		"within a longer": {[]Exchange{exchange("a", 0, 1000), exchange("a", 10, 20), exchange("a", 500, 510)}, []time.Duration{-990 * time.Millisecond, -500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Violations(test.exchanges, 100*time.Millisecond)
			if len(got) != len(test.want) {
				t.Fatalf("%d violations, want %d: %v", len(got), len(test.want), got)
			}
			for i, v := range got {
				if v.Gap != test.want[i] {
					t.Errorf("violation %d has gap %v, want %v (%v)", i, v.Gap, test.want[i], v)
				}
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	log := []Exchange{
		{Host: "a", Target: "/", Status: 200}, {Host: "b", Target: "/", Status: 200},
		{Host: "a", Target: "/", Status: 200}, {Host: "a", Target: "/x", Status: 0},
		{Host: "a", Target: "/x", Status: 200}, {Host: "a", Target: "/", Status: 200},
		{Host: "a", Target: "/robots.txt", Status: 404}, {Host: "a", Target: "/robots.txt", Status: 404},
	}
	if got := Repeats(log); got != 2 {
		t.Errorf("Repeats = %d, want 2", got)
	}
}
