package replay

import (
	"path"

	"freshet/refresh"
)

// A way finds pages for the full protocol.
type way struct {
	lives []Life
	news  map[place][]refresh.ID // not found yet, by the place where a visit finds them
	known map[place]int          // number of known pages there
	fresh []refresh.ID           // found, and waiting for their first crawl
}

// A place is a folder of a site; the folder "" is all of it.
type place struct{ site, folder string }

func newWay(w *World) way {
	return way{lives: w.Lives, news: map[place][]refresh.ID{}, known: map[place]int{}}
}

// place returns the folder of a page.
func (v *way) place(id refresh.ID) place { return place{v.lives[id].Site, path.Dir(v.lives[id].Path)} }

// born adds a new page. A visit to a known page of its folder finds it; if none is known there, a visit to any page
// of its site. If the site has no known page either, the page is found at once.
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

// gone notes that a crawl found a page removed. If it was the last known page of its folder or site, born places the
// pages that it could have shown again.
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

// look moves the new pages that a visit to this page finds to the found ones.
func (v *way) look(id refresh.ID) {
	at := v.place(id)
	for _, at := range []place{at, {site: at.site}} {
		v.fresh = append(v.fresh, v.news[at]...)
		delete(v.news, at)
	}
}

// found takes and returns the page that was found first.
func (v *way) found() (refresh.ID, bool) {
	if len(v.fresh) == 0 {
		return 0, false
	}
	id := v.fresh[0]
	v.fresh = v.fresh[1:]
	return id, true
}

// again puts a page whose crawl failed behind the other found ones.
func (v *way) again(id refresh.ID) { v.fresh = append(v.fresh, id) }
