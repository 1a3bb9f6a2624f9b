package frontier

import (
	"time"

	"freshet/weburl"
)

// Reserve reserves the host of a site for a request that comes from no queue, such as one for the target of a
// redirected robots.txt. The gates are those of Next. If no request may go to the host at now, ok is false and free
// is when to try again. The returned page has Robots and Reserved set; the caller gives it back like a page of Next.
// O(log hosts).
func (f *Frontier) Reserve(name weburl.Site, now time.Time) (p Page, free time.Time, ok bool) {
	t := f.tick(now)
	s := f.lookup(name, t)
	h := s.host
	opens := h.opens()
	if h.flight != nil || opens == never { // until an answer comes, at an unknown time
		return Page{}, t.after(max(h.interval, time.Second)).time(), false
	}
	if free, ok := s.lets(max(opens, t), t); !ok {
		return Page{}, free, false
	}
	p = Page{Site: name, Robots: true, Reserved: true}
	h.run = 0
	f.book(h, &p, t)
	return p, time.Time{}, true
}

// Meet notes a request to a site while a page of another site of its host is handed out, such as one for the target
// of that site's redirected robots.txt. From then on the host is as slow as the manners of both require. If no
// request may go to the site at now, ok is false and free is when to try again. O(sites of the host).
func (f *Frontier) Meet(name weburl.Site, now time.Time) (free time.Time, ok bool) {
	t := f.tick(now)
	return f.lookup(name, t).lets(t, t)
}

// pausedFor is the wait between two checks of a site that an operator has paused.
const pausedFor = time.Minute

// lets reports whether the operator's rules let a request go to the site at now, with its host open from opens on. If
// not, free is when to try again.
func (s *site) lets(opens, now instant) (free time.Time, ok bool) {
	switch opens = s.admits(opens); {
	case opens == never:
		return now.after(pausedFor).time(), false
	case opens > now:
		return opens.time(), false
	}
	return time.Time{}, true
}

// Unbind frees the address of the host of a page that is handed out: the request goes to another host instead, which
// may have the same address. The page is given back as usual. O(log hosts + hosts waiting for the address).
func (f *Frontier) Unbind(p Page, now time.Time) {
	t := f.tick(now)
	f.release(f.inFlight(p, "Unbind").host, t)
}
