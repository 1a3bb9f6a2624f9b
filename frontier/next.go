package frontier

import (
	"fmt"
	"net/netip"
	"time"

	"freshet/weburl"
)

// Page is what Next hands out: a page, or the robots.txt that has to be fetched before it. It is given
// back by exactly one of Done, Drop and Return, or by a Bind that is refused.
type Page struct {
	Site        weburl.Site
	Kind        Kind
	Key         Key
	Fingerprint weburl.Fingerprint // 0 if Robots
	Cash        float64
	Robots      bool // fetch the site's robots.txt; a page's request comes later
	Reserved    bool // with Robots: the request is for another site, see Reserve
	Failures    int  // failed fetches of the site's robots.txt in a row, if Robots
	Continues   bool // uses the connection that the site's last request left open
}

// Answer is the outcome of a request, for Done.
type Answer struct {
	End        time.Time     // of the answer; zero is now
	Took       time.Duration // from the start of the request to End
	Kept       bool          // the connection is open for another request
	Failed     bool          // the host could not serve: no answer, time-out, 429, 503; it backs off
	RetryAfter time.Duration // the wait that the answer asked for; 0 or negative: none
	// it is unknown whether the request reached the host: the host waits its interval, the page stays queued
	Unheard bool
}

// whole is one choice, in the millionths that Frontier.owed counts.
const whole = 1_000_000

// Next returns the page to fetch at now and books its host until the page is given back. If nothing may go, ok is false
// and wake is the earliest time to ask again; a zero wake means that only new work, or a page given back, can help.
//
// Every page handed out meets these conditions:
//
//   - Its host has no other page in flight. Where AddressDelay is positive and the host's address is
//     known, neither has the address, and its delay is over, except for a page with Continues if the
//     last answer from there was the host's own.
//   - Its host's gate is open: now is not before the end of the last answer plus the interval, which
//     is the largest of Delay, the Crawl-delay and AdaptiveDelay times the last answer's time; nor
//     before the end of a back-off, a Retry-After or a Block. A page with Continues passes the
//     interval alone, at most PerConnection-1 times in a row, within 4 s of the last answer, and
//     never on a host with a Crawl-delay.
//   - Its site's robots.txt is valid; or Robots is set and only robots.txt is to be fetched. A site
//     that is watched has that request, as a due page would, once its robots.txt is no longer valid.
//   - It is due, or new. Within a queue the least key goes first.
//   - It was not handed out before, unless it was returned.
//
// Among the pages that may go, those on an open connection go first, in the order in which their connections became
// free. Then, if both a due and a new page may go, the due one goes, except that new pages get DiscoveryShare of these
// choices, evenly spread: of n choices in a row the floor of n × share or one more. Choices with only one kind
// available don't count. Among due pages the longest overdue goes first, among new ones that of the site with the
// highest priority, equal ones by lowest site name. The same calls with the same arguments give the same pages.
//
// So a due page waits for its host's gate, for due pages that were due before it, and for the share of the new. A new
// page waits for pages of sites with a higher priority; with a positive Delay these are never available all the time,
// so that enough fetchers reach every site. Without a Delay the ordering alone decides whether a site of low priority
// ever gets its turn.
//
// Next takes O(log hosts), and a Read for every eighth page. With AddressDelay, the hosts that wait for one address are
// all looked at again whenever it becomes free.
func (f *Frontier) Next(now time.Time) (p Page, wake time.Time, ok bool) {
	t := f.tick(now)
	for f.err == nil && !f.paused {
		c, found := f.choose(t)
		if !found {
			if h := f.heaps[wakeHeap].top(); h != nil {
				wake = h.wake.time()
			}
			break
		}
		if p, ok = f.take(c, t); ok {
			return p, time.Time{}, true
		}
	}
	return Page{}, wake, false
}

// choice is the page that Next has chosen.
type choice struct {
	site      *site
	kind      Kind
	contended bool // a page of the other kind might have gone
	continues bool
}

func (f *Frontier) choose(now instant) (choice, bool) {
	if c, ok := f.chooseOpen(now); ok {
		return c, true
	}
	for h := f.heaps[wakeHeap].top(); h != nil && h.wake <= now; h = f.heaps[wakeHeap].top() {
		f.update(h, now)
	}
	fresh, due := f.topOpen(freshHeap, now), f.topOpen(dueHeap, now)
	switch kind := f.prefer(fresh != nil, due != nil); {
	case fresh == nil && due == nil:
		return choice{}, false
	case kind == KindDue:
		return choice{site: due.due, kind: kind, contended: fresh != nil}, true
	default:
		return choice{site: fresh.fresh, kind: kind, contended: due != nil}, true
	}
}

// chooseOpen finds a page for the connection that has been free for longest.
func (f *Frontier) chooseOpen(now instant) (choice, bool) {
	for len(f.open) > 0 {
		h := f.open[0]
		f.open = f.open[1:]
		h.inLine = false
		if !h.continuable(now) {
			continue
		}
		s := h.open
		fresh, due, _ := f.ready(s, 0, now)
		if fresh > now && due > now {
			continue
		}
		both := fresh <= now && due <= now
		return choice{s, f.prefer(fresh <= now, due <= now), both, true}, true
	}
	f.open = nil
	return choice{}, false
}

// topOpen returns the top of a heap. A host whose address was booked since it was put there, or whose
// site's hours have ended, is moved out of the way.
func (f *Frontier) topOpen(slot int, now instant) *host {
	for {
		h := f.heaps[slot].top()
		if h == nil || h.mayGo(slot, now) {
			return h
		}
		f.update(h, now)
	}
}

