package seen

import (
	"testing"
	"time"
)

// since is when the oldest of some links came. The links may wait for a second.
type since time.Time

func (s since) Due(now time.Time, wait time.Duration) bool {
	return now.Sub(time.Time(s)) >= max(time.Second, wait)
}

// TestTiming holds when to decide links that came as a drain ended. Drains take a second; the last was held up and took
// a minute.
func TestTiming(t *testing.T) {
	var timing Timing
	for _, took := range []time.Duration{time.Second, time.Minute} {
		timing.Began(epoch.Add(-took))
		timing.Ended(epoch)
	}
	for _, test := range []struct {
		name          string
		found, queued bool
		after         time.Duration
		due           bool
	}{
		{"busy, before the rest after the drain", true, true, 29 * time.Second, false},
		{"busy, after it", true, true, 30 * time.Second, true},
		{"hosts wait, and links wait for each other", false, true, time.Second / 2, false},
		{"hosts wait, and links have waited", false, true, time.Second, true},
		{"nothing is queued", false, false, 0, true},
	} {
		timing.Asked(test.found, test.queued)
		if got := timing.Due(since(epoch), epoch.Add(test.after)); got != test.due {
			t.Errorf("%s: due %v, want %v", test.name, got, test.due)
		}
	}
}
