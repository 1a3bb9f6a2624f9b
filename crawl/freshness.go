package crawl

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/weburl"
)

// Refresh says how a crawl keeps its copy fresh.
type Refresh struct {
	// Budget is the most requests in an interval: new pages, visits, redirect hops, answers 304 and failures all
	// count; robots.txt does not. Required.
	Budget   int64
	Interval time.Duration // default 24 h
	Policy   string        // one of policies.Names; default policies.Default
	// Weight is what a second of a page's freshness is worth, relative to other pages; nil: all the same.
	Weight func(weburl.URL) float64
	// Embarrassment is how many queries a day a stale copy of weight 1 embarrasses; 0: unknown.
	Embarrassment float64
	// Rank weighs the pages by their importance instead: half of a page's weight is its PageRank over the
	// links that are stored, on average over all, half the same for each; a new page weighs as the mean.
	// Ranks are computed again after so long, and when the pages have doubled. 0: not.
	Rank time.Duration
	// Reweigh is how often Weight and Embarrassment are determined again, beginning with the start of the crawl. 0:
	// they stay.
	Reweigh time.Duration
	// OnVisit is called for every visit to a page that is kept fresh, including the first: whether the copy equals
	// the page at that time, and whether the page is still kept fresh. It is called from one goroutine.
	OnVisit func(u weburl.URL, at time.Time, copied, kept bool)
}

// WithDefaults returns r with its zero fields set.
func (r Refresh) WithDefaults() (Refresh, error) {
	r.Interval = cmp.Or(r.Interval, 24*time.Hour)
	r.Policy = cmp.Or(r.Policy, policies.Default, "default")
	if r.Weight == nil {
		r.Weight = func(weburl.URL) float64 { return 1 }
	}
	if r.OnVisit == nil {
		r.OnVisit = func(weburl.URL, time.Time, bool, bool) {}
	}
	if r.Budget < 1 {
		return r, fmt.Errorf("crawl: budget %d: want at least a request an interval", r.Budget)
	}
	if r.Interval < 0 {
		return r, fmt.Errorf("crawl: interval %v is negative", r.Interval)
	}
	if r.Rank < 0 {
		return r, fmt.Errorf("crawl: pages ranked every %v: want a positive duration", r.Rank)
	}
	if r.Reweigh < 0 {
		return r, fmt.Errorf("crawl: pages weighed every %v: want a positive duration", r.Reweigh)
	}
	if _, err := r.newPolicy(); err != nil {
		return r, fmt.Errorf("crawl: %w", err)
	}
	return r, nil
}

func (r Refresh) perSecond() float64 { return float64(r.Budget) / r.Interval.Seconds() }

// newPolicy returns the policy, without pages.
func (r Refresh) newPolicy() (refresh.Policy, error) {
	return policies.New(r.Policy, policies.Setting{
		Budget: r.perSecond(), Interval: r.Interval.Seconds(), Random: rand.New(rand.NewPCG(1, 2)),
	})
}

// Freshness is the believed freshness of the copy, computed without requests.
type Freshness struct {
	Pages     int64   `json:"pages"`     // kept fresh; here and below without requisites, sitemaps and feeds
	Freshness float64 `json:"freshness"` // expected share of them whose copy is up to date
	// The true share is between these in nine of ten cases.
	Low       float64 `json:"freshness_low"`
	High      float64 `json:"freshness_high"`
	Weighted  float64 `json:"weighted"`   // the same by weight
	MeanAgeS  float64 `json:"mean_age_s"` // expected time since a copy's page first changed, 0 for the fresh
	Policy    string  `json:"policy"`
	Budget    int64   `json:"budget"` // requests an interval
	IntervalS float64 `json:"interval_s"`
	Requests  int64   `json:"requests_in_interval"` // of pages, so far
	Last      int64   `json:"requests_last_interval"`
	UnderWay  int     `json:"visits_planned"` // picked pages that may be fetched now
	Waiting   int     `json:"visits_waiting"` // picked pages whose site must wait
	// Of about the last thousand visits: the share that was expected to find a change, and the share that did.
	// Their difference shows how far Freshness can be trusted.
	ExpectedChanged float64 `json:"visits_expected_changed"`
	FoundChanged    float64 `json:"visits_found_changed"`
	// Forecast is the freshness by weight that other budgets would keep in the long run.
	Forecast []BudgetFreshness `json:"forecast"`
	// Sites are the sites with the most pages, mostSites of them.
	Sites map[string]SiteFreshness `json:"sites"`

	spread        float64 // variance of the number of pages whose copy is up to date, if they are independent
	weight        float64 // of the pages
	embarrassment float64 // queries a day, of a stale copy of weight 1; 0: not known
}

