package frontier

import (
	"time"

	"freshet/weburl"
)

// Claim books the host of a site for a request that no queue asks for, such as one for a robots.txt to
// which another host's redirected. The gates are those of Next. If the host may not be asked at now, ok
// is false and free is when it is worth asking again. A page that is claimed has Robots set, and is
// given back as Next's are. O(log hosts).
func (f *Frontier) Claim(name weburl.Site, now time.Time) (p Page, free time.Time, ok bool) {
	t := f.tick(now)
	s := f.lookup(name, t)
	h := s.host
	opens := h.opens()
	if h.flight != nil || opens == never { // until an answer that nobody can date
		return Page{}, t.after(max(h.interval, time.Second)).time(), false
	}
	if opens > t {
		return Page{}, opens.time(), false
	}
	p = Page{Site: name, Robots: true}
	h.run = 0
	f.book(h, &p, t)
	return p, time.Time{}, true
}

// Meet takes in that a site is asked with another of its host, as for a robots.txt to which the other's redirected: the
// host is as slow as the site's manners ask for. O(sites of the host).
func (f *Frontier) Meet(name weburl.Site, now time.Time) { f.lookup(name, f.tick(now)) }

// Unbind tells that the host of a page that is handed out is not asked itself, but another in its place, which may have
// the same address: that is free again. The page is given back as ever. O(log hosts + hosts waiting for the address).
func (f *Frontier) Unbind(p Page, now time.Time) {
	t := f.tick(now)
	f.release(f.inFlight(p, "Unbind").host, t)
}
