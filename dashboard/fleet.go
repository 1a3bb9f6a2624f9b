package dashboard

import (
	"fmt"
	"net/http"

	"freshet/dashboard/units"
)

// fleet shows how many fetches are under way, and what that costs.
func (s *server) fleet(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	past, f := s.trend.past(), n.Fleet
	perSecond := func(v float64) string { return known(v, amount(v)+" pages/s") }
	facts := []Row{
		{"Rule", f.Rule},
		{"Fetches under way", units.Count(int64(f.Active))},
		{"Fetches allowed", units.Count(int64(f.Allowed))},
		{"Fetched pages, not yet processed", fmt.Sprintf("%d of %d places", f.Queue, f.Places)},
		{"Fetches waiting for a place", units.Count(int64(f.Waiting))},
		{"Processing is idle", percent(f.Starved)},
	}
	for _, one := range f.Consumers {
		facts = append(facts, Row{"Records not yet read by " + one.Name, units.Count(one.Queue)})
	}
	return struct {
		Running bool
		Verdict verdict
		Facts   []Row
		Theory  []Row
		Charts  []chart
		Curve   chart
	}{n.running(), bottleneck(n), facts, []Row{
		{"A busy fetcher brings (λ)", perSecond(f.Arrival)},
		{"Processing can take (μ)", perSecond(f.Service)},
		{"Variation of processing times", known(f.Variation, amount(f.Variation))},
		{"Lost while fetches waited", amount(f.Loss) + " pages/s"},
		{"Measured cost", amount(f.Cost) + " pages/s"},
		{"Cost by the model, switching", perSecond(f.ModelCost)},
		{"Cost by the model, fixed number", known(float64(f.ModelFixed), fmt.Sprintf("%s with %s", perSecond(f.ModelFixedCost), units.Plural(int64(f.ModelFixed), "fetcher")))},
		{"Times that the number changed", units.Count(f.Changes)},
	}, []chart{
		{Title: "Fetches", scale: numbers, Lines: []line{
			level("allowed", past, func(m reading) float64 { return float64(m.allowed) }),
			level("under way", past, func(m reading) float64 { return float64(m.active) })}},
		receivedChart(past),
	}, f.curveChart()}, nil
}

// Shares of time in which processing is idle. Below the first, processing limits the pace; above the second it does
// not.
const (
	busyShare = 0.1
	idleShare = 0.5
)

// bottleneck says what limits the pace of a crawl: this machine or the sites.
func bottleneck(n now) verdict {
	f := n.Fleet
	switch {
	case n.State == "paused":
		return verdict{Kind: "wait", Text: "The crawl is paused."}
	case f.Service == 0:
		return verdict{Text: "Not enough pages have been processed yet to say what sets the pace."}
	case f.Starved > idleShare && f.Active < f.Allowed:
		return verdict{Kind: "well", Text: fmt.Sprintf("The sites set the pace: no more of them may be asked now, and this machine is idle %s of the time.", percent(f.Starved))}
	case f.Starved > idleShare:
		return verdict{Kind: "wait", Text: fmt.Sprintf("Fetching sets the pace: all %s allowed are under way, and processing is idle %s of the time.", units.Plural(int64(f.Allowed), "fetch"), percent(f.Starved))}
	case f.Starved < busyShare:
		return verdict{Kind: "well", Text: "This machine sets the pace: it always has pages to process."}
	}
	return verdict{Kind: "well", Text: fmt.Sprintf("Fetching and processing are in balance: processing is idle %s of the time.", percent(f.Starved))}
}

// paceRows say how many fetches are under way in a running crawl, what limits its pace, and how far its index and its
// sinks are behind.
func paceRows(n now) []Row {
	if !n.running() {
		return nil
	}
	rows := []Row{
		{"fetches", fmt.Sprintf("%s under way, %s allowed", units.Count(int64(n.Fleet.Active)), units.Count(int64(n.Fleet.Allowed)))},
		{"pace", bottleneck(n).Text},
	}
	for _, one := range n.Fleet.Consumers {
		rows = append(rows, Row{"not yet read by " + one.Name, units.Plural(one.Queue, "record")})
	}
	return rows
}

// curveChart draws the greatest length of the queue at which one more fetcher is switched on.
func (f fleetNow) curveChart() chart {
	c := chart{Title: "Longest queue at which one more fetch begins, by fetches under way", scale: numbers, axis: numbers}
	if f.Curve == nil {
		return c
	}
	curve := func(name string, first int, of []int) line {
		l := line{Name: name}
		for i, queue := range of {
			if queue >= 0 {
				l.points = append(l.points, point{float64(first + i), float64(queue)})
			}
		}
		return l
	}
	c.Lines = []line{curve("when a page leaves it", 0, f.Curve.Departure), curve("when a page comes", 1, f.Curve.Arrival)}
	return c
}

// known returns the text, or a placeholder if the number is 0, which means unknown.
func known(number float64, text string) string {
	if number == 0 {
		return "not known yet"
	}
	return text
}