// Embarrassment is how many queries a day are expected to be answered by a stale copy, clicked, and found wrong or
// gone: in the long run, by the forecast.
type Embarrassment struct {
	Expected float64 `json:"expected_per_day"`
	Uniform  float64 `json:"uniform_per_day"`       // if all pages were visited equally often
	Double   float64 `json:"double_budget_per_day"` // with twice the budget
}

// Embarrassment returns the expected embarrassment, by eq. 8 of Wolf et al.: Σ w × the share of the time in which a
// page's copy is stale. It returns nil where weights do not come from a log of queries.
func (f *Freshness) Embarrassment() *Embarrassment {
	if f == nil || f.embarrassment == 0 || len(f.Forecast) != len(budgets) {
		return nil
	}
	of := func(fresh float64) float64 { return f.embarrassment * f.weight * (1 - fresh) }
	now, double := f.Forecast[2], f.Forecast[3]
	return &Embarrassment{Expected: of(now.Freshness), Uniform: of(now.Uniform), Double: of(double.Freshness)}
}

// SiteFreshness is the believed freshness of a site's copy.
type SiteFreshness struct {
	Pages     int64   `json:"pages"`
	Freshness float64 `json:"freshness"`
	MeanAgeS  float64 `json:"mean_age_s"`
}

// BudgetFreshness is the forecast for a budget that is spent on visits only.
type BudgetFreshness struct {
	Budget    int64   `json:"budget"` // requests an interval
	Freshness float64 `json:"freshness"`
	Uniform   float64 `json:"uniform"` // if all pages were visited equally often
}

// mostSites bounds the sites that are reported individually.
const mostSites = 50

// Beliefs are sums over the beliefs about pages. They are filled some pages at a time, see Shard.SumUp.
type Beliefs struct {
	next   refresh.ID
	total  belief
	bySite map[weburl.Site]*belief
}

// Next continues with the pages of another shard.
func (b *Beliefs) Next() { b.next = 0 }

// belief is the sums over some pages.
type belief struct {
	pages                                int64
	fresh, spread, age, weight, weighted float64
}

func (b *belief) add(c refresh.Copy, weight float64) {
	b.pages++
	b.fresh += 1 - c.Stale
	b.spread += c.Stale * (1 - c.Stale)
	b.age += c.Age
	b.weight += weight
	b.weighted += weight * (1 - c.Stale)
}

func (b *belief) freshness() float64 { return b.fresh / float64(max(1, b.pages)) }
func (b *belief) meanAge() float64   { return b.age / float64(max(1, b.pages)) }

const (
	summedAtOnce = 2048
	sumEvery     = time.Second // of the machine's time
)

// estimate continues the sums over all pages, if they were requested since the last ones, and stores the result at
// the end.
func (f *fresh) estimate(now time.Time) {
	if !f.wanted || now.Before(f.rest) || !f.sumUp(&f.sums, now) {
		return
	}
	found := f.sums.Result()
	found.Forecast = f.forecast()
	found.ExpectedChanged, found.FoundChanged = f.calibration.shares()
	found.UnderWay, found.Waiting = f.keeper.Counts()
	f.known = found
	f.sums, f.wanted, f.rest = Beliefs{}, false, now.Add(f.of(sumEvery))
}

// sumUp adds some further pages to sums, and reports whether they were the last.
func (f *fresh) sumUp(b *Beliefs, now time.Time) (done bool) {
	if b.bySite == nil {
		b.bySite = map[weburl.Site]*belief{}
	}
	end := min(b.next+summedAtOnce, f.table.end())
	at := keepfresh.Seconds(now)
	for ; b.next < end; b.next++ {
		site, kept := f.keeper.Site(b.next)
		if !kept || f.table.pages[b.next].visits.apart() {
			continue
		}
		c, weight := f.belief.Copy(b.next, at), float64(f.table.pages[b.next].weight)
		b.total.add(c, weight)
		if b.bySite[site] == nil {
			b.bySite[site] = new(belief)
		}
		b.bySite[site].add(c, weight)
	}
	return b.next >= f.table.end()
}

