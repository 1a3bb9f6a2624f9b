package trial

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// toggle is something that an operator switches on and off.
type toggle struct {
	on, sure bool
	pending  int
	until    time.Time // of a block; zero: permanently
}

// pace is the delay that an operator requires of a site.
type pace struct {
	least, longest time.Duration // now, and ever
	sure           bool
	pending        int
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

// toggled returns the keys of everything that was ever switched.
func (w *watch) toggled() []string { return slices.Sorted(maps.Keys(w.toggles)) }

// ordered notes an order that is given.
func (w *watch) ordered(n *node, o crawl.Order) {
	if key, _, _ := switched(o); key != "" {
		g := w.toggle(key)
		g.pending++
		g.sure = false
	}
	if o, ok := o.(crawl.Pace); ok {
		if w.paces[o.Site] == nil {
			w.paces[o.Site] = &pace{}
		}
		p := w.paces[o.Site]
		if *o.Delay < p.longest { // the crawl may or may not have the longer one
			w.eased = max(w.eased, w.t.now+2*p.longest)
		}
		p.pending++
		p.sure, p.longest = false, max(p.longest, *o.Delay)
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
	if o, ok := o.(crawl.Purge); ok { // from now on it may be gone
		w.bury(n, o.Target)
	}
}

// replied notes an order that is acknowledged.
func (w *watch) replied(n *node, o crawl.Order, r crawl.Reply) {
	if key, on, until := switched(o); key != "" {
		g := w.toggle(key)
		g.pending--
		switch {
		case r.Err != nil:
			g.on = false // its state is unknown: no check
		default:
			g.on, g.until = on, until
		}
		g.sure = g.pending == 0 && r.Err == nil
	}
	if o, ok := o.(crawl.Pace); ok {
		p := w.paces[o.Site]
		p.pending--
		p.least, p.sure = *o.Delay, p.pending == 0 && r.Err == nil
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
		w.purged, w.forgot = append(w.purged, o.Target), true
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

// ordersHold checks that acknowledged orders are stored.
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
	for _, site := range slices.Sorted(maps.Keys(w.paces)) {
		row, err := n.store.Site(site)
		if p := w.paces[site]; p.sure && (err != nil || row.Pace.Delay != int64(p.least)) {
			w.fail("orders", "a delay of %v was acknowledged for %s, %v is stored: %v", p.least, site, time.Duration(row.Pace.Delay), err)
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

// spared reports whether neither a page nor its site was purged.
func (w *watch) spared(u weburl.URL) bool {
	return !slices.ContainsFunc(w.purged, func(t store.Target) bool {
		return t.URL == u || t.URL.IsZero() && t.Site == u.Site()
	})
}

// bury notes the cash that the pages of a target have passed on, because their rows will not have it any more.
func (w *watch) bury(n *node, target store.Target) {
	for _, page := range n.pages() {
		if page.URL == target.URL || target.URL.IsZero() && page.URL.Site() == target.Site {
			w.buried += page.Paid + page.Cash // a visit under way may pass on the rest
		}
	}
	w.buried++ // and a seed's
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
