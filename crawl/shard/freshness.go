package shard

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/weburl"
)

// Refresh says how a crawl keeps its copy fresh.
type Refresh struct {
	// Budget is how many pages are asked for in an interval, at most: new pages, visits, redirect hops,
	// answers 304 and failures alike; not robots.txt. Required.
	Budget   int64
	Interval time.Duration // default 24 h
	Policy   string        // one of policies.Names; default policies.Default
	// Weight is what a second of a page's freshness is worth beside that of others; nil: all alike.
	Weight func(weburl.URL) float64
	// Rank weighs the pages by their importance instead: half of a page's weight is its PageRank over the
	// links that are stored, in the mean over all, half the same for each; a new page weighs as the mean.
	// Ranks are computed anew after so long, and when the pages have doubled. 0: not.
	Rank time.Duration
	// OnVisit hears of every visit to a page that is kept fresh, the first among them: whether the copy is
	// as the page was then, and whether the page is kept fresh further on. It is called from one goroutine.
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
