package change_test

import (
	"fmt"
	"math"
	"testing"

	"freshet/change"
)

// TestAge compares with a direct minimisation over the crawl times, λ = 3, T = 1, δ = 0.2.
func TestAge(t *testing.T) {
	page := change.Page{Process: change.Poisson(3), Interval: 1, Age: 0.2}
	want := []float64{.8261707, .59392871, .45159033, .35915567, .29498321, .24801939, .21306132, .18669113, .16610474}
	for x, want := range want {
		if got := page.Staleness(x); math.Abs(got-want) > 5.1e-9 {
			t.Errorf("%d crawls: %.9f, want %v", x, got, want)
		}
	}
}

// TestTimes adds up the gaps between the times. Their staleness must be that of the curve.
func TestTimes(t *testing.T) {
	for _, age := range []float64{0, 0.01, 0.2, 0.7, 5} {
		page := change.Page{Process: change.Poisson(3), Interval: 1, Age: age}
		phi := func(length float64) float64 {
			stale, _ := page.Process.Staleness(length)
			return stale * length
		}
		for x := range 12 {
			total, last := -phi(age), -age
			for _, at := range append(page.Times(nil, x), 1) {
				total += phi(at - last)
				last = at
			}
			if want := page.Staleness(x); math.Abs(total-want) > 1e-12 {
				t.Errorf("age %v, %d crawls at %v: staleness %v, want %v", age, x, page.Times(nil, x), total, want)
			}
		}
	}
	if got := (change.Page{Process: change.Poisson(3), Interval: 1, Age: math.Inf(1)}).Times(nil, 4); fmt.Sprint(got) != "[0 0.25 0.5 0.75]" {
		t.Errorf("without a past: %v", got)
	}
}

func ExamplePage() {
	rate, _ := change.NewPoisson(3.0 / 86400) // three changes a day
	page, _ := change.NewPage(rate, 86400, 4*3600)
	for x := range 4 {
		fmt.Printf("%d crawls: %.3f stale, one more gains %.3f\n", x, page.Staleness(x), page.Gain(x))
	}
	fmt.Printf("%.0f\n", page.Times(nil, 2))
	// Output:
	// 0 crawls: 0.808 stale, one more gains 0.228
	// 1 crawls: 0.580 stale, one more gains 0.138
	// 2 crawls: 0.443 stale, one more gains 0.089
	// 3 crawls: 0.354 stale, one more gains 0.062
	// [19200 52800]
}
