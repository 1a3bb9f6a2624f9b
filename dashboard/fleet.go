package dashboard

import (
	"fmt"
	"net/http"

	"freshet/dashboard/units"
)

// fleet shows how many fetches there are, and what that costs.
func (s *server) fleet(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	past, f := s.trend.past(), n.Fleet
	perSecond := func(v float64) string { return known(v, fmt.Sprintf("%.3g pages/s", v)) }
	return struct {
		Running bool
		Facts   []Row
		Charts  []chart
	}{n.running(), []Row{
		{"Rule", f.Rule},
		{"Fetches under way", units.Count(int64(f.Active))},
		{"Allowed", units.Count(int64(f.Allowed))},
		{"Fetched, to be processed", fmt.Sprintf("%d of %d places", f.Queue, f.Places)},
		{"Fetches that wait for a place", units.Count(int64(f.Waiting))},
		{"A busy fetch brings (λ)", perSecond(f.Arrival)},
		{"Processing takes (μ)", perSecond(f.Service)},
		{"Variation of its times", known(f.Variation, fmt.Sprintf("%.2g", f.Variation))},
		{"Time without a page to process", percent(f.Starved)},
		{"Lost by waiting", fmt.Sprintf("%.3g pages/s", f.Loss)},
		{"Cost, as measured", fmt.Sprintf("%.3g pages/s", f.Cost)},
		{"Cost by the model, switched", perSecond(f.ModelCost)},
		{"Cost by the model, fixed", known(float64(f.ModelFixed), fmt.Sprintf("%s with %s", perSecond(f.ModelFixedCost), units.Plural(int64(f.ModelFixed), "fetcher")))},
		{"Changes of the number allowed", units.Count(f.Changes)},
	}, []chart{
		{Title: "Fetches", unit: amount, Lines: []line{
			level("allowed", past, func(m reading) float64 { return float64(m.allowed) }),
			level("under way", past, func(m reading) float64 { return float64(m.active) })}},
		{Title: "Received a second", unit: func(v float64) string { return units.Bytes(int64(v)) },
			Lines: []line{rate("bytes", past, func(m reading) int64 { return m.bytes })}},
	}}, nil
}

// known returns the text, unless the number that it tells is 0, which stands for one that is not known.
func known(number float64, text string) string {
	if number == 0 {
		return "not known yet"
	}
	return text
}
