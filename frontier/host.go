package frontier

import (
	"math"
	"net/netip"
	"time"

	"freshet/weburl"
)

// host groups the sites with one weburl.Site.Name. Politeness is kept per host.
type host struct {
	name    string
	sites   []*site
	address *address // the address of its name; nil: not known, or AddressDelay is off

	end, next, blocked instant
	interval           time.Duration
	delay              time.Duration // Options.Delay, or the longest delay set for one of its sites
	crawlDelay         time.Duration // the longest of its sites
	failures           int32         // in a row

	flight *Page   // handed out; nil: none
	began  instant // of flight
	open   *site   // whose connection the last request left open, for a while after end
	run    int32   // requests made on the present connection

	untold   bool    // no record will tell of end
	reserved bool    // the last request was from Reserve
	yields   instant // until then a request from Reserve goes before its own pages

	// Results of update: the site of each kind whose page goes first, nil if none may go now; the host's rank; and when
	// to check again.
	fresh, due *site
	priority   float64
	dueKey     Key
	wake       instant
	state      hostState
	parked     bool // waits for its address
	inLine     bool // is in Frontier.open
	place      [numHeaps]int32
}

// hostState is the state of a host.
type hostState uint8

const (
	idle    hostState = iota // has no page that will become free with time
	waiting                  // has a page that may go later
	ready                    // has a page that may go now
	busy                     // has a page in flight
	numStates
)

// idleConnection is how long after an answer its connection is still used. Common servers close it after 5 s.
const idleConnection = 4 * time.Second

// address is an IP address that one or more hosts have.
type address struct {
	next    instant
	flight  *host
	last    *host   // whose answer set next
	waiters []*host // may go as soon as flight is over
	hosts   int     // that have it
}

// opens returns the earliest instant at which a page of the host may be fetched on a new connection.
func (h *host) opens() instant {
	t := max(h.next, h.blocked)
	if a := h.address; a != nil {
		t = max(t, a.next)
		if a.flight != nil {
			t = never
		}
	}
	return t
}

// opensOwn returns from when on a page of the host's own queues may be fetched on a new connection.
func (h *host) opensOwn() instant { return max(h.opens(), h.yields) }

// continuable reports whether the host's open connection may be used at now.
func (h *host) continuable(now instant) bool {
	a := h.address
	return h.open != nil && h.flight == nil && now <= h.end.after(idleConnection) && h.blocked <= now &&
		(a == nil || a.flight == nil && (a.last == h || a.next <= now))
}

// lookup returns the site. If it is new, lookup creates it.
func (f *Frontier) lookup(name weburl.Site, now instant) *site {
	if s := f.sites[name]; s != nil {
		return s
	}
	h := f.lookupHost(name.Name(), now)
	s := &site{name: name, host: h}
	h.sites = append(h.sites, s)
	f.sites[name] = s
	f.setManners(s)
	f.slow(h)
	return s
}

// setManners reads a site's manners from the options.
func (f *Frontier) setManners(s *site) {
	if f.options.Manners == nil {
		s.manners = nil
	} else {
		s.manners = f.options.Manners(s.name)
	}
}

// slow makes a host as slow as the slowest of its sites requires, by its manners and its Crawl-delay. A longer wait
// counts from the host's last answer on, a shorter one from its next.
func (f *Frontier) slow(h *host) {
	h.delay, h.crawlDelay = f.options.Delay, 0
	for i, s := range h.sites {
		if delay := s.manners.Interval(f.options.Delay); i == 0 || delay > h.delay {
			h.delay = delay
		}
		h.crawlDelay = max(h.crawlDelay, s.crawlDelay)
	}
	if h.crawlDelay > 0 {
		h.open = nil
		h.interval = max(h.interval, h.crawlDelay)
	}
	if h.end > 0 {
		h.next = max(h.next, h.end.after(max(h.delay, h.crawlDelay)))
	}
	f.doubt(h)
}

// doubt makes stops unclean until a host's wait is over, if no record will tell of it.
func (f *Frontier) doubt(h *host) {
	if h.untold {
		f.unsure = max(f.unsure, h.next)
	}
}

func (f *Frontier) lookupHost(name string, now instant) *host {
	if h := f.hosts[name]; h != nil {
		return h
	}
	if len(f.hosts) >= f.sweepAt {
		f.sweep(now)
	}
	h := &host{name: name, delay: f.options.Delay}
	f.holdOff(h)
	f.hosts[name] = h
	f.hostsIn[idle]++
	return h
}

// sweep forgets the forgettable hosts. It runs whenever the number of hosts has doubled since the last sweep, so it
// costs O(1) per new host.
func (f *Frontier) sweep(now instant) {
	for name, h := range f.hosts {
		if !h.forgettable(now) {
			continue
		}
		f.bind(h, nil)
		for _, s := range h.sites {
			delete(f.sites, s.name)
		}
		delete(f.hosts, name)
		f.hostsIn[h.state]--
	}
	f.sweepAt = max(minSweep, 2*len(f.hosts))
}