// url returns a page's URL from its row; none if the row cannot be read.
func (f *fresh) url(id refresh.ID) weburl.URL {
	page := &f.table.pages[id]
	row, err := f.rows.Page(page.partition, page.fingerprint)
	if err != nil {
		return weburl.URL{}
	}
	return row.URL
}

// forecastPages is the most pages that a forecast samples.
const forecastPages = 256

// budgets are those of a forecast, in times the crawl's.
var budgets = [...]float64{0.25, 0.5, 1, 2, 4}

// forecast returns the freshness at a quarter of the budget to four times the budget.
func (f *fresh) forecast() []BudgetFreshness {
	some, share := f.outlooks()
	var all []BudgetFreshness
	var rates []float64
	for _, times := range budgets {
		all = append(all, BudgetFreshness{Budget: int64(math.Round(times * float64(f.asked.Budget)))})
		rates = append(rates, times*f.asked.perSecond()*share)
	}
	for i, fresh := range refresh.Forecast(some, rates) {
		all[i].Freshness = fresh
	}
	for i, fresh := range refresh.ForecastUniform(some, rates) {
		all[i].Uniform = fresh
	}
	return all
}

// outlooks returns the outlooks of a sample of pages, and the sample's share of all pages.
func (f *fresh) outlooks() (some []refresh.Outlook, share float64) {
	step := 1 + f.table.end()/forecastPages
	for id := refresh.ID(0); id < f.table.end(); id += step {
		if _, kept := f.keeper.Site(id); kept {
			some = append(some, f.belief.Outlook(id))
			some[len(some)-1].Apart = f.table.pages[id].visits.apart()
		}
	}
	return some, float64(len(some)) / float64(max(1, f.table.len()))
}

// calibration compares what visits were expected to find with what they found. Recent visits count more.
type calibration struct{ visits, expected, changed float64 }

// rememberedFindings is how many visits a calibration is based on.
const rememberedFindings = 1000

// add adds a visit to a copy that was stale with a probability.
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

// Result returns the freshness from the sums.
func (b *Beliefs) Result() *Freshness {
	f := &Freshness{
		Pages: b.total.pages, Freshness: b.total.freshness(), MeanAgeS: b.total.meanAge(), Sites: map[string]SiteFreshness{},
		spread: b.total.spread, weight: b.total.weight,
	}
	f.bound()
	if b.total.weight > 0 {
		f.Weighted = b.total.weighted / b.total.weight
	}
	sites := make([]weburl.Site, 0, len(b.bySite))
	for site := range b.bySite {
		sites = append(sites, site)
	}
	slices.SortFunc(sites, func(x, y weburl.Site) int {
		return cmp.Or(cmp.Compare(b.bySite[y].pages, b.bySite[x].pages), cmp.Compare(x, y))
	})
	for _, site := range sites[:min(len(sites), mostSites)] {
		one := b.bySite[site]
		f.Sites[string(site)] = SiteFreshness{Pages: one.pages, Freshness: one.freshness(), MeanAgeS: one.meanAge()}
	}
	return f
}

// together is the standard error that beliefs about many pages share, as a part of the stale share. They go wrong
// together where a site's sitemap or feed is visited less often than before: what it told of is missing then.
const together = 0.2

// bound sets the bounds of the freshness, two standard errors away.
func (f *Freshness) bound() {
	n := float64(max(1, f.Pages))
	either := 2 * math.Hypot(math.Sqrt(f.spread)/n, together*(1-f.Freshness))
	f.Low, f.High = max(0, f.Freshness-either), min(1, f.Freshness+either)
}

