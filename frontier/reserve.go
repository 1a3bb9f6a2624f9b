package frontier

import (
	"time"

	"freshet/weburl"
)

// Reserve reserves the host of a site for a request that comes from no queue, such as the target of a redirected
// robots.txt. The gates are those of Next. If no request may go to the host at now, ok is false and free is when to try
// again. The host's own pages leave it free for a second then, unless its last request was from Reserve. The returned
// page has Robots and Reserved set. The caller gives it back like a page from Next. O(log hosts).
func (f *Frontier) Reserve(name weburl.Site, now time.Time) (p Page, free time.Time, ok bool) {
	t := f.tick(now)
	s := f.lookup(name, t)
	h := s.host
	opens := h.opens()
	if h.flight != nil || opens == never { // until an answer comes, at an unknown time
		opens = t.after(max(h.interval, time.Second))
	}
	if free, ok := s.lets(max(opens, t), t); !ok {
		if free.Equal(opens.time()) && !h.reserved {
			h.yields = opens.after(yieldsFor)
			f.update(h, t)
		}
		return Page{}, free, false
	}
	p = Page{Site: name, Robots: true, Reserved: true}
	h.run = 0
	f.book(h, &p, t)
	return p, time.Time{}, true
}

// yieldsFor is how long a host's own pages wait for a request from Reserve that is to go first.
const yieldsFor = time.Second

// Meet checks a request to a site while a page of another site of its host is handed out: the target of that other
// site's redirected robots.txt, for example. From then on the host is as slow as the manners of both sites require. If
// no request may go to the site at now, ok is false and free is when to try again. O(sites of the host).
func (f *Frontier) Meet(name weburl.Site, now time.Time) (free time.Time, ok bool) {
	t := f.tick(now)
	return f.lookup(name, t).lets(t, t)
}

// pausedFor is the time between two checks of a site that an operator has paused.
const pausedFor = time.Minute

// lets reports whether the operator's rules allow a request to the site at now, if its host is open from opens. If not,
// free is when to try again.
func (s *site) lets(opens, now instant) (free time.Time, ok bool) {
	switch opens = s.admits(opens); {
	case opens == never:
		return now.after(pausedFor).time(), false
	case opens > now:
		return opens.time(), false
	}
	return time.Time{}, true
}

// Unbind frees the address of a handed-out page's host, because the request goes to another host instead, which may
// have the same address. The page is given back as usual. O(log hosts + hosts waiting for the address).
func (f *Frontier) Unbind(p Page, now time.Time) {
	t := f.tick(now)
	f.release(f.inFlight(p, "Unbind").host, t)
}
