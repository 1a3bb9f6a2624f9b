package trial

import (
	"slices"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// proposed notes what will be appended. From now on a recrawl may be done: a crash may keep the visit.
func (w *watch) proposed(n *node, a crawl.Append) {
	for _, r := range a.Records {
		switch r := r.(type) {
		case *store.Fetched: // a crash may keep it although it was not acknowledged
			w.collected += r.Collected
		case *store.Refused:
			delete(w.recrawls, r.URL)
		}
	}
	if a.Turn == 0 {
		return
	}
	e := n.turns[a.Turn]
	if (e == nil || e.appended || !e.processed) && a.Refused == nil || e != nil && a.Refused != nil {
		w.fail("turns", "turn %d is appended at a wrong moment", a.Turn)
	}
	if e != nil {
		delete(w.recrawls, e.Page)
	}
}

// acknowledged notes what is now durable.
func (w *watch) acknowledged(n *node, group []crawl.Append) {
	for _, a := range group {
		for _, r := range a.Records {
			if r, ok := r.(*store.Withdrawn); ok {
				w.withdrawn[r.Fingerprint] = true
			}
		}
		e := n.turns[a.Turn]
		if a.Turn == 0 || e == nil {
			continue
		}
		e.appended = true
		if h := w.host(e.URL.Site()); h.turn == e.Turn {
			h.durable = true
		}
		if r, fetched := a.Records[0].(*store.Fetched); fetched {
			if w.visited[e.Page]++; r.SiteSignals != e.signals && w.spared(e.Page) {
				w.fail("tdmrep", "%s was asked for when its site said %q, its record has %q", e.URL, e.signals, r.SiteSignals)
			}
		}
	}
}

func compareURL(a, b weburl.URL) int { return strings.Compare(a.String(), b.String()) }

// rowsHold checks all rows.
func (w *watch) rowsHold(n *node) {
	cash, paid := 0.0, 0.0
	for _, page := range n.pages() {
		if page.Queue == store.NoQueue && !page.Visited && page.Reason == "" && page.State != store.StatePurged {
			w.fail("lost", "%s was never visited, waits in no queue and was not refused", page.URL)
		}
		if page.Queue == store.NoQueue && page.Visited && page.State == store.StatePending {
			w.fail("lost", "%s was visited and is still pending", page.URL)
		}
		cash += page.Cash
		paid += page.Paid
		if w.byCash() && page.Paid > page.Cash*(1+1e-5)+1e-6 {
			w.fail("cash", "%s has handed on %g of %g", page.URL, page.Paid, page.Cash)
		}
	}
	most := float64(len(w.seeds)) + paid + w.buried
	if len(w.opens) > 1 {
		most += w.collected // its links may have been offered again
	}
	if w.byCash() && !w.mayPayTwice() && cash > most*(1+1e-5)+1e-6 {
		w.fail("cash", "pages have %g of cash, %d seeds and the pages' payments come to %g", cash, len(w.seeds), most)
	}
}

// byCash reports whether the ordering uses cash that pages pass on.
func (w *watch) byCash() bool { return w.crawl.Ordering == "opic" || w.crawl.Ordering == "cash-sum" }

// mayPayTwice reports whether some of a page's links may have brought their cash twice: if there are too many to
// offer at once, and a crash came in between.
func (w *watch) mayPayTwice() bool { return w.crawl.OfferBytes < 1<<20 && len(w.opens) > 1 }

const everyQuiet = 2 * time.Hour

// readAhead is how many pages of a site the frontier may hand out before they are reported to it. Until the site's
// queue is empty, its count may be too low by that many.
const readAhead = 8

func within(missing, most int64) bool { return missing >= 0 && missing <= most }

// queuesHold checks that the shard's queues in memory equal the stored ones.
func (w *watch) queuesHold(n *node) {
	total, err := n.store.Total()
	w.t.must(err)
	status := n.shard.Status(n.clock())
	told := status.Queues
	ahead := int64(readAhead * len(w.t.c.Sites))
	if !within(total.New-int64(told.QueuedNew), ahead) || !within(total.Due-int64(told.QueuedDue), ahead) {
		w.fail("queues", "%d new and %d due pages are stored, the shard counts %d and %d",
			total.New, total.Due, told.QueuedNew, told.QueuedDue)
	}
	if told.InFlight > 0 {
		w.fail("turns", "no turn is under way, and the shard counts %d hosts as being asked", told.InFlight)
	}
	if f := status.Refresh; f != nil && w.lived() < w.crawl.Interval && f.Requests != int64(n.paid) {
		w.fail("budget", "%d requests were made, %d are taken out of the budget", n.paid, f.Requests)
	}
}

// linksHold checks that all links of stored pages that belong to the crawl are known.
func (w *watch) linksHold(n *node) {
	for _, page := range n.pages() {
		if page.Versions == 0 || page.NoFollow || page.State == store.StatePurged {
			continue
		}
		links, err := n.store.OutLinks(n.store.Home(page.URL.Site()), page.Fingerprint)
		w.t.must(err)
		for _, link := range links {
			if !w.belongs(n, link.URL) {
				continue
			}
			if _, _, err := n.store.PageOf(link.URL); err != nil {
				w.fail("lost", "%s links to %s, which is not known: %v", page.URL, link.URL, err)
			}
		}
	}
}

// belongs reports whether a linked page certainly belongs to the crawl.
func (w *watch) belongs(n *node, u weburl.URL) bool {
	row, err := n.store.Site(u.Site())
	if err == nil && (row.Purged || slices.ContainsFunc(row.Refused, func(r store.Reason) bool {
		return r.Reason == "site-full" || r.Reason == "depth" || r.Reason == "redirects"
	})) || w.crawl.MaxDepth > 0 || w.crawl.Excluded && strings.HasSuffix(u.String(), "7") || w.crawl.PagesPerSite > 0 {
		return false
	}
	switch w.crawl.Scope {
	case "any":
		return true
	case "site":
		return w.known[u.Site()]
	case "domain":
		for site, seed := range w.known {
			if seed && site.Domain() == u.Domain() {
				return true
			}
		}
	}
	return false
}

// beliefsHold checks that a shard that starts now would believe about the same as this one. They differ by 0.06 at most
// in 99 of 100 pages. The few others differ because a crawl learns what pages share as visits come in, and a restart
// from all visits at once.
func (w *watch) beliefsHold(n *node) {
	if n.settings.Refresh == nil || w.forgot || w.setBack {
		return
	}
	now := n.clock()
	// These policies learn priors when they plan, and a start plans.
	plans := slices.Contains([]string{"plan", "azar", "lambdacrawl"}, w.crawl.Policy)
	other, err := crawl.New(n.rows(), readOnly{n.seen}, n.shard.Settings(), now)
	w.t.must(err)
	defer other.Close()
	for other.Remembers() {
		_, err := other.Step(now)
		w.t.must(err)
	}
	folded := map[weburl.Site]bool{} // sites with pages of which old visits are no longer kept one by one
	for _, page := range n.pages() {
		if page.Visits > store.KeptVisits {
			folded[page.URL.Site()] = true
		}
	}
	for _, page := range n.pages() {
		mine, kept := n.shard.Refreshing(page.URL, page.Fingerprint, now)
		theirs, would := other.Refreshing(page.URL, page.Fingerprint, now)
		if kept != would && page.Reason != "excluded" { // one that a reload excludes is let go of at its turn
			w.fail("beliefs", "%s is kept fresh: %v, after a restart %v", page.URL, kept, would)
		}
		site := page.URL.Site()
		told := plans || w.site(site).Robots == robotsOpen || w.pinged[page.URL] // claims are not remembered
		told = told || w.withdrawn[page.Fingerprint]                             // nor when a page was away
		told = told || folded[site]                                              // nor what these visits taught
		if kept && would && !told && !near(mine.Stale, theirs.Stale, 0.4) && w.knowsRate(n, page) {
			w.fail("beliefs", "%s is stale with %g, after a restart with %g", page.URL, mine.Stale, theirs.Stale)
		}
	}
}

// knowsRate reports whether a page's own visits bound its rate on both sides: some found a change and some found none.
// One or two changes may have been the site's, and what is believed of a site depends on the order of its visits.
func (w *watch) knowsRate(n *node, page store.PageAt) bool {
	visits, err := n.store.Visits(n.store.Home(page.URL.Site()), page.Fingerprint)
	w.t.must(err)
	changed, same := -1, 0 // the first visit finds no change
	for _, v := range visits {
		switch {
		case v.Changed:
			changed++
		case v.Complete:
			same++
		}
	}
	return min(changed, same) >= 3
}
