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

// Refresh keeps the pages that a crawl has fetched fresh, as a live crawl does: a budget of requests, new
// pages included; a policy that is told of every visit and asked for the next page; the site's due queue,
// which leads it past politeness.
type Refresh struct {
	Policy refresh.Policy
	Budget int64         // requests a day; robots.txt does not count
	For    time.Duration // when the crawl ends
	Share  float64       // of the requests that new pages are owed while both wait; 0 is frontier.DefaultShare

	// Changes returns how often a page has changed from the start of the crawl to a time in seconds: the
	// truth, of which the policy sees only what its visits show.
	Changes func(page uint32, at float64) int

	// Belief, if not nil, is told what the policy is told, unless it is the policy itself, and asked at each
	// sample what is believed of the copies.
	Belief  *refresh.Index
	Every   time.Duration // between samples
	Sampled func(Sample)  // hears of them; may be nil
}

// Sample is how fresh the copies are at a time.
type Sample struct {
	At       float64 // s
	Pages    int     // with a copy
	Fresh    float64 // share of the copies that are as the page is
	Believed float64 // what is believed of that share
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

// copied is what a crawl knows of a page's copy.
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

// budget returns what requests are taken out of; nil: there is none.
func (r *refresher) budget() frontier.Budget {
	if r == nil {
		return nil
	}
	return r.pacer
}

// pick puts the pages that are to be visited next into the due queues.
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

// visited tells of a request for a page; it returns whether the page was known before, and is thus no
// discovery.
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

// pathOf returns a path for a page. All pages of a site lie in one folder.
func pathOf(page uint32) string { return "/" + fingerprint(page).String() }

// sample looks at all copies. O(pages).
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