// And returns the freshness of two shards' parts of a copy together. nil stands for a shard without sums yet.
func (f *Freshness) And(o *Freshness) *Freshness {
	if f == nil || o == nil {
		return cmp.Or(f, o)
	}
	mean := func(x, y, ofX, ofY float64) float64 {
		if ofX+ofY == 0 {
			return x
		}
		return (x*ofX + y*ofY) / (ofX + ofY)
	}
	pages := func(x, y float64) float64 { return mean(x, y, float64(f.Pages), float64(o.Pages)) }
	sum := Freshness{
		Pages: f.Pages + o.Pages, Freshness: pages(f.Freshness, o.Freshness), MeanAgeS: pages(f.MeanAgeS, o.MeanAgeS),
		Weighted: mean(f.Weighted, o.Weighted, f.weight, o.weight), spread: f.spread + o.spread, weight: f.weight + o.weight,
		embarrassment: f.embarrassment,
		Policy:        f.Policy, Budget: f.Budget + o.Budget, IntervalS: f.IntervalS,
		Requests: f.Requests + o.Requests, Last: f.Last + o.Last,
		UnderWay: f.UnderWay + o.UnderWay, Waiting: f.Waiting + o.Waiting,
		ExpectedChanged: pages(f.ExpectedChanged, o.ExpectedChanged), FoundChanged: pages(f.FoundChanged, o.FoundChanged),
		Sites: mostPages(f.Sites, o.Sites),
	}
	sum.bound()
	for i := range min(len(f.Forecast), len(o.Forecast)) {
		x, y := f.Forecast[i], o.Forecast[i]
		sum.Forecast = append(sum.Forecast, BudgetFreshness{x.Budget + y.Budget,
			mean(x.Freshness, y.Freshness, f.weight, o.weight), mean(x.Uniform, y.Uniform, f.weight, o.weight)})
	}
	return &sum
}

// mostPages returns those of some sites that have the most pages.
func mostPages(some, others map[string]SiteFreshness) map[string]SiteFreshness {
	all := maps.Clone(some)
	maps.Copy(all, others)
	names := slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		return cmp.Or(cmp.Compare(all[y].Pages, all[x].Pages), cmp.Compare(x, y))
	})
	for _, name := range names[min(len(names), mostSites):] {
		delete(all, name)
	}
	return all
}

// Freshness returns the last computed freshness of the copy, and requests a new computation. It is nil before the
// first one, and if nothing is kept fresh.
func (s *Shard) Freshness(now time.Time) *Freshness { return s.fresh.freshness(now) }

// freshness returns what the last sums came to, and asks for further ones; nil before the first.
func (f *fresh) freshness(now time.Time) *Freshness {
	if f == nil {
		return nil
	}
	f.wanted, f.told = true, true
	if f.known == nil {
		return nil
	}
	found := *f.known
	found.embarrassment = f.asked.Embarrassment
	found.Policy, found.Budget, found.IntervalS = f.asked.Policy, f.asked.Budget, f.asked.Interval.Seconds()
	found.Last, found.Requests = f.pacer.Requests(now)
	return &found
}

// SumUp adds the present beliefs about some further pages to sums, and reports whether they were the last. A crawl
// that keeps nothing fresh has none.
func (s *Shard) SumUp(b *Beliefs, now time.Time) (done bool) {
	return s.fresh == nil || s.fresh.sumUp(b, now)
}

// Refreshing is the belief about a page that is kept fresh, and its consequences.
type Refreshing struct {
	Weight     float64
	Planned    int        // visits since the crawl began to run
	NextDue    *time.Time // nil: never or unknown
	RatePerDay float64    // changes expected
	Stale      float64    // the probability that the copy is stale
	AgeS       float64
	Value, Bar float64 // of a visit now; the value from which on pages are visited
	// PerInterval is how many visits an interval the page is worth now.
	PerInterval float64
}

// Refreshing returns the belief about a page; ok is false if the page is not kept fresh.
func (s *Shard) Refreshing(u weburl.URL, fingerprint weburl.Fingerprint, now time.Time) (p Refreshing, ok bool) {
	f := s.fresh
	if f == nil {
		return p, false
	}
	id, ok := f.table.find(PageKey{s.home(u.Site()), fingerprint})
	if !ok {
		return p, false
	}
	at := keepfresh.Seconds(now)
	page, c := f.table.pages[id], f.belief.Copy(id, at)
	due := f.belief.Due(id, at)
	p = Refreshing{Weight: float64(page.weight), Planned: page.visits.planned(), RatePerDay: due.Rate * 86400, Stale: c.Stale, AgeS: c.Age}
	if f.policy == refresh.Policy(f.belief) {
		p.Value, p.Bar = due.Value, due.Bar
		if due.Every > 0 {
			p.PerInterval = f.asked.Interval.Seconds() / due.Every
		}
		if due.At < at+100*365*86400 {
			when := now.Add(time.Duration((due.At - at) * 1e9)).UTC()
			p.NextDue = &when
		}
	}
	return p, true
}
