package trial

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// watch knows what the servers and the operator know, and checks what must hold. It believes nothing that the shard
// says of itself.
type watch struct {
	t        *trial
	crawl    Crawl  // as the settings are now
	former   *Crawl // while others are put in force; nil: these are
	sites    map[weburl.Site]int
	troubles []map[faultKind]int // by site
	slowDisk int
	dieNext  int            // see Fault.Again
	struck   []crawl.Struck // what was being processed at the last crash

	hosts     map[string]*host
	addresses map[netip.Addr]*place
	robots    map[weburl.Site]*rules
	toggles   map[string]*toggle
	purged    []store.Target
	visited   map[weburl.URL]uint32 // visits that were acknowledged
	asked     map[weburl.Site]time.Duration
	recrawls  map[weburl.URL]bool // acknowledged, and not visited since
	given     map[weburl.URL]bool // seeds that are known by an acknowledged order
	seeds     map[weburl.URL]bool // that were ever given
	pinged    map[weburl.URL]bool
	buried    float64 // cash that purged pages had handed on

	requests []request       // for pages, all
	spent    []time.Duration // requests of the last interval
	budgets  []budgetFrom
	opens    []time.Duration // of lives
	reloads  int             // orders that are not answered
	reload   bool            // the bounds have changed in this life
	known    map[weburl.Site]bool
	quiet    time.Duration // when the queues were compared last
}

type budgetFrom struct {
	at     time.Duration
	budget int64
}

// request is one for a page.
type request struct {
	at   time.Duration
	site weburl.Site
}

// host is what a host's servers see.
type host struct {
	busy     int
	turn     crawl.Turn // of the last request
	last     time.Duration
	met      bool
	interval time.Duration // to be waited after it
	crawling time.Duration // Crawl-delay
	after    time.Duration // Retry-After
	run      int           // requests on this connection
	kept     bool
	durable  bool          // what the last answer means is stored
	floor    time.Duration // nothing before it
}

// place is what an address sees.
type place struct {
	busy int
	last time.Duration
	host string
}

// rules are what the crawl has been told by a site's robots.txt.
type rules struct {
	had       bool
	disallow  []string
	delay     time.Duration
	until     time.Time
	uncertain bool // a newer answer may or may not be stored
}

// toggle is something that an operator switches on and off.
type toggle struct {
	on, sure bool
	pending  int
	until    time.Time // of a block; zero: for ever
	ever     bool
}

