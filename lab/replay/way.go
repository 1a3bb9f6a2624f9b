package replay

import (
	"path"

	"freshet/refresh"
)

const mostPicks = 16 // that a slot is offered to, when their sites may not be asked

// A way is how crawls come to pages: which are found, and when their sites may be asked.
type way struct {
	lives []Life
	news  map[place][]refresh.ID // that have come, by where a visit finds them
	known map[place]bool         // where a page is known
	fresh []refresh.ID           // that were found and wait for their first crawl
	sites map[string]refresh.ID
	lines []line        // by site
	shut  refresh.Queue // sites for which pages wait, by when they may be asked
}

// A place is a folder of a site; the folder "" is all of it.
type place struct{ site, folder string }

// A line is the pages that wait for a site.
type line struct {
	spacing float64 // seconds between two crawls
	open    float64 // when it may be asked again
	pages   []refresh.ID
}

func newWay(w *World, rules Rules) way {
	v := way{lives: w.Lives, news: map[place][]refresh.ID{}, known: map[place]bool{}, sites: map[string]refresh.ID{}}
	lived, all := map[string]float64{}, 0.0
	for _, l := range w.Lives {
		lived[l.Site] += l.End - l.Born
		all += l.End - l.Born
	}
	for _, site := range w.Sites() {
		v.sites[site] = refresh.ID(len(v.lines))
		spacing := 0.0
		if rules.Most > 0 {
			spacing = all / (lived[site] * rules.Most * rules.Rate)
		}
		v.lines = append(v.lines, line{spacing: spacing})
	}
	return v
}

// place returns the folder of a page.
func (v *way) place(id refresh.ID) place { return place{v.lives[id].Site, path.Dir(v.lives[id].Path)} }

// born takes a page that has come: a visit to one of its folder finds it, where none is known to any of the site. The
// first one of a site is known from elsewhere.
func (v *way) born(id refresh.ID) {
	at := v.place(id)
	if !v.known[at] {
		at.folder = ""
	}
	if !v.known[at] {
		v.fresh = append(v.fresh, id)
		return
	}
	v.news[at] = append(v.news[at], id)
}

// know notes that there is a copy of a page.
func (v *way) know(id refresh.ID) {
	at := v.place(id)
	v.known[at], v.known[place{site: at.site}] = true, true
}

// look finds what a visit to a page shows.
func (v *way) look(id refresh.ID) {
	at := v.place(id)
	for _, at := range []place{at, {site: at.site}} {
		v.fresh = append(v.fresh, v.news[at]...)
		delete(v.news, at)
	}
}

// found returns the page that was found first.
func (v *way) found() (refresh.ID, bool) {
	if len(v.fresh) == 0 {
		return 0, false
	}
	id := v.fresh[0]
	v.fresh = v.fresh[1:]
	return id, true
}

// again has a page that was found crawled again, after the others.
func (v *way) again(id refresh.ID) { v.fresh = append(v.fresh, id) }

// free reports whether the page's site may be asked now, and takes the chance; else the page waits.
func (v *way) free(id refresh.ID, now float64) bool {
	site := v.sites[v.lives[id].Site]
	l := &v.lines[site]
	if len(l.pages) == 0 && l.open <= now {
		l.open = now + l.spacing
		return true
	}
	l.pages = append(l.pages, id)
	v.shut.Set(site, l.open)
	return false
}

// waited returns a page that has waited for its site, which may be asked now.
func (v *way) waited(now float64) (refresh.ID, bool) {
	if v.shut.Len() == 0 {
		return 0, false
	}
	site, open := v.shut.First()
	if open > now {
		return 0, false
	}
	l := &v.lines[site]
	id := l.pages[0]
	l.pages, l.open = l.pages[1:], now+l.spacing
	if len(l.pages) > 0 {
		v.shut.Set(site, l.open)
	} else {
		v.shut.Drop(site)
	}
	return id, true
}
