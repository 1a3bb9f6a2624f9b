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

// Refresh configures how a crawl keeps its copy fresh.
type Refresh struct {
	// Budget is the maximum number of requests in an interval. New pages, visits, redirect hops, answers 304 and
	// failures all count; robots.txt does not. Required.
	Budget   int64
	Interval time.Duration // default 24 h
	Policy   string        // one of policies.Names; default policies.Default
	// Weight returns the worth of a second of a page's freshness, relative to other pages. nil: all pages weigh the
	// same.
	Weight func(weburl.URL) float64
	// Embarrassment is the number of queries per day that a stale copy of weight 1 embarrasses. 0: unknown.
	Embarrassment float64
	// Rank is the time after which PageRanks are computed again; they are also computed when the number of pages has
	// doubled. Pages then weigh by rank, without regard to Weight: half of a weight is the page's PageRank over the
	// stored links, relative to the mean, the other half is the same for all pages. A new page has the mean weight. 0:
	// no ranks.
	Rank time.Duration
	// Reweigh is how often Weight and Embarrassment are determined again, first at the start of the crawl. 0: never.
	Reweigh time.Duration
	// OnVisit is called for every visit to a page that is kept fresh, including the first. It gets whether the copy
	// equals the page at that time, and whether the page is still kept fresh. All calls come from one goroutine.
	OnVisit func(u weburl.URL, at time.Time, copied, kept bool)
}

// WithDefaults returns r with defaults in place of zero fields.
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

// newPolicy returns the policy that r names, without pages.
func (r Refresh) newPolicy() (refresh.Policy, error) {
	return policies.New(r.Policy, policies.Setting{
		Budget: r.perSecond(), Interval: r.Interval.Seconds(), Random: rand.New(rand.NewPCG(1, 2)),
	})
}

// Freshness is the believed freshness of the copy, computed without requests.
type Freshness struct {
	Pages     int64   `json:"pages"`     // kept fresh; here and below without requisites, sitemaps and feeds
	Freshness float64 `json:"freshness"` // expected share of them whose copy is up to date
	// The true share is between Low and High with a probability of nine in ten.
	Low       float64 `json:"freshness_low"`
	High      float64 `json:"freshness_high"`
	Weighted  float64 `json:"weighted"`   // Freshness, weighted
	MeanAgeS  float64 `json:"mean_age_s"` // expected time since a copy's page first changed, 0 for fresh copies
	Policy    string  `json:"policy"`
	Budget    int64   `json:"budget"` // requests per interval
	IntervalS float64 `json:"interval_s"`
	Requests  int64   `json:"requests_in_interval"` // for pages, so far
	Last      int64   `json:"requests_last_interval"`
	// What those requests were for. A request is counted when its answer has come.
	Spent     keepfresh.Spending `json:"spent_in_interval"`
	SpentLast keepfresh.Spending `json:"spent_last_interval"`

	UnderWay int `json:"visits_planned"` // picked pages that may be fetched now
	Waiting  int `json:"visits_waiting"` // picked pages whose site must wait
	// Over about the last thousand visits: the share expected to find a change, and the share that did. Their
	// difference shows how far Freshness can be trusted.
	ExpectedChanged float64 `json:"visits_expected_changed"`
	FoundChanged    float64 `json:"visits_found_changed"`
	// Forecast is the long-run weighted freshness under other budgets.
	Forecast []BudgetFreshness `json:"forecast"`
	// Sites are the mostSites sites with the most pages.
	Sites map[string]SiteFreshness `json:"sites"`

	spread        float64 // variance of the number of fresh copies, if copies are independent
	weight        float64 // total of the pages
	embarrassment float64 // queries per day that a stale copy of weight 1 embarrasses; 0: not known
}

// Embarrassment is the expected number of queries per day, in the long run, whose answer is a stale copy that is
// clicked and found wrong or gone.
type Embarrassment struct {
	Expected float64 `json:"expected_per_day"`
	Uniform  float64 `json:"uniform_per_day"`       // if all pages were visited equally often
	Double   float64 `json:"double_budget_per_day"` // with twice the budget
}

// Embarrassment returns the expected embarrassment, by eq. 8 of Wolf et al.: Σ w × the fraction of time for which a
// page's copy is stale. It returns nil if the weights do not come from a query log.
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

