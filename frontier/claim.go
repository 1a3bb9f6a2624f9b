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
	if free, ok := s.lets(max(opens, t), t); !ok {
		return Page{}, free, false
	}
	p = Page{Site: name, Robots: true}
	h.run = 0
	f.book(h, &p, t)
	return p, time.Time{}, true
}

// Meet notes that a site is asked while a page of another site of its host is handed out, as for a robots.txt to
// which the other's redirected: the host is as slow as the site's manners ask for. If the site may not be asked at
// now, ok is false and free is when it is worth asking again. O(sites of the host).
func (f *Frontier) Meet(name weburl.Site, now time.Time) (free time.Time, ok bool) {
	t := f.tick(now)
	return f.lookup(name, t).lets(t, t)
}

// pausedFor is how long is waited for a site that an operator has paused, until it is looked at again.
const pausedFor = time.Minute

// lets reports whether an operator lets the site be asked at now if its host is open from opens on, and when it is
// worth asking again if not.
func (s *site) lets(opens, now instant) (free time.Time, ok bool) {
	switch opens = s.admits(opens); {
	case opens == never:
		return now.after(pausedFor).time(), false
	case opens > now:
		return opens.time(), false
	}
	return time.Time{}, true
}

// Unbind tells that the host of a page that is handed out is not asked itself, but another in its place, which may have
// the same address: that is free again. The page is given back as usual. O(log hosts + hosts waiting for the address).
func (f *Frontier) Unbind(p Page, now time.Time) {
	t := f.tick(now)
	f.release(f.inFlight(p, "Unbind").host, t)
}
