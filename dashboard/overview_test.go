package dashboard

import (
	"strings"
	"testing"
)

// TestJudgeDisk waits until a run's pace tells something before it says that the disk will be full.
func TestJudgeDisk(t *testing.T) {
	for seconds, want := range map[float64]string{5: "well", 3600: "ill"} {
		n := now{State: "running", DurationS: seconds, Pages: 10, DiskFullS: 3600}
		if got := judge(n, nil, nil); got.Kind != want || strings.Contains(got.Text, "disk") != (want == "ill") {
			t.Errorf("after %v s: %+v, want %s", seconds, got, want)
		}
	}
}

// TestSeconds prints lengths of time as people read them, from a moment to longer than a time.Duration lasts.
func TestSeconds(t *testing.T) {
	for v, want := range map[float64]string{0: "0 s", 0.05: "0.05 s", 12: "12 s", 300: "5 min", 48240: "13.4 h", 216000: "2.5 days", 1e12: "11,574,074 days"} {
		if got := seconds(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
