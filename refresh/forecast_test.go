package refresh

import (
	"math"
	"testing"

	"freshet/change"
)

// TestForecast holds that a forecast for pages of one known rate is the closed form. More budget never hurts, and no
// budget keeps nothing fresh.
func TestForecast(t *testing.T) {
	x := NewIndex(IndexOptions{})
	var pages []Outlook
	for id := range ID(10) {
		x.Add(id, Page{Site: "s", Weight: 1})
		quarter := change.Evidence{10: 1} // of a change a day
		x.learner.beliefs[id] = quarter.Pack(0)
		pages = append(pages, x.Outlook(id))
	}
	budgets := []float64{0, 1 / day, 10 / day, 100 / day}
	got := Forecast(pages, budgets)
	for i, budget := range budgets {
		want := 0.0
		if budget > 0 {
			a := change.GridRate(10) * 10 / budget
			want = -math.Expm1(-a) / a
		}
		if math.Abs(got[i]-want) > 0.005 {
			t.Errorf("budget %v: freshness %.4f, want %.4f", budget*day, got[i], want)
		}
	}
}