func newWatch(t *trial) watch {
	w := watch{
		t: t, crawl: t.c.Crawl, sites: map[weburl.Site]int{}, hosts: map[string]*host{}, addresses: map[netip.Addr]*place{},
		robots: map[weburl.Site]*rules{}, toggles: map[string]*toggle{}, visited: map[weburl.URL]uint32{},
		asked: map[weburl.Site]time.Duration{}, recrawls: map[weburl.URL]bool{}, given: map[weburl.URL]bool{},
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

func (w *watch) site(site weburl.Site) *Site         { return &w.t.c.Sites[w.index(site)] }
func (w *watch) address(site weburl.Site) netip.Addr { return w.hostAddress(site) }
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

// hostAddress returns the address of a site's host: that of the first site that lies there.
func (w *watch) hostAddress(site weburl.Site) netip.Addr {
	for _, s := range w.t.c.Sites {
		if s.Name.Name() == site.Name() {
			return s.Address
		}
	}
	return netip.Addr{}
}

// delayOf returns the interval that is asked for at a site.
func (w *watch) delayOf(site weburl.Site) time.Duration {
	if w.index(site) == 0 && w.crawl.SiteDelay > 0 {
		return w.crawl.SiteDelay
	}
	if w.former != nil {
		return min(w.crawl.Delay, w.former.Delay)
	}
	return w.crawl.Delay
}

// handedOut checks a request that the shard wants made.
func (w *watch) handedOut(n *node, e *errand) {
	site, u := e.Page.Site(), e.URL
	for _, key := range []string{"all", "site " + string(site), "host " + u.Host(), "host " + site.Host()} {
		g := w.toggles[key]
		if g != nil && g.on && g.sure && (g.until.IsZero() || n.clock().Before(g.until)) {
			w.fail("orders", "%s is asked for, but %q is shut", u, key)
		}
	}
	for _, target := range w.purged {
		if target.URL == e.Page || target.URL.IsZero() && target.Site == site && !e.Robots {
			w.fail("purge", "%s is asked for, %s was purged", e.Page, target)
		}
	}
	if w.crawl.Hours != "" && w.index(site) == 0 {
		hours, _ := frontier.ParseHours(w.crawl.Hours)
		if next := hours.Next(n.clock()); next.After(n.clock()) {
			w.fail("hours", "%s is asked for at %v", u, n.clock())
		}
	}
	if e.Robots {
		return
	}
	r := w.robots[site]
	if !r.had {
		w.fail("robots", "%s is asked for, robots.txt was never had", u)
	}
	for _, prefix := range r.disallow {
		if strings.HasPrefix(u.Path(), prefix) && !r.uncertain {
			w.fail("robots", "%s is asked for, robots.txt forbids %s", u, prefix)
		}
	}
	const slack = 4 * time.Hour // for a gate that stays shut while it expires
	if late := n.clock().Sub(r.until); late > slack {
		w.fail("robots", "%s is asked for, robots.txt was to be asked for %v ago", u, late)
	}
}

// started checks a request as the server sees it.
func (w *watch) started(n *node, e *errand) {
	site := e.URL.Site()
	h := w.host(site)
	w.t.result.Requests++
	if !e.Robots {
		w.t.result.Visits++
		w.asked[site] = w.t.now
		w.requests = append(w.requests, request{w.t.now, site})
	}
	if h.busy > 0 {
		w.fail("politeness", "%s is asked for while %s is busy", e.URL, site.Host())
	}
	continues := h.kept && h.run < w.crawl.PerConnection && w.t.now-h.last <= 4*time.Second && h.crawling == 0 && h.after == 0
	wait := h.last + max(h.interval, h.crawling, h.after)
	rested := !h.met || w.t.now >= wait
	if !rested && !continues {
		w.fail("politeness", "%s is asked for %v too early: the last answer ended at %s, interval %v, crawl-delay %v, retry-after %v",
			e.URL, wait-w.t.now, clockOf(h.last), h.interval, h.crawling, h.after)
	}
	if w.t.now < h.floor {
		w.fail("politeness", "%s is asked for %v too early after an unclean stop", e.URL, h.floor-w.t.now)
	}
	if h.run++; rested { // requests on a connection count anew after a wait
		h.run = 1
	}
	h.busy++
	h.turn, h.durable = e.Turn, false
	if w.crawl.AddressDelay > 0 {
		a := w.addresses[w.hostAddress(site)]
		if a.busy > 0 {
			w.fail("politeness", "%s is asked for while its address is asked for a page of %s", e.URL, a.host)
		}
		if wait := a.last + w.crawl.AddressDelay; a.host != "" && a.host != site.Name() && w.t.now < wait {
			w.fail("politeness", "%s is asked for %v too early for its address", e.URL, wait-w.t.now)
		}
		a.busy++
		a.host = site.Name()
	}
}

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
	most := budget + max(1, budget/100) + int64(lives+w.crawl.Room) + 1 // what is under way when the interval begins
	if int64(len(w.spent)) > most {
		w.fail("budget", "%d requests in %v: want at most %d, of a budget of %d", len(w.spent), interval, most, budget)
	}
}

// ended notes what the server knows of an answer.
func (w *watch) ended(n *node, e *errand) {
	site := e.URL.Site()
	h := w.host(site)
	h.busy--
	h.met, h.last = true, w.t.now
	h.interval = max(w.delayOf(site), min(time.Duration(w.crawl.Adaptive*float64(w.t.now-e.started)), time.Hour))
	h.after = min(e.answer.retryAfter, 24*time.Hour)
	h.kept = e.KeepAlive && e.failed == "" && w.site(site).Keeps
	if a := w.addresses[w.hostAddress(site)]; w.crawl.AddressDelay > 0 {
		a.busy--
		a.last = w.t.now
	}
	if e.Robots && e.ended { // else it was given up
		w.told(n, e)
	}
	if !e.Robots && e.ended {
		w.spend()
	}
	h.crawling = w.robots[site].delay
}

// canceled notes that a request was given up.
func (w *watch) canceled(n *node, e *errand) {
	e.answer = answer{}
	w.ended(n, e)
}

// told notes what a robots.txt says.
func (w *watch) told(n *node, e *errand) {
	r := w.robots[e.Page.Site()]
	switch a := &e.answer; {
	case e.failed == "" && !a.redirect.IsZero():
	case e.failed == "" && a.status < http.StatusInternalServerError:
		*r = parsed(a.body)
		r.until = n.clock().Add(24 * time.Hour)
	case r.had:
		r.until = n.clock().Add(time.Hour)
	}
}

func parsed(body string) rules {
	r := rules{had: true}
	for line := range strings.Lines(body) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Disallow":
			r.disallow = append(r.disallow, value)
		case "Crawl-delay":
			seconds, _ := strconv.Atoi(value)
			r.delay = time.Duration(seconds) * time.Second
		}
	}
	return r
}

