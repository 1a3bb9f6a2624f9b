package trial

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// rules are what the crawl knows of a site's robots.txt and tdmrep.json.
type rules struct {
	had      bool
	disallow []string
	delay    time.Duration
	until    time.Time
	tdmrep   string
	owes     bool // the tdmrep.json is to be asked for before any page
	owesTill time.Time
}

// told notes the content of a robots.txt or a tdmrep.json.
func (w *watch) told(n *node, e *errand) {
	r := w.robots[e.Page.Site()]
	a := &e.answer
	leads, says := e.failed == "" && !a.redirect.IsZero(), e.failed == "" && a.status < http.StatusInternalServerError
	switch {
	case leads:
	case e.Page.Path() == tdmrepPath:
		if r.owes = false; says {
			r.tdmrep = a.body
		}
	case says:
		tdmrep, late := r.tdmrep, r.owes && !n.clock().Before(r.until) // the host is too slow for both on a day
		*r = parsed(a.body)
		r.until, r.tdmrep, r.owesTill = n.clock().Add(24*time.Hour), tdmrep, n.clock().Add(time.Hour)
		r.owes = w.crawl.TDMRep && !late && w.crawl.RobotsBytes >= 1<<20 // else there may be no room for the way there
	case r.had:
		r.until = n.clock().Add(time.Hour)
	}
}

// signals returns what a site was last heard to say about the use of a page.
func (r *rules) signals(u weburl.URL) string {
	if r.tdmrep == reservesAll || r.tdmrep == reservesPart && strings.HasPrefix(u.Path(), "/d/") {
		return "tdmrep.json tdm-reservation: 1"
	}
	return ""
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

// queues reports whether pages of a site are queued.
func (n *node) queues(site weburl.Site) bool {
	row, err := n.store.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		n.watch.t.must(err)
	}
	return row.New+row.Due > 0
}

// reread reads the stored robots.txt and tdmrep.json of a site, which the new life uses.
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
	tdmrep, err := n.store.TDMRepBody(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.t.must(err)
	}
	r := parsed(string(body))
	r.until, r.tdmrep = time.Unix(0, row.Robots.Expires), strings.TrimSpace(string(tdmrep))
	*w.robots[site] = r
}

// obeyed checks that pages are in the state that the stored robots.txt requires, if they were checked against it.
func (w *watch) obeyed(n *node) {
	stored := map[weburl.Site][]string{} // what a site's file forbids, where its pages were looked at under it
	for site := range w.sites {
		row, err := n.store.Site(site)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			w.t.must(err)
		}
		if err == nil && row.Robots.Kept != 0 && row.Robots.Rules == row.Robots.Obeyed {
			body, _ := n.store.RobotsBody(site)
			stored[site] = parsed(string(body)).disallow
		}
	}
	for _, page := range n.pages() {
		disallow, looked := stored[page.URL.Site()]
		if !looked || !w.spared(page.URL) {
			continue
		}
		forbidden := slices.ContainsFunc(disallow, func(prefix string) bool {
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
