package crawl

import (
	"cmp"
	"math"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/weburl"
)

// Freshness is what is believed of the copy: no server was asked for it.
type Freshness struct {
	Pages     int64   `json:"pages"`      // kept fresh
	Freshness float64 `json:"freshness"`  // expected share of them whose copy is up to date
	Weighted  float64 `json:"weighted"`   // the same by weight
	MeanAgeS  float64 `json:"mean_age_s"` // expected time since a copy's page first changed, 0 for the fresh
	Policy    string  `json:"policy"`
	Budget    int64   `json:"budget"` // requests an interval
	IntervalS float64 `json:"interval_s"`
	Requests  int64   `json:"requests_in_interval"` // of pages, so far
	Last      int64   `json:"requests_last_interval"`
	UnderWay  int     `json:"visits_planned"` // pages that are picked and may be asked for now
	Waiting   int     `json:"visits_waiting"` // pages that are picked and wait: their site may not be asked now
	// Of the last visits, thousand or so: the share that was expected to find a change, and that which did.
	// Their distance tells how far Freshness can be trusted.
	ExpectedChanged float64 `json:"visits_expected_changed"`
	FoundChanged    float64 `json:"visits_found_changed"`
	// Forecast is the freshness by weight that other budgets would keep in the long run.
	Forecast []BudgetFreshness `json:"forecast"`
	// Sites are those with the most pages, mostSites of them.
	Sites map[string]SiteFreshness `json:"sites"`
}

// SiteFreshness is what is believed of a site's copy.
type SiteFreshness struct {
	Pages     int64   `json:"pages"`
	Freshness float64 `json:"freshness"`
	MeanAgeS  float64 `json:"mean_age_s"`
}

// BudgetFreshness is what a budget buys, all of it spent on visits.
type BudgetFreshness struct {
	Budget    int64   `json:"budget"` // requests an interval
	Freshness float64 `json:"freshness"`
}

// mostSites bounds the sites that are told of one by one.
const mostSites = 50

// A sweep goes over all pages again and again, some at a time, and sums up what is believed of them.
type sweep struct {
	next   refresh.ID
	rest   time.Time // until then nothing is done after the last round
	total  belief
	bySite map[weburl.Site]*belief
}

// belief sums up what is believed of some pages.
type belief struct {
	pages                        int64
	fresh, age, weight, weighted float64
}

func (b *belief) add(c refresh.Copy, weight float64) {
	b.pages++
	b.fresh += 1 - c.Stale
	b.age += c.Age
	b.weight += weight
	b.weighted += weight * (1 - c.Stale)
}

func (b *belief) freshness() float64 { return b.fresh / float64(max(1, b.pages)) }
func (b *belief) meanAge() float64   { return b.age / float64(max(1, b.pages)) }

const (
	sweepPages = 2048        // that are looked at in one go
	sweepEvery = time.Second // of the machine's time
)

// estimate goes on with the sweep and, at its end, publishes what it found.
func (r *refresher) estimate(now time.Time) {
	w := &r.sweep
	if now.Before(w.rest) {
		return
	}
	if !r.look(now) {
		return
	}
	found := w.result()
	found.Forecast = r.forecast()
	r.mu.Lock()
	found.ExpectedChanged, found.FoundChanged = r.calibration.shares()
	found.UnderWay, found.Waiting = r.keeper.Counts()
	r.mu.Unlock()
	r.known.Store(found)
	*w = sweep{rest: now.Add(r.engine.opt.Clock.Span(sweepEvery))}
}

// look takes the sweep over some pages, and reports whether they were the last.
func (r *refresher) look(now time.Time) bool {
	w := &r.sweep
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.bySite == nil {
		w.bySite = map[weburl.Site]*belief{}
	}
	end := min(w.next+sweepPages, refresh.ID(len(r.pages)))
	at := keepfresh.Seconds(now)
	for ; w.next < end; w.next++ {
		page := &r.pages[w.next]
		if page.url.IsZero() {
			continue
		}
		c := r.belief.Copy(w.next, at)
		w.total.add(c, page.weight)
		site := page.url.Site()
		if w.bySite[site] == nil {
			w.bySite[site] = new(belief)
		}
		w.bySite[site].add(c, page.weight)
	}
	return w.next >= refresh.ID(len(r.pages))
}

// forecastPages are as many pages, at most, as a forecast looks at: one in so many of all.
const forecastPages = 256

// forecast returns what a quarter of the budget to four times as much would keep fresh.
func (r *refresher) forecast() []BudgetFreshness {
	some, share := r.outlooks()
	var all []BudgetFreshness
	var rates []float64
	for _, times := range [...]float64{0.25, 0.5, 1, 2, 4} {
		all = append(all, BudgetFreshness{Budget: int64(math.Round(times * float64(r.asked.Budget)))})
		rates = append(rates, times*r.asked.perSecond()*share)
	}
	for i, fresh := range refresh.Forecast(some, rates) {
		all[i].Freshness = fresh
	}
	return all
}

