package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"freshet/dashboard/units"
)

// freshness shows the believed freshness of the copy or of one site, what the budget is spent on, and the forecast for
// other budgets.
func (s *server) freshness(r *http.Request) (any, error) {
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
		Site    string // the only one that is shown; empty: all are
		Spent   []part // by purpose
		SpentOn []part // by site
		Span    string // in which it was spent
	}{Running: n.running(), Fresh: n.Refresh, Site: short(r.FormValue("site"))}
	f := n.Refresh
	if f == nil {
		return shown, nil
	}
	past := keptFresh(s.trend.past())
	bySite := ofSites(past)
	if shown.Site != "" {
		if one, followed := f.Sites[shown.Site]; followed {
			shown.Facts = []Row{{"Pages kept fresh", units.Count(one.Pages)}, {"Estimated up to date", percent(one.Freshness)}, {"Mean age of a copy", seconds(one.MeanAgeS)}}
			its := cmp.Or(bySite[shown.Site], &sitePast{})
			shown.Charts = []chart{
				{Title: "Copies estimated up to date", scale: shares, most: 1, Lines: []line{{shown.Site, its.fresh}}},
				{Title: "Mean age of the copies", scale: spans, Lines: []line{{shown.Site, its.age}}}}
		}
		return shown, nil
	}
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
		shown.Sites = append(shown.Sites, siteBelief{name, one.Pages, one.Freshness, seconds(one.MeanAgeS), ""})
	}
	drawPast(shown.Sites, bySite)
	spent := f.SpentLast
	shown.Span = "the last " + seconds(f.IntervalS)
	if spent.sum() == 0 {
		spent, shown.Span = f.Spent, "this interval so far"
	}
	shown.Spent, shown.SpentOn = spent.parts()
	return shown, nil
}

// siteBelief is the believed freshness of a site's copy.
type siteBelief struct {
	Site  string
	Pages int64
	Share float64 // up to date
	Age   string
	Path  string // of Share over time, in a field of 100 by 20; empty: not known
}

// pastPoints is about how many points a small drawing of the past has.
const pastPoints = 40

// drawPast draws the past of each site, all by one scale.
func drawPast(sites []siteBelief, bySite map[string]*sitePast) {
	var all chart
	for _, one := range sites {
		if its := bySite[one.Site]; its != nil {
			all.Lines = append(all.Lines, line{"", its.fresh})
		}
	}
	least, most := all.bounds()
	for i, one := range sites {
		its := bySite[one.Site]
		if its == nil || len(its.fresh) < 2 {
			continue
		}
		var path strings.Builder
		step := 1 + len(its.fresh)/pastPoints
		for j := (len(its.fresh) - 1) % step; j < len(its.fresh); j += step {
			p := its.fresh[j]
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(path.Len(), 1)], 100*(p.x-least.x)/(most.x-least.x), 19-18*(p.y-least.y)/max(most.y-least.y, 0.01))
		}
		sites[i].Path = path.String()
	}
}

// part is a part of the requests of an interval.
type part struct {
	Name, Means string
	Count       int64
	Share       float64
}

// parts returns what requests were made for, and the sites that got the most. The largest are first.
func (s spending) parts() (purposes, sites []part) {
	add := func(all *[]part, name, means string, n int64) {
		if n > 0 {
			*all = append(*all, part{name, means, n, float64(n) / float64(s.sum())})
		}
	}
	add(&purposes, "stored pages", "visits that keep copies fresh", s.StoredPages)
	add(&purposes, "first copies", "of pages without one", s.FirstCopies)
	add(&purposes, "sitemaps and feeds", "visited again for news", s.Lists)
	add(&purposes, "requisites", "such as pictures and styles", s.Requisites)
	add(&purposes, "retries", "visits after a failure", s.Retries)
	for name, n := range s.Sites {
		add(&sites, name, "", n)
	}
	for _, all := range [][]part{purposes, sites} {
		slices.SortStableFunc(all, func(x, y part) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name)) })
	}
	return purposes, sites[:min(len(sites), spendersShown)]
}

// spendersShown is how many sites are shown of those that got the most requests.
const spendersShown = 10

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
