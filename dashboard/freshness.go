package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"

	"freshet/dashboard/units"
)

// freshness shows the believed freshness of the copy, and the forecast for other budgets.
func (s *server) freshness(*http.Request) (any, error) {
	n, err := readNow(s.reader)
	if err != nil {
		return nil, err
	}
	shown := struct {
		Running bool
		Fresh   *freshNow
		Verdict verdict
		Facts   []Row
		Charts  []chart
		Buys    []chart // the forecast for other budgets
		InWords string  // the same
		Sites   []siteBelief
	}{Running: n.running(), Fresh: n.Refresh}
	f := n.Refresh
	if f == nil {
		return shown, nil
	}
	past := keptFresh(s.trend.past())
	shown.Verdict = trust(f)
	shown.Facts = []Row{
		{"Estimated up to date", fmt.Sprintf("%s (%.0f to %.0f %%)", percent(f.Freshness), 100*f.Low, 100*f.High)},
		{"Mean age of a copy", seconds(f.MeanAgeS)},
		{"Pages kept fresh", units.Count(f.Pages)},
		{"Budget of requests", fmt.Sprintf("%s every %s", units.Count(f.Budget), seconds(f.IntervalS))},
		{"Spent in this interval", units.Count(f.Requests)},
		{"Spent in the last interval", units.Count(f.Last)},
		{"Visits waiting for their site", units.Count(int64(f.Waiting))},
		{"Policy", f.Policy},
	}
	if percent(f.Weighted) != percent(f.Freshness) {
		shown.Facts = slices.Insert(shown.Facts, 1, Row{"The same, by weight", percent(f.Weighted)})
	}
	if e := n.Embarrassment; e != nil {
		shown.Facts = append(shown.Facts, Row{"Searches a day that a stale copy spoils", fmt.Sprintf("%s; %s if all pages were visited equally, %s with twice the budget",
			amount(e.Expected), amount(e.Uniform), amount(e.Double))})
	}
	shown.Charts = []chart{
		{Title: "Copies estimated up to date", scale: shares, most: 1, Lines: []line{
			level("all pages", past, func(m reading) float64 { return m.fresh })}},
		{Title: "Mean age of the copies", scale: spans, Lines: []line{level("all pages", past, func(m reading) float64 { return m.ageS })}},
		{Title: "Visits that find a change", scale: shares, most: 1, Lines: []line{
			level("expected", past, func(m reading) float64 { return m.expected }),
			level("found", past, func(m reading) float64 { return m.found })}},
	}
	if len(f.Forecast) > 0 {
		optimal, uniform := line{Name: "spent by Freshet"}, line{Name: "spent equally on all pages"}
		for _, b := range f.Forecast {
			at := math.Log2(float64(max(1, b.Budget)))
			optimal.points = append(optimal.points, point{at, b.Freshness})
			uniform.points = append(uniform.points, point{at, b.Uniform})
		}
		shown.Buys = []chart{{Title: "Up to date, by requests in an interval", scale: shares, axis: doubled, most: 1, marks: true,
			Lines: []line{optimal, uniform}}}
		least, most := f.Forecast[0], f.Forecast[len(f.Forecast)-1]
		shown.InWords = fmt.Sprintf("%s every %s would keep an estimated %s of the copies up to date, and %s would keep %s.", units.Plural(least.Budget, "request"),
			seconds(f.IntervalS), percent(least.Freshness), units.Count(most.Budget), percent(most.Freshness))
	}
	for _, name := range slices.SortedFunc(maps.Keys(f.Sites), func(x, y string) int {
		return cmp.Or(cmp.Compare(f.Sites[x].Freshness, f.Sites[y].Freshness), cmp.Compare(x, y))
	}) {
		one := f.Sites[name]
		shown.Sites = append(shown.Sites, siteBelief{name, one.Pages, one.Freshness, seconds(one.MeanAgeS)})
	}
	return shown, nil
}

// siteBelief is the believed freshness of a site's copy.
type siteBelief struct {
	Site  string
	Pages int64
	Share float64 // up to date
	Age   string
}

// surprise is how far the found share of changes may differ from the expected share before the belief counts as
// wrong.
const surprise = 0.1

// trust judges the belief: it compares what visits were expected to find with what they found.
func trust(f *freshNow) verdict {
	found := fmt.Sprintf("%s of the last visits found a change, and Freshet expected %s", percent(f.FoundChanged), percent(f.ExpectedChanged))
	switch distance := f.FoundChanged - f.ExpectedChanged; {
	case f.ExpectedChanged < 0.01 && f.FoundChanged == 0:
		return verdict{Text: "Hardly any visit could have found a change yet, so the estimates below rest on little."}
	case distance > surprise:
		return verdict{Kind: "ill", Text: found + ". Pages change more often than the estimates say: the copies are staler than shown here."}
	case distance < -surprise:
		return verdict{Kind: "wait", Text: found + ". Pages change less often than the estimates say: the copies are fresher than shown here."}
	}
	return verdict{Kind: "well", Text: found + ". The estimates below can be trusted."}
}