const minSweep = 1024

// forgettable reports whether a host would return in the same state if it were forgotten.
func (h *host) forgettable(now instant) bool {
	remember := max(h.next, h.blocked)
	if h.failures > 0 {
		remember = remember.after(MaxBackoff)
	}
	if h.flight != nil || h.parked || h.place != [numHeaps]int32{} || remember > now {
		return false
	}
	for _, s := range h.sites {
		if !s.isEmpty() || s.robots > now || s.retry > now || s.watched {
			return false
		}
	}
	return true
}

// update determines which pages of the host may go at now, and moves the host in the heaps. O(sites of the host + log
// hosts).
func (f *Frontier) update(h *host, now instant) {
	h.fresh, h.due, h.wake = nil, nil, never
	pages := false
	if h.flight == nil {
		opens := h.opensOwn()
		for _, s := range h.sites {
			pages = f.weigh(h, s, opens, now) || pages
		}
		f.park(h, pages)
	}
	f.heaps[freshHeap].set(h, h.fresh != nil)
	f.heaps[dueHeap].set(h, h.due != nil)
	f.heaps[wakeHeap].set(h, h.wake != never)
	f.hostsIn[h.state]--
	switch {
	case h.flight != nil:
		h.state = busy
	case h.fresh != nil || h.due != nil:
		h.state = ready
	case pages:
		h.state = waiting
	default:
		h.state = idle
	}
	f.hostsIn[h.state]++
}

// weigh compares a site with the best site of its host found so far. It reports whether the site has pages or is
// watched.
func (f *Frontier) weigh(h *host, s *site, opens, now instant) (pages bool) {
	f.settle(s, KindNew)
	f.settle(s, KindDue)
	fresh, due, p := f.ready(s, opens, now)
	if fresh <= now {
		if h.fresh == nil || p > h.priority || p == h.priority && s.name < h.fresh.name {
			h.fresh, h.priority = s, p
		}
	} else {
		h.wake = min(h.wake, fresh)
	}
	if due <= now {
		k := s.dueKey()
		if h.due == nil || k.Less(h.dueKey) || k == h.dueKey && s.name < h.due.name {
			h.due, h.dueKey = s, k
		}
	} else {
		h.wake = min(h.wake, due)
	}
	return s.fresh.length() > 0 || s.due.length() > 0 || s.watched
}

// ready is readyAt for the pages that the ordering releases. It also returns the site's priority if a new page may go.
func (f *Frontier) ready(s *site, opens, now instant) (fresh, due instant, urgency float64) {
	fresh, due = s.readyAt(opens, now)
	if fresh != never {
		if urgency = priority(f.options.Ordering, s.state()); math.IsInf(urgency, -1) {
			fresh = never
		}
	}
	return fresh, due, urgency
}

// park makes a host with pages wait for the request in flight to its address.
func (f *Frontier) park(h *host, pages bool) {
	if a := h.address; pages && a != nil && a.flight != nil && !h.parked {
		h.parked = true
		a.waiters = append(a.waiters, h)
	}
}

func firstByPriority(a, b *host) bool {
	return a.priority > b.priority || a.priority == b.priority && a.fresh.name < b.fresh.name
}

func firstByDue(a, b *host) bool {
	return a.dueKey.Less(b.dueKey) || a.dueKey == b.dueKey && a.due.name < b.due.name
}

func firstByWake(a, b *host) bool { return a.wake < b.wake }

// bind records the host's address; nil is none.
func (f *Frontier) bind(h *host, a *address) {
	if h.address != nil {
		h.address.hosts--
	}
	if h.address = a; a != nil {
		a.hosts++
	}
}

func (f *Frontier) lookupAddress(addr netip.Addr, now instant) *address {
	a := f.addresses[addr]
	if a == nil {
		if len(f.addresses) >= f.leftAt {
			f.dropAddresses(now)
		}
		a = &address{next: f.addressFloor}
		f.addresses[addr] = a
	}
	return a
}

// dropAddresses drops the addresses that hosts have left and that nobody need wait for. A host may have another at each
// request. It is called whenever the number of addresses has doubled since the last time, so it costs O(1) a new one.
func (f *Frontier) dropAddresses(now instant) {
	for addr, a := range f.addresses {
		if a.hosts == 0 && a.flight == nil && a.next <= now {
			delete(f.addresses, addr)
		}
	}
	f.leftAt = max(minSweep, 2*len(f.addresses))
}

// release ends the host's booking of its address and wakes the hosts that waited for it.
func (f *Frontier) release(h *host, now instant) {
	a := h.address
	if a == nil || a.flight != h {
		return
	}
	a.flight = nil
	waiters := a.waiters
	a.waiters = nil
	for _, w := range waiters {
		w.parked = false
		f.update(w, now)
	}
}
