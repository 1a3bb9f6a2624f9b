package change

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestTimetableClock holds the laws of a page's own clock after any visits. A day has the length of a day, time never
// runs back, and Awaited rises with time.
func TestTimetableClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTimetable()
		now := rapid.Float64Range(0, 2e9).Draw(t, "start")
		for _, length := range rapid.SliceOf(rapid.Float64Range(1, 3*day)).Draw(t, "lengths") {
			rate := rapid.Float64Range(1e-7, 1e-3).Draw(t, "rate")
			table.See(now, now+length, rapid.Bool().Draw(t, "changed"), 0, func(own float64) float64 { return math.Exp(-rate * own) })
			now += length
		}
		sum := 0.0
		for h, p := range table {
			if !(p > 0) {
				t.Fatalf("hour %d has probability %v", h, p)
			}
			sum += float64(p)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("probabilities sum to %v", sum)
		}
		if own := table.Own(now, now+day); math.Abs(own-day) > 1 {
			t.Fatalf("a day has %v s by the page's clock", own)
		}
		clock, awaited := 0.0, 0.0
		for ahead := 600.0; ahead < 3*day; ahead += 600 {
			own := table.Own(now, now+ahead)
			await := table.Awaited(now, now+ahead)
			if !(own > clock && await > awaited) {
				t.Fatalf("after %v s the page's clock shows %v, %v before, and %v, %v before, for a visit", ahead, own, clock, await, awaited)
			}
			clock, awaited = own, await
		}
	})
}
