package trial

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// watch knows what the servers and the operator know, and checks the invariants. It trusts nothing that the shard
// says about itself.
type watch struct {
	t        *trial
	crawl    Crawl         // the present settings
	former   *Crawl        // the old settings during a reload; else nil
	eased    time.Duration // until then a host may wait for an interval that an order has made shorter
	sites    map[weburl.Site]int
	troubles []map[faultKind]int // by site
	slowDisk int
	dieNext  int            // see Fault.Again
	struck   []crawl.Struck // the pages in processing at the last crash

	hosts     map[string]*host
	addresses map[netip.Addr]*place
	robots    map[weburl.Site]*rules
	toggles   map[string]*toggle
	paces     map[weburl.Site]*pace
	purged    []store.Target
	visited   map[weburl.URL]uint32 // visits that were acknowledged
	asked     map[weburl.Site]time.Duration
	recrawls  map[weburl.URL]bool // acknowledged, and not visited since
	given     map[weburl.URL]bool // seeds of acknowledged orders
	seeds     map[weburl.URL]bool // all seeds ever given
	pinged    map[weburl.URL]bool
	buried    float64                     // cash that purged pages had passed on
	forgot    bool                        // pages were purged in this life: what they taught counts until its end
	setBack   bool                        // the clock was set back: visits seem to lie ahead, and teach only a restart
	withdrawn map[weburl.Fingerprint]bool // pages that robots.txt withdrew at some time
	collected float64                     // held-back cash that visits collected

	requests []request       // for pages, all
	spent    []time.Duration // requests of the last interval
	budgets  []budgetFrom
	opens    []time.Duration // of lives
	overs    []time.Duration // of crawls
	reloads  int             // reload orders without an answer
	reload   bool            // the bounds have changed in this life
	known    map[weburl.Site]bool
	quiet    time.Duration // when the queues were compared last
}

func newWatch(t *trial) watch {
	w := watch{
		t: t, crawl: t.c.Crawl, sites: map[weburl.Site]int{}, hosts: map[string]*host{}, addresses: map[netip.Addr]*place{},
		robots: map[weburl.Site]*rules{}, toggles: map[string]*toggle{}, paces: map[weburl.Site]*pace{}, visited: map[weburl.URL]uint32{},
		asked: map[weburl.Site]time.Duration{}, withdrawn: map[weburl.Fingerprint]bool{}, recrawls: map[weburl.URL]bool{}, given: map[weburl.URL]bool{},
		seeds: map[weburl.URL]bool{}, pinged: map[weburl.URL]bool{}, budgets: []budgetFrom{{0, t.c.Crawl.Budget}},
	}
	for i, s := range t.c.Sites {
		w.sites[s.Name] = i
		w.troubles = append(w.troubles, map[faultKind]int{})
		w.robots[s.Name] = &rules{}
		if w.hosts[s.Name.Name()] == nil {
			w.hosts[s.Name.Name()] = &host{}
		}
		if w.addresses[s.Address] == nil {
			w.addresses[s.Address] = &place{}
		}
		if s.Seed {
			w.seeds[t.web.roots[i]] = true
		}
	}
	return w
}

func (w *watch) index(site weburl.Site) int {
	i, ok := w.sites[site]
	if !ok {
		w.t.fail("scope", "%s is no site of the web", site)
	}
	return i
}

func (w *watch) site(site weburl.Site) *Site { return &w.t.c.Sites[w.index(site)] }
func (w *watch) at(trouble faultKind, site weburl.Site) bool {
	return w.troubles[w.index(site)][trouble] > 0
}
func (w *watch) fail(check, format string, args ...any) { w.t.fail(check, format, args...) }
func (w *watch) host(site weburl.Site) *host            { return w.hosts[site.Name()] }
func (w *watch) toggle(key string) *toggle {
	if w.toggles[key] == nil {
		w.toggles[key] = &toggle{sure: true}
	}
	return w.toggles[key]
}

// address returns the address of a site's host.
func (w *watch) address(site weburl.Site) netip.Addr {
	for _, s := range w.t.c.Sites {
		if s.Name.Name() == site.Name() {
			return s.Address
		}
	}
	return netip.Addr{}
}

// delayOf returns the required interval of a site.
func (w *watch) delayOf(site weburl.Site) time.Duration {
	if w.index(site) == 0 && w.crawl.SiteDelay > 0 {
		return w.crawl.SiteDelay
	}
	if w.former != nil {
		return min(w.crawl.Delay, w.former.Delay)
	}
	return w.crawl.Delay
}

