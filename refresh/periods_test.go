package refresh

import (
	"math"
	"testing"
)

// TestPeriods holds that ten years of days take few periods, without a gap. Days that become one period keep the sum of
// their shared changes.
func TestPeriods(t *testing.T) {
	const days = 3650
	var s shared
	want := 0.0
	for d := range days {
		s.extend(d + 1)
		h := float64(d % 7)
		last := &s.periods[len(s.periods)-1]
		last.hazard = h
		if want += h; math.Abs(s.total()-want) > 1e-6 {
			t.Fatalf("day %d: %v shared changes in all, want %v", d, s.total(), want)
		}
		for e := range d + 1 {
			if i := s.find(e); int(s.periods[i].start) > e || s.end(i) <= e {
				t.Fatalf("of %d days, day %d is not in period %d", d+1, e, i)
			}
		}
	}
	if n := len(s.periods); n > 10*alike {
		t.Errorf("%d days take %d periods", days, n)
	}
}
