package node

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestForecast(t *testing.T) {
	tests := []struct {
		name   string
		past   recentPast
		queued int64
		bound  float64
		free   int64
		want   Forecast
	}{
		{"nothing lately", recentPast{seconds: 10}, 100, 7, 1, Forecast{unknownSeconds, 7, unknownSeconds, 0, unknownSeconds}},
		{"nothing queued", recentPast{seconds: 10}, 0, 0, 1, Forecast{0, 0, 0, 0, unknownSeconds}},
		// 10 pages/s; latest at 8/s.
		{"nothing discovered", recentPast{10, 100, 0, 1e6}, 1000, 0, 1e9, Forecast{100, 100, 125, 10_000_000, 10_000}},
		// Half a page a page: twice the queue. Latest: 0.5 + 2·√50/100 = 0.641 at 8/s: 1000/0.3586/8.
		{"half a page a page", recentPast{10, 100, 50, 1e6}, 1000, 0, 1e9, Forecast{200, 100, 1000 / (1 - .5 - 2*math.Sqrt(50)/100) / 8, 20_000_000, 10_000}},
		{"more than a page a page", recentPast{10, 100, 150, 1e6}, 1000, 0, 0, Forecast{unknownSeconds, 100, unknownSeconds, 0, unknownSeconds}},
		{"politeness decides", recentPast{10, 100, 0, 0}, 1000, 500, 1, Forecast{500, 500, 500, 0, unknownSeconds}},
		{"too few to tell the latest", recentPast{10, 4, 0, 0}, 10, 0, 1, Forecast{25, 25, unknownSeconds, 0, unknownSeconds}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := forecast(test.past, test.queued, test.bound, test.free)
			if math.Abs(got.LatestS-test.want.LatestS) < 1e-9*test.want.LatestS {
				got.LatestS = test.want.LatestS // the same but for rounding
			}
			if got != test.want {
				t.Errorf("%+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestForecastLaws holds that the forecast is a proper range, and that nothing comes before politeness allows it.
func TestForecastLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := recentPast{rapid.Float64Range(0, 1e4).Draw(t, "seconds"), rapid.Int64Range(0, 1e6).Draw(t, "pages"), rapid.Int64Range(0, 1e6).Draw(t, "discovered"), rapid.Int64Range(0, 1e12).Draw(t, "bytes")}
		bound := rapid.Float64Range(0, 1e6).Draw(t, "bound")
		f := forecast(p, rapid.Int64Range(0, 1e9).Draw(t, "queued"), bound, rapid.Int64Range(0, 1e15).Draw(t, "free"))
		if !(bound <= f.EarliestS && f.EarliestS <= f.RemainingS && f.RemainingS <= f.LatestS) || f.DiskNeededBytes < 0 || !(f.DiskFullS >= 0) {
			t.Fatalf("%+v of %+v", f, p)
		}
	})
}
