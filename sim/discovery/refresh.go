package discovery

import (
	"errors"
	"fmt"
	"time"

	"freshet/refresh"
)

// Refresh keeps the pages that a crawl has fetched fresh, as a live crawl does: a budget of requests, new
// pages included; a policy that is told of every visit and asked for the next page; the site's due queue,
// which leads it past politeness.
type Refresh struct {
	Policy refresh.Policy
	Budget float64       // requests a second; robots.txt does not count
	For    time.Duration // when the crawl ends
	Share  float64       // of the requests that new pages are owed while both wait; 0 is 0.2

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

// defaultShare is what new pages are owed in a live crawl.
const defaultShare = 0.2

func (r *Refresh) validate() error {
	switch {
	case r == nil:
		return nil
	case r.Policy == nil || r.Changes == nil:
		return errors.New("discovery: refresh without a policy or changes")
	case !(r.Budget > 0):
		return fmt.Errorf("discovery: refresh budget %v: want more than 0 requests/s", r.Budget)
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
	copies []copied // by page
	pages  int      // with a copy
	paid   int      // requests that the budget allows now
	ahead  int      // pages picked and not yet visited
}

// copied is what a crawl knows of a page's copy.
type copied struct {
	version int32 // changes before it was made
	there   bool
}

// picksAhead is how many pages are picked before the last ones are visited.
const picksAhead = 2

func newRefresher(o Options, pages int) *refresher {
	if o.Refresh == nil {
		return nil
	}
	return &refresher{Refresh: *o.Refresh, copies: make([]copied, pages)}
}

// pays says whether the budget has a request, and takes it.
func (r *refresher) pays() bool {
	if r == nil {
		return true
	}
	if r.paid == 0 {
		return false
	}
	r.paid--
	return true
}

// repaid puts a request back that was not made, or was for robots.txt.
func (r *refresher) repaid() {
	if r != nil {
		r.paid++
	}
}

// each tells the policy, and what is believed beside it.
func (r *refresher) each(tell func(refresh.Policy)) {
	tell(r.Policy)
	if r.Belief != nil && r.Policy != refresh.Policy(r.Belief) {
		tell(r.Belief)
	}
}

// slot is a time at which the budget allows one more request; like a live crawl's meter it keeps a hundredth
// of a day's.
func (c *crawl) slot(now float64) {
	r := c.refresher
	most := max(1, int(r.Budget*24*3600/100))
	r.paid = min(most, r.paid+1)
	for r.ahead < picksAhead {
		id, _, ok := r.Policy.Next(now)
		if !ok {
			break
		}
		r.ahead++
		c.due(uint32(id), instant(now), instant(now))
	}
	if next := now + 1/r.Budget; next <= r.For.Seconds() {
		c.events.Push(next, happening{kind: slotted})
	}
}

// visited tells of a request for a page; it returns whether the page was known before, and is thus no
// discovery.
func (c *crawl) visited(now float64, f Fetch) (again bool) {
	r := c.refresher
	if r == nil {
		return false
	}
	copied, id := &r.copies[f.Page], refresh.ID(f.Page)
	again = copied.there
	if again {
		r.ahead--
	}
	version := int32(r.Changes(f.Page, now))
	switch {
	case f.Failed && again:
		r.each(func(p refresh.Policy) { p.Visited(id, refresh.Visit{At: now}) })
		return true
	case f.Failed:
		return false
	case !again:
		r.pages++
		name := c.names[f.Site]
		r.each(func(p refresh.Policy) {
			p.Add(id, refresh.Page{Site: string(name), Path: pathOf(f.Page), Weight: 1, Fresh: now})
		})
	default:
		visit := refresh.Visit{At: now, Outcome: refresh.Unchanged}
		if version > copied.version {
			visit.Outcome = refresh.Changed
		}
		r.each(func(p refresh.Policy) { p.Visited(id, visit) })
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
	if r.Belief != nil {
		r.Belief.Learn(now)
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
			believed += 1 - r.Belief.Copy(refresh.ID(page), now).Stale
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
