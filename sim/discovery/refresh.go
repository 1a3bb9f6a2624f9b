package discovery

import (
	"errors"
	"fmt"
	"math"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/frontier"
	"freshet/refresh"
)

// Refresh keeps fetched pages fresh, as a live crawl does: a budget of requests, new pages included; a policy that
// learns from every visit and picks the next page; the sites' due queues, which respect politeness.
type Refresh struct {
	Policy refresh.Policy
	Budget int64         // requests a day; robots.txt does not count
	For    time.Duration // when the crawl ends
	Share  float64       // of the requests for new pages while both kinds wait; 0 is frontier.DefaultShare

	// Changes returns how often a page has really changed from the start of the crawl to a time in seconds. The
	// policy sees only what its visits show.
	Changes func(page uint32, at float64) int

	// Belief, if not nil, gets the same events as the policy, unless it is the policy itself. At each sample it
	// gives the believed freshness.
	Belief  *refresh.Index
	Every   time.Duration // between samples
	Sampled func(Sample)  // called for each; may be nil
}

// Sample is how fresh the copies are at a time.
type Sample struct {
	At       float64 // s
	Pages    int     // with a copy
	Fresh    float64 // share of the copies that are up to date
	Believed float64 // the same, as believed
}

func (r *Refresh) validate() error {
	switch {
	case r == nil:
		return nil
	case r.Policy == nil || r.Changes == nil:
		return errors.New("discovery: refresh without a policy or changes")
	case r.Budget < 1:
		return fmt.Errorf("discovery: refresh budget %d: want at least a request a day", r.Budget)
	case r.For <= 0:
		return fmt.Errorf("discovery: refresh for %v: want more than 0s", r.For)
	case r.Every <= 0 && r.Sampled != nil:
		return fmt.Errorf("discovery: refresh sampled every %v: want more than 0s", r.Every)
	}
	return nil
}

// refresher keeps pages fresh. A nil refresher fetches every page once, without a budget.
type refresher struct {
	Refresh
	keeper *keepfresh.Keeper
	pacer  *keepfresh.Pacer
	copies []copied         // by page
	pages  int              // with a copy
	wake   float64          // when to pick again
	picks  []keepfresh.Pick // reused
}

// copied is what a crawl knows about a page's copy.
type copied struct {
	version int32 // changes before it was made
	there   bool
}

const budgetDay = 24 * time.Hour

func newRefresher(o Options, f *frontier.Frontier, pages int) *refresher {
	if o.Refresh == nil {
		return nil
	}
	r := &refresher{Refresh: *o.Refresh, copies: make([]copied, pages), wake: math.Inf(1)}
	var others []refresh.Policy
	if r.Belief != nil && r.Policy != refresh.Policy(r.Belief) {
		others = append(others, r.Belief)
	}
	pace := keepfresh.NewPace(r.Budget, budgetDay, keepfresh.LookAhead, o.Delay)
	r.keeper = keepfresh.New(f, pace, r.Policy, others...)
	r.pacer = keepfresh.NewPacer(r.Budget, budgetDay, epoch)
	return r
}

// budget returns the budget of requests; nil: there is none.
func (r *refresher) budget() frontier.Budget {
	if r == nil {
		return nil
	}
	return r.pacer
}

// pick puts the pages to visit next into the due queues.
func (c *crawl) pick(now float64) {
	r, t := c.refresher, instant(now)
	again := t
	for again.Equal(t) {
		r.picks, again = r.keeper.Pick(r.picks[:0], keepfresh.PicksAtOnce, t)
		for _, p := range r.picks {
			c.due(uint32(p.ID), p.Due, t)
		}
	}
	if at := seconds(again); !again.IsZero() && at < r.wake && at <= r.For.Seconds() {
		r.wake = at
		c.events.Push(at, happening{kind: slotted})
	}
}

// visited reports a request for a page to the policy. It returns whether the page was fetched before, so that it is
// no discovery.
func (c *crawl) visited(now float64, f Fetch) (again bool) {
	r := c.refresher
	copied, id := &r.copies[f.Page], refresh.ID(f.Page)
	again = copied.there
	version := int32(r.Changes(f.Page, now))
	visit := refresh.Visit{At: keepfresh.Seconds(instant(now)), Outcome: refresh.Unchanged}
	if again {
		if version > copied.version {
			visit.Outcome = refresh.Changed
		}
		r.keeper.Visited(id, visit)
	} else {
		r.pages++
		site := string(c.names[f.Site])
		r.keeper.Enter(id, refresh.Page{Site: site, Path: pathOf(f.Page), Weight: 1, Fresh: visit.At})
	}
	copied.version, copied.there = version, true
	return again
}

// pathOf returns a path for a page. All pages of a site are in one folder.
func pathOf(page uint32) string { return "/" + fingerprint(page).String() }

// sample measures the freshness of all copies. O(pages).
func (c *crawl) sample(now float64) {
	r := c.refresher
	s := Sample{At: now, Pages: r.pages}
	at := keepfresh.Seconds(instant(now))
	if r.Belief != nil {
		r.Belief.Learn(at)
	}
	fresh, believed := 0, 0.0
	for page, copied := range r.copies {
		if !copied.there {
			continue
		}
		if int(copied.version) == r.Changes(uint32(page), now) {
			fresh++
		}
		if r.Belief != nil {
			believed += 1 - r.Belief.Copy(refresh.ID(page), at).Stale
		}
	}
	if r.pages > 0 {
		s.Fresh, s.Believed = float64(fresh)/float64(r.pages), believed/float64(r.pages)
	}
	r.Sampled(s)
	if next := now + r.Every.Seconds(); next <= r.For.Seconds() {
		c.events.Push(next, happening{kind: sampled})
	}
}