// outlooks returns the outlooks of some pages, and which share of all these are. They take so long that the
// lock is let go between them.
func (r *refresher) outlooks() (some []refresh.Outlook, share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := 1 + len(r.pages)/forecastPages
	for id := 0; id < len(r.pages); id += step {
		if !r.pages[id].url.IsZero() {
			some = append(some, r.belief.Outlook(refresh.ID(id)))
			r.breathe()
		}
	}
	return some, float64(len(some)) / float64(max(1, len(r.ids)))
}

// calibration holds what visits were expected to find beside what they found, the last ones most.
type calibration struct{ visits, expected, changed float64 }

// rememberedFindings is how many visits a calibration rests on.
const rememberedFindings = 1000

// add takes in a visit to a copy that was stale with a probability.
func (c *calibration) add(stale float64, changed bool) {
	const keep = 1 - 1.0/rememberedFindings
	found := 0.0
	if changed {
		found = 1
	}
	c.visits, c.expected, c.changed = keep*c.visits+1, keep*c.expected+stale, keep*c.changed+found
}

// shares returns the share of changed pages that was expected and that which was found.
func (c *calibration) shares() (expected, found float64) {
	if c.visits == 0 {
		return 0, 0
	}
	return c.expected / c.visits, c.changed / c.visits
}

func (w *sweep) result() *Freshness {
	f := &Freshness{Pages: w.total.pages, Freshness: w.total.freshness(), MeanAgeS: w.total.meanAge(), Sites: map[string]SiteFreshness{}}
	if w.total.weight > 0 {
		f.Weighted = w.total.weighted / w.total.weight
	}
	sites := make([]weburl.Site, 0, len(w.bySite))
	for site := range w.bySite {
		sites = append(sites, site)
	}
	slices.SortFunc(sites, func(a, b weburl.Site) int {
		return cmp.Or(cmp.Compare(w.bySite[b].pages, w.bySite[a].pages), cmp.Compare(a, b))
	})
	for _, site := range sites[:min(len(sites), mostSites)] {
		b := w.bySite[site]
		f.Sites[string(site)] = SiteFreshness{Pages: b.pages, Freshness: b.freshness(), MeanAgeS: b.meanAge()}
	}
	return f
}

// freshness returns what the last sweep found, nil before its end.
func (r *refresher) freshness(now time.Time) *Freshness {
	found := r.known.Load()
	if found == nil {
		return nil
	}
	f := *found
	f.Policy, f.Budget, f.IntervalS = r.asked.Policy, r.asked.Budget, r.asked.Interval.Seconds()
	f.Last, f.Requests = r.meter.requests(now)
	return &f
}

// Freshness returns what is believed now of the pages that a filter lets pass. O(pages); nil if the crawl
// does not refresh.
func (e *Engine) Freshness(of func(weburl.URL) bool) *Freshness {
	r := e.refresher
	if r == nil {
		return nil
	}
	at := keepfresh.Seconds(e.opt.Clock.Now())
	var w sweep
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := 0; id < len(r.pages); id++ {
		if id%sweepPages == sweepPages-1 {
			r.breathe()
		}
		if page := &r.pages[id]; !page.url.IsZero() && of(page.url) {
			w.total.add(r.belief.Copy(refresh.ID(id), at), page.weight)
		}
	}
	return w.result()
}

// Refreshing is what is believed of a page that is kept fresh, and what follows from it.
type Refreshing struct {
	Weight     float64
	Planned    int        // visits since the crawl began to run
	NextDue    *time.Time // nil: never, or not known
	RatePerDay float64    // changes expected
	Stale      float64    // the probability that the copy is stale
	AgeS       float64
	Value, Bar float64 // of a visit now, and from which value on pages are visited
	// PerInterval is how many visits an interval the page is worth at present.
	PerInterval float64
}

// Refreshing returns what is believed of a page; ok is false if it is not kept fresh.
func (e *Engine) Refreshing(u weburl.URL, fingerprint weburl.Fingerprint) (p Refreshing, ok bool) {
	r := e.refresher
	if r == nil {
		return p, false
	}
	now := e.opt.Clock.Now()
	at := keepfresh.Seconds(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.ids[pageKey{e.partition(u.Site()), fingerprint}]
	if !ok {
		return p, false
	}
	page, c := &r.pages[id], r.belief.Copy(id, at)
	due := r.belief.Due(id, at)
	p = Refreshing{Weight: page.weight, Planned: int(page.visits), RatePerDay: due.Rate * 86400, Stale: c.Stale, AgeS: c.Age}
	if lasting, ranked := r.policy.(refresh.Lasting); ranked && lasting == refresh.Lasting(r.belief) {
		p.Value, p.Bar = due.Value, due.Bar
		if due.Every > 0 {
			p.PerInterval = r.asked.Interval.Seconds() / due.Every
		}
		if due.At < at+100*365*86400 {
			when := now.Add(time.Duration((due.At - at) * 1e9)).UTC()
			p.NextDue = &when
		}
	}
	return p, true
}
