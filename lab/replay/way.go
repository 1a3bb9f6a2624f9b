package replay

import (
	"path"

	"freshet/refresh"
)

// A way is how pages are found.
type way struct {
	lives []Life
	news  map[place][]refresh.ID // that have come, by where a visit finds them
	known map[place]int          // pages that are known there
	fresh []refresh.ID           // that were found and wait for their first crawl
}

// A place is a folder of a site; the folder "" is all of it.
type place struct{ site, folder string }

func newWay(w *World) way {
	return way{lives: w.Lives, news: map[place][]refresh.ID{}, known: map[place]int{}}
}

// place returns the folder of a page.
func (v *way) place(id refresh.ID) place { return place{v.lives[id].Site, path.Dir(v.lives[id].Path)} }

// born takes a page that has come: a visit to one of its folder finds it, where none is known to any of the site. The
// first one of a site is known from elsewhere.
func (v *way) born(id refresh.ID) {
	at := v.place(id)
	if v.known[at] == 0 {
		at.folder = ""
	}
	if v.known[at] == 0 {
		v.fresh = append(v.fresh, id)
		return
	}
	v.news[at] = append(v.news[at], id)
}

// know notes that there is a copy of a page.
func (v *way) know(id refresh.ID) {
	at := v.place(id)
	v.known[at]++
	v.known[place{site: at.site}]++
}

// gone notes that a page was found to be gone. What the last one of its folder could have shown others show.
func (v *way) gone(id refresh.ID) {
	at := v.place(id)
	v.known[at]--
	v.known[place{site: at.site}]--
	for _, at := range []place{at, {site: at.site}} {
		if v.known[at] == 0 {
			news := v.news[at]
			delete(v.news, at)
			for _, id := range news {
				v.born(id)
			}
		}
	}
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
