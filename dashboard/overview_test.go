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
