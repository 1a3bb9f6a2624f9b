package trial

import (
	"slices"
	"time"

	"freshet/weburl"
)

type budgetFrom struct {
	at     time.Duration
	budget int64
}

// request is a request for a page, made or attempted: the budget pays for both.
type request struct {
	at   time.Duration
	site weburl.Site
}

// paid notes a request for a page of a site.
func (w *watch) paid(site weburl.Site) { w.requests = append(w.requests, request{w.t.now, site}) }

// spend checks the budget.
func (w *watch) spend() {
	interval := w.crawl.Interval
	if w.crawl.Budget == 0 {
		return
	}
	now := w.t.now
	w.spent = append(w.spent, now)
	for w.spent[0] <= now-interval {
		w.spent = w.spent[1:]
	}
	budget := int64(0)
	for i, b := range w.budgets { // that was in force in the interval
		if i+1 == len(w.budgets) || w.budgets[i+1].at > now-interval {
			budget = max(budget, b.budget)
		}
	}
	lives := 0
	for _, at := range w.opens {
		if at > now-interval {
			lives++
		}
	}
	most := budget + max(1, budget/100) + int64(lives+w.crawl.Room) + 1 // under way at the beginning
	if int64(len(w.spent)) > most {
		w.fail("budget", "%d requests in %v: want at most %d, of a budget of %d", len(w.spent), interval, most, budget)
	}
}

const (
	longTrouble = 5 * time.Hour // trouble this long is checked for its cost to other sites
	fairShare   = 0.5           // least part of the earlier pace of the other sites
)

// shared checks, at the end of one site's trouble, that the other sites got the budget that the site did not use.
// It checks only if nearly all of the budget was spent for as long before the trouble, and nothing else happened. The
// policy plan gives its visits to sites for a whole interval, so what a site cannot use goes to nobody.
func (w *watch) shared(f *Fault) {
	c := &w.crawl
	if c.Budget == 0 || c.Policy == "plan" || f.For < longTrouble || f.At < 2*longTrouble || c.Hours != "" || w.disturbed(f) {
		return
	}
	site := w.t.c.Sites[f.Site].Name
	before, during, own, others := 0, 0, 0, map[weburl.Site]bool{}
	for _, r := range w.requests {
		switch {
		case r.at >= f.At-longTrouble && r.at < f.At:
			before++
			if r.site.Name() != site.Name() {
				others[r.site] = true
			}
		case r.at >= f.At && r.site.Name() != site.Name():
			during++
		case r.at >= f.At:
			own++
		}
	}
	spent := float64(before) / longTrouble.Hours()
	if len(others) == 0 || spent < 0.8*float64(c.Budget)/c.Interval.Hours() {
		return
	}
	w.t.result.Done["shares looked at"]++
	got, used := float64(during)/f.For.Hours(), float64(own)/f.For.Hours()
	if float64(during+1) < fairShare*(spent-used)*f.For.Hours() { // one request less is allowed
		w.fail("shares", "while %s was in trouble for %v, it was asked %.1f times an hour and others %.1f, all %.1f times before",
			site, f.For, used, got, spent)
	}
}

// disturbed reports whether anything else happened in the time of a fault, or shortly before. A crawl that is over, as
// at its greatest number of pages, asks nobody.
func (w *watch) disturbed(f *Fault) bool {
	for i := range w.t.c.Faults {
		other := &w.t.c.Faults[i]
		if other.Label != f.Label && other.At < f.At+f.For && other.At+other.For > f.At-longTrouble {
			return true
		}
	}
	lately := func(at time.Duration) bool { return at > f.At-longTrouble }
	return slices.ContainsFunc(w.opens, lately) || slices.ContainsFunc(w.overs, lately)
}