// proposed looks at what is to be appended.
func (w *watch) proposed(n *node, a crawl.Append) {
	if a.Turn == 0 {
		return
	}
	e := n.turns[a.Turn]
	if (e == nil || e.appended || !e.processed) && a.Refused == nil || e != nil && a.Refused != nil {
		w.fail("turns", "turn %d is appended at a wrong moment", a.Turn)
	}
}

// acknowledged notes what is durable from now on.
func (w *watch) acknowledged(n *node, group []crawl.Append) {
	for _, a := range group {
		if a.Refused != nil {
			delete(w.recrawls, a.Refused.URL)
		}
		e := n.turns[a.Turn]
		if a.Turn == 0 || e == nil {
			continue
		}
		e.appended = true
		if h := w.host(e.URL.Site()); h.turn == e.Turn {
			h.durable = true
		}
		delete(w.recrawls, e.Page)
		switch a.Records[0].(type) {
		case *store.Fetched:
			w.visited[e.Page]++
		case *store.Robots:
			w.robots[e.Page.Site()].uncertain = false
		}
	}
}

// spared tells whether a page was purged, or its site.
func (w *watch) spared(u weburl.URL) bool {
	return !slices.ContainsFunc(w.purged, func(t store.Target) bool {
		return t.URL == u || t.URL.IsZero() && t.Site == u.Site()
	})
}

// ordered notes an order that is given.
func (w *watch) ordered(n *node, o crawl.Order) {
	if key, _, _ := switched(o); key != "" {
		g := w.toggle(key)
		g.pending++
		g.sure, g.ever = false, true
	}
	if o, ok := o.(crawl.Add); ok {
		for _, u := range o.Seeds {
			w.seeds[u] = true
		}
		w.reload = true
	}
	if o, ok := o.(crawl.Ping); ok {
		for _, u := range o.URLs {
			w.pinged[u] = true
		}
	}
	if o, ok := o.(crawl.Purge); ok { // from here on it may be gone
		w.bury(n, o.Target)
	}
}

// switched returns what an order switches.
func switched(o crawl.Order) (key string, on bool, until time.Time) {
	switch o := o.(type) {
	case crawl.PauseAll:
		return "all", o.Paused, until
	case crawl.Pause:
		return "site " + string(o.Site), o.Paused, until
	case crawl.Block:
		return "host " + o.Host, true, o.Until
	case crawl.Unblock:
		return "host " + o.Host, false, until
	}
	return "", false, until
}

// toggled returns all that was ever switched.
func (w *watch) toggled() []string { return slices.Sorted(maps.Keys(w.toggles)) }

// bury notes what the pages of a target have handed on, which their rows will not tell any more.
func (w *watch) bury(n *node, target store.Target) {
	for _, page := range n.pages() {
		if page.URL == target.URL || target.URL.IsZero() && page.URL.Site() == target.Site {
			w.buried += page.Paid + page.Cash // what it has, a visit that is under way may hand on
		}
	}
	w.buried++ // and a seed's
}

// replied notes an order that is acknowledged.
func (w *watch) replied(n *node, o crawl.Order, r crawl.Reply) {
	if key, on, until := switched(o); key != "" {
		g := w.toggle(key)
		g.pending--
		switch {
		case r.Err != nil:
			g.on = false // nothing is known of it: no check
		default:
			g.on, g.until = on, until
		}
		g.sure = g.pending == 0 && r.Err == nil
	}
	if r.Err != nil {
		return
	}
	switch o := o.(type) {
	case crawl.Reload:
		if w.reloads--; w.reloads == 0 {
			w.former = nil
		}
	case crawl.Purge:
		w.purged = append(w.purged, o.Target)
	case crawl.Recrawl:
		w.recrawls[o.URL] = true
	case crawl.Add:
		for _, u := range o.Seeds {
			if _, refused := r.Refused[u.String()]; !refused {
				w.given[u] = true
			}
		}
	}
	w.ordersHold(n)
}