// pacesOf returns the longest delay that was ever ordered for a host's sites, and whether all orders are acknowledged.
func (w *watch) pacesOf(name string) (longest time.Duration, sure bool) {
	sure = true
	for site, p := range w.paces {
		if site.Name() != name {
			continue
		}
		longest, sure = max(longest, p.longest), sure && p.sure
	}
	return longest, sure
}

// handedOut checks a request that the shard orders.
func (w *watch) handedOut(n *node, e *errand) {
	site, u := e.Page.Site(), e.URL
	for _, key := range []string{"all", "site " + string(site), "host " + u.Host(), "host " + site.Host()} {
		g := w.toggles[key]
		if g != nil && g.on && g.sure && (g.until.IsZero() || n.clock().Before(g.until)) {
			w.fail("orders", "%s is asked for, but %q is shut", u, key)
		}
	}
	h := w.host(u.Site())
	if p := w.paces[u.Site()]; p != nil && p.sure && h.met && h.busy == 0 && w.t.now < h.last+p.least && !w.continues(h) {
		w.fail("orders", "%s is asked for %v too early for the delay that was ordered", u, h.last+p.least-w.t.now)
	}
	for _, target := range w.purged {
		if target.URL == e.Page || target.URL.IsZero() && target.Site == site && !e.Robots {
			w.fail("purge", "%s is asked for, %s was purged", e.Page, target)
		}
	}
	if w.open(site, n.clock()).After(n.clock()) {
		w.fail("hours", "%s is asked for at %v", u, n.clock())
	}
	if e.Robots {
		return
	}
	r := w.robots[site]
	if !r.had {
		w.fail("robots", "%s is asked for, robots.txt was never had", u)
	}
	if r.owes && n.clock().Before(r.owesTill) {
		w.fail("tdmrep", "%s is asked for, tdmrep.json was not", u)
	}
	e.signals = r.signals(u)
	for _, prefix := range r.disallow {
		if strings.HasPrefix(u.Path(), prefix) {
			w.fail("robots", "%s is asked for, robots.txt forbids %s", u, prefix)
		}
	}
	const slack = 4 * time.Hour // for a gate that stays shut while it expires
	if late := n.clock().Sub(w.open(site, r.until)); late > slack {
		w.fail("robots", "%s is asked for, robots.txt was to be asked for %v ago", u, late)
	}
}

// open returns the first moment, not before from, at which a site may be visited by its hours.
func (w *watch) open(site weburl.Site, from time.Time) time.Time {
	if w.crawl.Hours == "" || w.index(site) != 0 {
		return from
	}
	hours, err := frontier.ParseHours(w.crawl.Hours)
	w.t.must(err)
	return hours.Next(from)
}

// reloading notes the start of a reload with new settings.
func (w *watch) reloading(next Crawl) {
	if next.Budget != w.crawl.Budget {
		w.budgets = append(w.budgets, budgetFrom{w.t.now, next.Budget})
	}
	if w.former == nil || w.former.Delay > w.crawl.Delay {
		former := w.crawl
		w.former = &former
	}
	own, will := cmp.Or(w.crawl.SiteDelay, w.crawl.Delay), cmp.Or(next.SiteDelay, next.Delay)
	if next.Delay < w.crawl.Delay || will < own {
		w.eased = max(w.eased, w.t.now+2*max(w.crawl.Delay, own))
	}
	w.crawl, w.reload = next, true
	w.reloads++
	for site := range w.sites { // shorter intervals may apply at once
		h := w.host(site)
		h.interval = min(h.interval, w.delayOf(site))
	}
}

// crashed notes that a life was cut off.
func (w *watch) crashed(n *node) {
	w.t.trace("crash")
	w.unclean()
	if w.t.c.Crawl.StrikesAtCrash && n.store != nil {
		w.struck = nil
		for _, turn := range slices.Sorted(maps.Keys(n.turns)) {
			if e := n.turns[turn]; e.inProcess && !e.appended && e.process.Robots == nil {
				row := e.process.Row
				w.struck = append(w.struck, crawl.Struck{
					PageKey: crawl.PageKey{Partition: n.store.Home(row.URL.Site()), Fingerprint: row.URL.Fingerprint()}, Visits: row.Visits,
				})
			}
		}
	}
	for _, g := range w.toggles {
		g.sure = g.sure && g.pending == 0
		g.pending = 0
	}
	for _, p := range w.paces {
		p.sure = p.sure && p.pending == 0
		p.pending = 0
	}
}

