package sim

import (
	"time"

	"freshet/weburl"
)

// find returns the page that has the URL u at any time; ok is false if none has.
func (w *Web) find(u weburl.URL) (s *site, page int, ok bool) {
	if u.IsZero() || u.Query() != "" {
		return nil, 0, false
	}
	if s = w.byHost[u.Host()]; s == nil {
		return nil, 0, false
	}
	page, ok = s.page(u.Path())
	return s, page, ok
}

// Truth returns the version of the page at u at time t. The first version is 1, and every change of the visible text
// adds 1. exists is false, and version 0, before the page appears, after it has vanished, and for what is not a page,
// such as a redirect, a picture or a dead link.
func (w *Web) Truth(u weburl.URL, t time.Time) (version int, exists bool) {
	s, page, ok := w.find(u)
	if !ok {
		return 0, false
	}
	version = s.state(page, t.Sub(w.config.Start)).version
	return version, version > 0
}

// Changed returns when the version that the page at u has at t began; zero if the page does not exist at t.
func (w *Web) Changed(u weburl.URL, t time.Time) time.Time {
	s, page, ok := w.find(u)
	if !ok {
		return time.Time{}
	}
	st := s.state(page, t.Sub(w.config.Start))
	if st.version == 0 {
		return time.Time{}
	}
	return w.config.Start.Add(st.last)
}

// Fresh reports whether a copy of the page at u, fetched at one time, is up to date at another: the page exists then,
// and its version is the same.
func (w *Web) Fresh(u weburl.URL, fetched, now time.Time) bool {
	then, _ := w.Truth(u, fetched)
	version, exists := w.Truth(u, now)
	return exists && then == version
}

// Process returns the change process of the text of the page at u; ok is false if u is not a page. New children add
// versions too, at most 10 in the life of a page.
func (w *Web) Process(u weburl.URL) (p Process, ok bool) {
	s, page, ok := w.find(u)
	if !ok {
		return Process{}, false
	}
	return s.process(page), true
}

// Reachable returns the pages that a polite crawler can find at t, in order of discovery. It starts at the homes,
// follows the links of pages and redirects, and stays on the web's sites. It leaves out pages that robots.txt forbids,
// and pages that only pages with nofollow link to. It ignores sitemaps and feeds. O(links).
func (w *Web) Reachable(t time.Time) []weburl.URL {
	elapsed := t.Sub(w.config.Start)
	type node struct {
		site *site
		page int
	}
	queue := make([]node, len(w.sites))
	met := make(map[node]bool)
	for i, s := range w.sites {
		queue[i] = node{s, 0}
		met[queue[i]] = true
	}
	var found []weburl.URL
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		found = append(found, n.site.url(n.site.path(n.page)))
		if n.site.traits(n.page).noFollow {
			continue
		}
		for _, link := range n.site.links(n.page, elapsed) {
			next := node{link.site, link.page}
			if link.kind == toDead || link.kind == toError || met[next] {
				continue
			}
			met[next] = true
			if link.site.alive(link.page, elapsed) && !link.site.traits(link.page).private {
				queue = append(queue, next)
			}
		}
	}
	return found
}