// reloading notes that other settings are put in force.
func (w *watch) reloading(next Crawl) {
	if next.Budget != w.crawl.Budget {
		w.budgets = append(w.budgets, budgetFrom{w.t.now, next.Budget})
	}
	if w.former == nil || w.former.Delay > w.crawl.Delay {
		former := w.crawl
		w.former = &former
	}
	w.crawl, w.reload = next, true
	w.reloads++
	for site, i := range w.sites { // what is shorter now may be in force at once
		_ = i
		h := w.host(site)
		h.interval = min(h.interval, w.delayOf(site))
	}
}

// turned notes that the machine's clock was stepped between two lives.
func (w *watch) turned(by time.Duration) {
	if by <= 0 {
		return
	}
	for _, h := range w.hosts { // nobody can know
		h.last -= by
	}
	for _, a := range w.addresses {
		a.last -= by
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
}

// unclean notes that what is not stored is forgotten.
func (w *watch) unclean() {
	for _, h := range w.hosts {
		if h.busy > 0 {
			h.busy, h.last, h.met = 0, w.t.now, true
		}
		h.kept = false
		if !h.durable {
			h.floor = -1
		}
	}
	for _, a := range w.addresses {
		if a.busy > 0 {
			a.busy, a.last = 0, w.t.now
		}
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
	for site := range w.sites {
		h := w.host(site)
		if h.floor < 0 && h.met { // nobody knows what the last answer was
			h.interval, h.after, h.crawling = w.delayOf(site), 0, 0
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
		w.visited[u] = row.Visits // or more than were acknowledged
	}
	w.ordersHold(n)
	w.rowsHold(n)
}

func compareURL(a, b weburl.URL) int { return strings.Compare(a.String(), b.String()) }

// reread takes in what is stored of a site's robots.txt: it is what the new life goes by.
func (w *watch) reread(n *node, site weburl.Site) {
	row, err := n.store.Site(site)
	if errors.Is(err, store.ErrNotFound) {
		*w.robots[site] = rules{}
		return
	}
	w.t.must(err)
	if row.Robots.Kept == 0 {
		*w.robots[site] = rules{}
		return
	}
	body, err := n.store.RobotsBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.t.must(err)
	}
	*w.robots[site] = parsed(string(body))
	w.robots[site].until = time.Unix(0, row.Robots.Expires)
}

// ready notes what a life begins with.
func (w *watch) ready(n *node) {
	w.known = map[weburl.Site]bool{}
	for p := range weburl.Partition(n.store.Partitions()) {
		for row, err := range n.store.Sites(p) {
			w.t.must(err)
			w.known[row.Site] = row.Seed
		}
	}
}

// ordersHold checks that what was acknowledged to an operator is stored.
func (w *watch) ordersHold(n *node) {
	for _, key := range w.toggled() {
		g := w.toggles[key]
		if !g.sure {
			continue
		}
		what, name, _ := strings.Cut(key, " ")
		on := g.on
		switch what {
		case "all":
			for p := range weburl.Partition(n.store.Partitions()) {
				total, err := n.store.Counters(p)
				w.t.must(err)
				if on = total.Paused != 0; on != g.on {
					break
				}
			}
		case "site":
			row, err := n.store.Site(weburl.Site(name))
			on = err == nil && row.Paused != 0
		case "host":
			root, err := weburl.Parse("http://" + name + "/")
			w.t.must(err)
			gate, err := n.store.Gate(n.store.Home(root.Site()), name)
			w.t.must(err)
			on = gate.Blocked != 0
		}
		if on != g.on {
			w.fail("orders", "%q was acknowledged as %v, %v is stored", key, g.on, on)
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(w.recrawls), compareURL) {
		row, _, err := n.store.PageOf(u)
		if w.spared(u) && (err != nil || row.Queue != store.DueQueue) {
			w.fail("orders", "a recrawl of %s was acknowledged, it stands in queue %v: %v", u, row.Queue, err)
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(w.given), compareURL) {
		if row, _, err := n.store.PageOf(u); w.spared(u) && (err != nil || !row.Seed) {
			w.fail("orders", "seed %s was acknowledged: its row says seed %v, %v", u, row.Seed, err)
		}
	}
	for _, target := range w.purged {
		w.purgeHolds(n, target)
	}
}

// purgeHolds checks that nothing is left of what was purged.
func (w *watch) purgeHolds(n *node, target store.Target) {
	for _, page := range n.pages() {
		if page.URL != target.URL && !(target.URL.IsZero() && page.URL.Site() == target.Site) {
			continue
		}
		p := n.store.Home(page.URL.Site())
		visits, err1 := n.store.Visits(p, page.Fingerprint)
		versions, err2 := n.store.Versions(p, page.Fingerprint)
		links, err3 := n.store.OutLinks(p, page.Fingerprint)
		w.t.must(errors.Join(err1, err2, err3))
		if page.State != store.StatePurged || page.Queue != store.NoQueue || len(visits)+len(versions)+len(links) > 0 {
			w.fail("purge", "%s was purged: it is %v in queue %v, with %d visits, %d versions, %d links",
				page.URL, page.State, page.Queue, len(visits), len(versions), len(links))
		}
	}
}

// bodiesGone checks that no capture is left of what was purged.
func (w *watch) bodiesGone(n *node) {
	for _, target := range w.purged {
		text := target.URL.String() + " says "
		if target.URL.IsZero() {
			text = string(target.Site) + "/"
		}
		files, err := n.disk.holds("data/warc", text)
		w.t.must(err)
		if len(files) > 0 {
			w.fail("purge", "%s was purged: %v hold a copy", target, files)
		}
	}
}

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
	if most := float64(len(w.seeds)) + paid + w.buried; w.byCash() && cash > most*(1+1e-5)+1e-6 {
		w.fail("cash", "pages have %g of cash, %d seeds and the pages' payments come to %g", cash, len(w.seeds), most)
	}
}

// byCash tells whether the ordering goes by cash that pages hand on.
func (w *watch) byCash() bool { return w.crawl.Ordering == "opic" || w.crawl.Ordering == "cash-sum" }

// over checks what a life leaves that has ended in order.
func (w *watch) over(n *node, why crawl.Stop) {
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

// stepped checks now and then what holds whenever nothing is under way.
func (w *watch) stepped(n *node) {
	if len(n.turns) > 0 || n.appending || n.draining || n.ranking > 0 || len(n.inbox) > 0 || !n.begun || n.over != "" || w.t.now < w.quiet+everyQuiet {
		return
	}
	w.quiet = w.t.now
	w.queuesHold(n)
}

// lived returns how long this life has lasted.
func (w *watch) lived() time.Duration { return w.t.now - w.opens[len(w.opens)-1] }

const everyQuiet = 30 * time.Minute

// queuesHold checks that the shard has in mind what is stored.
func (w *watch) queuesHold(n *node) {
	total, err := n.store.Total()
	w.t.must(err)
	status := n.shard.Status(n.clock())
	told := status.Queues
	if int64(told.QueuedNew) != total.New || int64(told.QueuedDue) != total.Due {
		w.fail("queues", "%d new and %d due pages are stored, the shard counts %d and %d",
			total.New, total.Due, told.QueuedNew, told.QueuedDue)
	}
	if f := status.Refresh; f != nil && w.lived() < w.crawl.Interval && f.Requests != int64(n.paid) {
		w.fail("budget", "%d requests were made, %d are taken out of the budget", n.paid, f.Requests)
	}
}

// obeyed checks that pages are where the stored robots.txt files want them, as far as they were looked at under these.
func (w *watch) obeyed(n *node) {
	for _, page := range n.pages() {
		row, err := n.store.Site(page.URL.Site())
		w.t.must(err)
		if row.Robots.Kept == 0 || row.Robots.Rules != row.Robots.Obeyed || !w.spared(page.URL) {
			continue
		}
		body, _ := n.store.RobotsBody(page.URL.Site())
		forbidden := slices.ContainsFunc(parsed(string(body)).disallow, func(prefix string) bool {
			return strings.HasPrefix(page.URL.Path(), prefix) && prefix != ""
		})
		refused := page.Queue == store.NoQueue && (page.Reason == "robots" || page.Reason == "robots-unreachable")
		switch {
		case forbidden && page.Versions > 0 && page.State == store.StateLive && page.Queue == store.NoQueue:
			w.fail("robots", "%s is served, its robots.txt forbids it", page.URL)
		case !forbidden && refused:
			w.fail("robots", "%s was refused for %s, its robots.txt allows it", page.URL, page.Reason)
		}
	}
}

// linksHold checks that all links of stored pages are known which belong to the crawl.
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

// belongs tells whether a page that is linked to belongs to the crawl for sure.
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

// beliefsHold checks that a shard which starts now believes what this one does.
func (w *watch) beliefsHold(n *node) {
	if n.settings.Refresh == nil {
		return
	}
	now := n.clock()
	other, err := crawl.New(n.rows(), readOnly{n.seen}, n.shard.Settings(), now)
	w.t.must(err)
	defer other.Close()
	for _, page := range n.pages() {
		mine, kept := n.shard.Refreshing(page.URL, page.Fingerprint, now)
		theirs, would := other.Refreshing(page.URL, page.Fingerprint, now)
		if kept != would && page.Reason != "excluded" { // one that a reload excludes is let go of at its turn
			w.fail("beliefs", "%s is kept fresh: %v, after a restart %v", page.URL, kept, would)
		}
		told := w.site(page.URL.Site()).Robots == robotsOpen || w.pinged[page.URL] // claims are not remembered
		if kept && would && !told && page.Visits <= 64 && !near(mine.Stale, theirs.Stale, 0.25) {
			w.fail("beliefs", "%s is stale with %g, after a restart with %g", page.URL, mine.Stale, theirs.Stale)
		}
	}
}

// alive checks that what could be done in the calm was done.
func (w *watch) alive(n *node, why crawl.Stop) {
	c := &w.crawl
	saturated := func() bool {
		if c.Budget == 0 {
			return false
		}
		return float64(len(w.spent)) >= 0.6*float64(c.Budget)
	}
	if c.MaxPages > 0 || saturated() {
		return
	}
	if c.Budget == 0 && !c.Wait && why == crawl.Signal {
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

const (
	longTrouble = 5 * time.Hour // from which on it is looked at what it costs others
	fairShare   = 0.5           // of what was asked for before, at least
)

// shared checks, when one site's trouble is over, that the budget went to the others meanwhile: if before it, for so
// long, nearly all of the budget was spent, and nothing else happened.
func (w *watch) shared(f *Fault) {
	c := &w.crawl
	if c.Budget == 0 || f.For < longTrouble || f.At < 2*longTrouble || c.Hours != "" || w.disturbed(f) {
		return
	}
	site := w.t.c.Sites[f.Site].Name
	before, during, others := 0, 0, map[weburl.Site]bool{}
	for _, r := range w.requests {
		switch {
		case r.at >= f.At-longTrouble && r.at < f.At:
			before++
			if r.site.Name() != site.Name() {
				others[r.site] = true
			}
		case r.at >= f.At && r.site.Name() != site.Name():
			during++
		}
	}
	spent := float64(before) / longTrouble.Hours()
	if len(others) == 0 || spent < 0.8*float64(c.Budget)/c.Interval.Hours() {
		return
	}
	w.t.result.Done["shares looked at"]++
	if got := float64(during) / f.For.Hours(); got < fairShare*spent {
		w.fail("shares", "while %s was in trouble for %v, others were asked %.1f times an hour, all together %.1f times before",
			site, f.For, got, spent)
	}
}

// disturbed tells whether anything else happened in the time of a fault, or shortly before.
func (w *watch) disturbed(f *Fault) bool {
	for i := range w.t.c.Faults {
		other := &w.t.c.Faults[i]
		if other.Label != f.Label && other.At < f.At+f.For && other.At+other.For > f.At-longTrouble {
			return true
		}
	}
	return slices.ContainsFunc(w.opens, func(at time.Duration) bool { return at > f.At-longTrouble })
}

// summary is the last line of a trace.
func (w *watch) summary() {
	w.t.trace("end: %d lives, %d requests, %d of them for pages", w.t.result.Lives, w.t.result.Requests, w.t.result.Visits)
}