// mayGo reports whether the page by which the host stands in a heap of open hosts may still go.
func (h *host) mayGo(slot int, now instant) bool {
	s := h.fresh
	if slot == dueHeap {
		s = h.due
	}
	return h.opensOwn() <= now && s.opens(now) <= now
}

// prefer returns the kind that goes when these are available.
func (f *Frontier) prefer(fresh, due bool) Kind {
	if due && !(fresh && f.owed+f.share >= whole) {
		return KindDue
	}
	return KindNew
}

// take hands out the chosen page. It fails if the store has no page after all.
func (f *Frontier) take(c choice, now instant) (Page, bool) {
	s, h := c.site, c.site.host
	p := Page{Site: s.name, Kind: c.kind, Continues: c.continues, Robots: s.robots <= now}
	if p.Robots {
		p.Failures = int(s.failures)
	} else {
		e, ok := f.pop(s, c.kind)
		if !ok {
			f.update(h, now)
			return Page{}, false
		}
		p.Key, p.Fingerprint, p.Cash = e.Key, e.Fingerprint, e.Cash
		f.charge(c)
	}
	if !c.continues {
		h.run = 0
	}
	f.book(h, &p, now)
	return p, true
}

// book reserves a host, and its address, for a page until the page is given back.
func (f *Frontier) book(h *host, p *Page, now instant) {
	h.run++
	h.flight, h.began, h.open = p, now, nil
	if h.reserved = p.Reserved; h.reserved {
		h.yields = 0
	}
	if h.address != nil {
		h.address.flight = h
	}
	f.update(h, now)
}

// charge updates the credit of new pages.
func (f *Frontier) charge(c choice) {
	if c.contended {
		f.owed += f.share
		if c.kind == KindNew {
			f.owed -= whole
		}
	}
}

// Bind sets the address of p's host, before the connection is made. If another request to the address is in flight, or
// its AddressDelay is not over, ok is false: p is back in its queue and its host waits by itself from now on; until is
// when the address is free, zero if that is not known. Without AddressDelay ok is always true. O(log hosts + hosts
// waiting for the address).
func (f *Frontier) Bind(p Page, addr netip.Addr, now time.Time) (ok bool, until time.Time) {
	t := f.tick(now)
	h := f.inFlight(p, "Bind").host
	if f.options.AddressDelay == 0 {
		return true, time.Time{}
	}
	if a := f.lookupAddress(addr.Unmap(), t); a != h.address {
		f.release(h, t)
		f.bind(h, a)
	}
	switch a := h.address; {
	case a.flight == h:
		return true, time.Time{}
	case a.flight == nil && a.next <= t:
		a.flight = h
		return true, time.Time{}
	case a.flight == nil:
		until = a.next.time()
	}
	f.Return(p, now)
	return false, until
}

// Done gives back a page whose request has ended, well or not, and returns the host's new gate, to be
// stored in one record with the outcome. The page counts as queued in the store until its Committed; one
// that was Unheard is back at the head of its queue.
// O(log hosts).
func (f *Frontier) Done(p Page, a Answer, now time.Time) Gate {
	t := f.tick(now)
	s := f.inFlight(p, "Done")
	h, end := s.host, t
	if !a.End.IsZero() {
		end = at(a.End)
	}
	h.close(&f.options, a, end)
	switch {
	case a.Unheard:
		f.putBack(s, p)
		f.doubt(h)
	case p.Robots && !p.Reserved:
		s.cover(t)
	}
	if a.Kept && !a.Failed && a.RetryAfter <= 0 && h.crawlDelay == 0 && int(h.run) < f.options.PerConnection {
		h.open = s
	}
	if a := h.address; a != nil {
		a.next, a.last = max(a.next, end.after(f.options.AddressDelay)), h
	}
	f.free(s, t)
	return h.gate()
}

// Drop gives back a page that was refused without a request, for example because robots.txt denies it: its host has
// no wait after it. The page counts as queued in the store until its Committed.
func (f *Frontier) Drop(p Page, now time.Time) {
	t := f.tick(now)
	s := f.inFlight(p, "Drop")
	s.host.run--
	if p.Continues {
		s.host.open = s
	}
	f.free(s, t)
}

// Return gives back a page that was not requested after all, for example because the crawl stops or its connection
// was closed. The page goes back to the head of its queue.
func (f *Frontier) Return(p Page, now time.Time) {
	t := f.tick(now)
	s := f.inFlight(p, "Return")
	f.putBack(s, p)
	f.free(s, t)
}

// putBack puts a page back into its queue: at its head, unless it was Moved while it was handed out. So the
// queue is read again.
func (f *Frontier) putBack(s *site, p Page) {
	if !p.Robots && s.untake(p.Fingerprint, p.Kind) {
		s.window(p.Kind).rewind()
		f.account(s, p.Kind, 1, p.Cash)
	}
}

// Committed reports that the outcome of p is stored and its entry is gone from the stored queue. It may come before or
// after the page is given back by Done or Drop, and does nothing for a Robots page. O(pages of the site not yet
// committed).
func (f *Frontier) Committed(p Page) {
	if s := f.sites[p.Site]; s != nil && !p.Robots {
		s.untake(p.Fingerprint, p.Kind)
	}
}

// inFlight returns the site of a page that is handed out.
func (f *Frontier) inFlight(p Page, method string) *site {
	s := f.sites[p.Site]
	if s == nil || s.host.flight == nil || *s.host.flight != p {
		panic(fmt.Sprintf("frontier: %s of a page that is not in flight: %+v", method, p))
	}
	return s
}

// free ends the booking of the site's host, and of its address.
func (f *Frontier) free(s *site, now instant) {
	s.host.flight = nil
	f.release(s.host, now)
	f.changed(s, now)
}
