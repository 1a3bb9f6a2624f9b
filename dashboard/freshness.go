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

// freshness shows what is believed of the copy, and what another budget would buy.
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
		Sites   []siteBelief
	}{Running: n.running(), Fresh: n.Refresh}
	f := n.Refresh
	if f == nil {
		return shown, nil
	}
	past := s.trend.past()
	shown.Verdict = trust(f)
	shown.Facts = []Row{
		{"Believed up to date", fmt.Sprintf("%.1f %%", 100*f.Freshness)},
		{"By weight", fmt.Sprintf("%.1f %%", 100*f.Weighted)},
		{"Mean age", seconds(f.MeanAgeS)},
		{"Kept fresh", units.Plural(f.Pages, "page")},
		{"Budget", fmt.Sprintf("%s each %s", units.Plural(f.Budget, "request"), seconds(f.IntervalS))},
		{"Spent of it", fmt.Sprintf("%s, the last time %s", units.Count(f.Requests), units.Count(f.Last))},
		{"Visits that wait for their site", units.Count(int64(f.Waiting))},
		{"Policy", f.Policy},
	}
	if e := n.Embarrassment; e != nil {
		shown.Facts = append(shown.Facts, Row{"Queries a day that stale copies embarrass", fmt.Sprintf("%.3g; %.3g if all pages were visited alike, %.3g with twice the budget",
			e.Expected, e.Uniform, e.Double)})
	}
	shown.Charts = []chart{
		{Title: "Copies believed to be up to date", unit: percent, most: 1, Lines: []line{
			level("all pages", past, func(m reading) float64 { return m.fresh })}},
		{Title: "Mean age of the copies", unit: seconds, Lines: []line{level("all pages", past, func(m reading) float64 { return m.ageS })}},
		{Title: "Visits that find a change", unit: percent, Lines: []line{
			level("expected", past, func(m reading) float64 { return m.expected }),
			level("found", past, func(m reading) float64 { return m.found })}},
	}
	if len(f.Forecast) > 0 {
		optimal, uniform := line{Name: "spent as Freshet does"}, line{Name: "all pages alike"}
		for _, b := range f.Forecast {
			at := math.Log2(float64(max(1, b.Budget)))
			optimal.points = append(optimal.points, point{at, b.Freshness})
			uniform.points = append(uniform.points, point{at, b.Uniform})
		}
		budget := func(x float64) string { return units.Count(int64(math.Round(math.Exp2(x)))) }
		shown.Charts = append(shown.Charts, chart{Title: "What a budget would keep up to date, by weight", unit: percent, axis: budget, most: 1, dots: true,
			Lines: []line{optimal, uniform}})
	}
	for _, name := range slices.SortedFunc(maps.Keys(f.Sites), func(x, y string) int {
		return cmp.Or(cmp.Compare(f.Sites[x].Freshness, f.Sites[y].Freshness), cmp.Compare(x, y))
	}) {
		one := f.Sites[name]
		shown.Sites = append(shown.Sites, siteBelief{name, one.Pages, one.Freshness, seconds(one.MeanAgeS)})
	}
	return shown, nil
}

// siteBelief is what is believed of a site's copy.
type siteBelief struct {
	Site  string
	Pages int64
	Share float64 // up to date
	Age   string
}

// surprise is how far what visits find may lie from what was expected before the numbers are not to be trusted.
const surprise = 0.1

// trust says how far what is believed can be trusted: by what visits were expected to find, and what they found.
func trust(f *freshNow) verdict {
	found := fmt.Sprintf("Of the last visits %.1f %% were expected to find a change, and %.1f %% did", 100*f.ExpectedChanged, 100*f.FoundChanged)
	switch distance := f.FoundChanged - f.ExpectedChanged; {
	case f.ExpectedChanged == 0 && f.FoundChanged == 0:
		return verdict{"wait", "No copy has been visited again yet: what is believed rests on little."}
	case distance > surprise:
		return verdict{"ill", found + ": more changes than is believed, the copies are older than is shown here."}
	case distance < -surprise:
		return verdict{"wait", found + ": less changes than is believed, the copies are fresher than is shown here."}
	}
	return verdict{"well", found + ": what is believed can be trusted."}
}