// BudgetFreshness is the forecast for one budget, spent on visits only.
type BudgetFreshness struct {
	Budget    int64   `json:"budget"` // requests per interval
	Freshness float64 `json:"freshness"`
	Uniform   float64 `json:"uniform"` // if all pages were visited equally often
}

// mostSites is the maximum number of sites reported individually.
const mostSites = 50

// Beliefs are sums of the beliefs about pages, computed some pages at a time, see Shard.SumUp.
type Beliefs struct {
	next   refresh.ID
	total  belief
	bySite map[weburl.Site]*belief
}

// Next prepares the sums for the pages of another shard.
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
	sumEvery     = time.Second // machine time
)

// estimate continues the sums over all pages if a caller has requested them since the last ones. At the end it stores
// the result.
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

// sumUp adds some more pages to the sums, and reports whether they were the last.
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

// url returns a page's URL from its row, or the zero URL if the row cannot be read.
func (f *fresh) url(id refresh.ID) weburl.URL {
	page := &f.table.pages[id]
	row, err := f.rows.Page(page.partition, page.fingerprint)
	if err != nil {
		return weburl.URL{}
	}
	return row.URL
}

// forecastPages is the maximum number of pages that a forecast samples.
const forecastPages = 256

// budgets are the budgets of a forecast, as multiples of the crawl's.
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

// calibration compares the changes that visits were expected to find with those they found. Recent visits count more.
type calibration struct{ visits, expected, changed float64 }

// rememberedFindings is the number of visits on which a calibration is based.
const rememberedFindings = 1000

// add adds a visit to a copy that was stale with probability stale.
func (c *calibration) add(stale float64, changed bool) {
	const keep = 1 - 1.0/rememberedFindings
	found := 0.0
	if changed {
		found = 1
	}
	c.visits, c.expected, c.changed = keep*c.visits+1, keep*c.expected+stale, keep*c.changed+found
}

// shares returns the expected and the observed share of visits that find a change.
func (c *calibration) shares() (expected, found float64) {
	if c.visits == 0 {
		return 0, 0
	}
	return c.expected / c.visits, c.changed / c.visits
}

// Result returns the freshness computed from the sums.
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

// together is the standard error that the beliefs about many pages have in common, as a fraction of the stale share.
// Such beliefs are wrong together if a site's sitemap or feed is visited less often than before, because the changes
// that it reported are then missing.
const together = 0.2

// bound sets the bounds of the freshness at two standard errors.
func (f *Freshness) bound() {
	n := float64(max(1, f.Pages))
	either := 2 * math.Hypot(math.Sqrt(f.spread)/n, together*(1-f.Freshness))
	f.Low, f.High = max(0, f.Freshness-either), min(1, f.Freshness+either)
}

// And returns the combined freshness of two shards' parts of a copy. nil stands for a shard without sums yet.
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
		Requests: f.Requests + o.Requests, Last: f.Last + o.Last, Spent: f.Spent.And(o.Spent), SpentLast: f.SpentLast.And(o.SpentLast),
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

// mostPages returns the mostSites sites with the most pages, of two sets.
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

// Freshness returns the last computed freshness of the copy and requests a new computation. It returns nil before the
// first computation, and if no page is kept fresh.
func (s *Shard) Freshness(now time.Time) *Freshness { return s.fresh.freshness(now) }

// freshness returns the last computed freshness and requests a new one; nil before the first.
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
	found.SpentLast, found.Spent = f.pacer.Spent(now)
	return &found
}

// SumUp adds the present beliefs about some more pages to the sums, and reports whether they were the last. It adds
// none if no page is kept fresh.
func (s *Shard) SumUp(b *Beliefs, now time.Time) (done bool) {
	return s.fresh == nil || s.fresh.sumUp(b, now)
}

// Refreshing is the belief about a page that is kept fresh, and what follows from it.
type Refreshing struct {
	Weight     float64
	Planned    int        // visits since the crawl began to run
	NextDue    *time.Time // nil: never or unknown
	RatePerDay float64    // expected changes
	Stale      float64    // the probability that the copy is stale
	AgeS       float64
	Value, Bar float64 // worth of a visit now; the worth above which pages are visited
	// PerInterval is how many visits per interval the page is worth now.
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
