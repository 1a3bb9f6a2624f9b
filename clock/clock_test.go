package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for a time finds it come, at any rate: a wait rounded down would end early, and waits of zero length would
// follow it forever.
func TestSleepIsLongEnough(t *testing.T) {
	for _, rate := range []float64{0.3, 1, 7, 1000, 8640, 1e6} {
		synctest.Test(t, func(t *testing.T) {
			c := New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), rate)
			for _, d := range []time.Duration{1, 999, 1001, time.Second + 1, 36 * time.Hour} {
				until := c.Now().Add(d)
				if err := c.Sleep(context.Background(), d); err != nil {
					t.Fatal(err)
				}
				if now := c.Now(); now.Before(until) {
					t.Errorf("rate %v: after %v it is %v too early", rate, d, until.Sub(now))
				}
			}
		})
	}
}

// TestStepOfTheMachine holds that a clock counts from a monotonic reading, which a step of the machine's clock does not
// touch, at any rate and whatever time it was begun with.
func TestStepOfTheMachine(t *testing.T) {
	for _, c := range []*Clock{Real(), New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 8640)} {
		if c.started == c.started.Round(0) { //nolint:staticcheck // Equal ignores the reading
			t.Errorf("a clock of rate %v has no monotonic reading", c.Rate())
		}
	}
	if deadline := Real().Deadline(time.Second); deadline == deadline.Round(0) { //nolint:staticcheck // Equal ignores the reading
		t.Error("a deadline has no monotonic reading")
	}
}