// stopped notes that a life has ended in order.
func (w *watch) stopped(clean bool) {
	for _, h := range w.hosts {
		h.kept = false
	}
	if !clean {
		w.unclean()
	}
}

// opened checks what a new life finds.
func (w *watch) opened(n *node) {
	n.dieAt, w.dieNext = w.dieNext, 0
	w.opens = append(w.opens, w.t.now)
	w.reload, w.reloads, w.former = false, 0, nil
	for _, h := range w.hosts {
		if h.floor < 0 && h.met { // the last answer is unknown
			h.interval, h.after, h.crawling = w.crawl.Delay, 0, 0
		}
	}
	for site := range w.sites {
		if h := w.host(site); h.floor < 0 && h.met && n.queues(site) { // others have no say
			h.interval = max(h.interval, w.delayOf(site))
		}
	}
	for _, site := range slices.Sorted(maps.Keys(w.sites)) {
		w.reread(n, site)
	}
	for _, h := range w.hosts {
		if h.floor < 0 {
			h.floor = w.t.now + h.interval
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(w.visited), compareURL) {
		row, _, err := n.store.PageOf(u)
		if err != nil || row.Visits < w.visited[u] && row.State != store.StatePurged {
			w.fail("durable", "%d visits of %s were acknowledged, its row has %d: %v", w.visited[u], u, row.Visits, err)
		}
		w.visited[u] = row.Visits // may be more than were acknowledged
	}
	w.ordersHold(n)
	w.rowsHold(n)
}

// ready notes the initial state of a life.
func (w *watch) ready(n *node) {
	w.forgot = false
	w.known = map[weburl.Site]bool{}
	for p := range weburl.Partition(n.store.Partitions()) {
		for row, err := range n.store.Sites(p) {
			w.t.must(err)
			w.known[row.Site] = row.Seed
		}
	}
}

// over checks the state after a clean end of a life.
func (w *watch) over(n *node, why crawl.Stop) {
	w.overs = append(w.overs, w.t.now)
	if len(n.turns) > 0 || n.appending || n.draining {
		w.fail("turns", "the crawl is over: %d turns are under way", len(n.turns))
	}
	if len(n.orders) > 0 {
		w.fail("orders", "the crawl is over: %d orders are not answered", len(n.orders))
	}
	w.ordersHold(n)
	w.rowsHold(n)
	w.queuesHold(n)
	w.obeyed(n)
	w.beliefsHold(n)
	if w.lived() > time.Hour && !w.reload {
		w.linksHold(n)
	}
	if w.t.rested() {
		w.alive(n, why)
	}
}

// stepped checks from time to time what must hold while nothing is under way.
func (w *watch) stepped(n *node) {
	w.restartsKeep(n)
	if len(n.turns) > 0 || n.appending || n.draining || n.ranking > 0 || len(n.inbox) > 0 || !n.begun || n.over != "" || w.t.now < w.quiet+everyQuiet {
		return
	}
	w.quiet = w.t.now
	w.queuesHold(n)
}

// lived returns how long this life has lasted.
func (w *watch) lived() time.Duration { return w.t.now - w.opens[len(w.opens)-1] }

// alive checks that everything that could be done in the calm was done.
func (w *watch) alive(n *node, why crawl.Stop) {
	c := &w.crawl
	most := 0.6 * float64(c.Budget)
	if hours, err := frontier.ParseHours(c.Hours); err == nil { // nothing may be left to fetch outside of the hours
		most *= hours.Open().Hours() / 24
	}
	saturated := c.Budget > 0 && float64(len(w.spent)) >= most
	if c.MaxPages > 0 || saturated {
		return
	}
	if c.Budget == 0 && !c.Wait && why == crawl.Signal && w.lived() > 12*time.Hour {
		w.fail("ends", "nothing has happened for long, and the crawl goes on")
	}
	for _, page := range n.pages() {
		site := page.URL.Site()
		late := page.Queue == store.NewQueue
		if page.Queue == store.DueQueue {
			late = n.clock().Sub(time.Unix(0, int64(min(page.Key.Order, math.MaxInt64)))) > 14*time.Hour
		}
		if late && w.t.now-w.asked[site] > 14*time.Hour {
			w.fail("starves", "%s waits in queue %v, and its site was last asked at %s", page.URL, page.Queue, clockOf(w.asked[site]))
		}
	}
}

// summary is the last line of a trace.
func (w *watch) summary() {
	w.t.trace("end: %d lives, %d requests, %d of them for pages", w.t.result.Lives, w.t.result.Requests, w.t.result.Visits)
}
