package node

import (
	"strings"
	"testing"
)

// TestLine holds that rates are shown by the machine's clock.
func TestLine(t *testing.T) {
	s := Status{Summary: Summary{Pages: 7, PagesPerS: 0.0005}, RecentPagesS: 0.001, RecentBytesS: 20}
	for rate, want := range map[float64]string{0: "7 pages  0.0 pages/s (now 0.0)  0.00 MB/s", 1: "7 pages  0.0 pages/s", 100_000: "7 pages  50.0 pages/s (now 100.0)  2.00 MB/s"} {
		if s.ClockRate = rate; !strings.HasPrefix(s.Line(), want) {
			t.Errorf("rate %v: %q, want %q…", rate, s.Line(), want)
		}
	}
}
