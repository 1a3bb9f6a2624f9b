package frontier

import (
	"math"
	"net/netip"
	"time"

	"freshet/weburl"
)

// Frontier holds the sites of a crawl and decides which page is fetched next. Its memory grows with
// the number of sites that have pages, not with the number of pages. It is not safe for concurrent
// use. Times that are passed to it should not go back; if one does, the latest is used instead.
type Frontier struct {
	options Options
	share   int // of new pages in millionths, see SetDiscoveryShare
	queues  Queues
	err     error
	latest  instant

	sites     map[weburl.Site]*site
	hosts     map[string]*host
	addresses map[netip.Addr]*address
	heaps     [numHeaps]heap
	open      []*host // with a connection that may go on, first come first served; each once
	owed      int     // credit of new pages in millionths of a choice, see charge

	paused       bool    // an operator's pause: nothing is handed out
	addressFloor instant // no request goes to an address not yet met before this
	cutOff       instant // when the first run after an unclean stop began; 0: the last run ended clean
	unsure       instant // end of the waits that no stored gate records
	sweepAt      int     // number of hosts at which sweep runs
	queued       [2]int  // pages by Kind
	shelved      int     // of queued: of sites whose robots.txt is unreachable
	hostsIn      [numStates]int
	read         []Entry // reused by fill
}

// New returns an empty frontier over q. The error is that of Options.Validate.
func New(o Options, q Queues) (*Frontier, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Ordering == nil {
		o.Ordering = Length{}
	}
	o.PerConnection = max(1, o.PerConnection)
	f := &Frontier{
		options:   o,
		queues:    q,
		sites:     make(map[weburl.Site]*site),
		hosts:     make(map[string]*host),
		addresses: make(map[netip.Addr]*address),
		sweepAt:   minSweep,
	}
	f.SetDiscoveryShare(o.DiscoveryShare)
	f.heaps[freshHeap] = heap{slot: freshHeap, less: firstByPriority}
	f.heaps[dueHeap] = heap{slot: dueHeap, less: firstByDue}
	f.heaps[wakeHeap] = heap{slot: wakeHeap, less: firstByWake}
	return f, nil
}

// Err returns the first error of Queues.Read, unwrapped. After it Next hands out nothing.
func (f *Frontier) Err() error { return f.err }

// tick returns now, or the latest time seen if that is later.
func (f *Frontier) tick(now time.Time) instant {
	f.latest = max(f.latest, at(now))
	return f.latest
}

// Known reports whether the frontier holds the site. It forgets a site without pages when its state is back at the
// default. So give what the store knows of a site that is not held to Restore, before the site's next Discovered or
// Planned.
func (f *Frontier) Known(site weburl.Site) bool { return f.sites[site] != nil }

// Discovered tells of entries that were just added to the site's stored queue of new pages, in any
// order. A site not met before needs its robots.txt and has an open gate.
//
// Calls for one site's queues come in the order in which the store changed them, and after it did. The store may be
// ahead: an entry that Read returns before the call for it counts once. O(entries + log hosts).
func (f *Frontier) Discovered(site weburl.Site, entries []Entry, now time.Time) {
	if len(entries) == 0 {
		return
	}
	t := f.tick(now)
	s := f.lookup(site, t)
	for _, e := range entries {
		f.enter(s, KindNew, e)
	}
	f.changed(s, t)
}

// Planned tells of an entry that was just added to the site's stored queue of due pages. If the page was fetched
// before, call Committed first. Otherwise it is like Discovered.
func (f *Frontier) Planned(site weburl.Site, e Entry, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	f.enter(s, KindDue, e)
	f.changed(s, t)
}

// Moved tells that a page's entry old in a stored queue was replaced by e, which has another key
// (a shorter way to it was found, it has another rank, or it is due at another time) or other cash. If the
// page is handed out this counts once it is put back.
func (f *Frontier) Moved(site weburl.Site, kind Kind, old, e Entry, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	if s.isTaken(e.Fingerprint, kind) {
		return
	}
	w := s.window(kind)
	counted := w.extends()
	held := w.drop(old.Key)
	w.head = Key{} // it may have been old's
	n := 0
	if w.place(e) && !held && !counted {
		n = 1 // what was read to the queue's end while the store was ahead lay behind e
	}
	f.account(s, kind, n, e.Cash-old.Cash)
	f.changed(s, t)
}

// Removed tells that an entry is gone from its stored queue, as when a page is purged or moves from
// the queue of new pages to that of due ones. A page that is handed out is not put back then.
func (f *Frontier) Removed(site weburl.Site, kind Kind, e Entry, now time.Time) {
	t := f.tick(now)
	s := f.sites[site]
	if s == nil {
		return
	}
	if i := s.takenAt(e.Fingerprint, kind); i >= 0 {
		s.taken[i].gone = true
		return
	}
	f.leave(s, kind, e)
	f.changed(s, t)
}

// changed brings the heaps up to date after a change of the site's queues.
func (f *Frontier) changed(s *site, now instant) {
	h := s.host
	if h.open == s && h.flight == nil && !h.inLine {
		f.open = append(f.open, h)
		h.inLine = true
	}
	f.update(h, now)
}

// RobotsDone tells until when the site's robots.txt is valid and which Crawl-delay it sets (0: none; longer than
// MaxCrawlDelay counts as that). After until, robots.txt is fetched again before the site's next page. If the host's
// gate is shut until then, a robots.txt that was just fetched is valid for an hour after the gate opens. For a page
// with Robots set, call RobotsDone before Done, so that the gate from Done includes the Crawl-delay.
func (f *Frontier) RobotsDone(site weburl.Site, until time.Time, crawlDelay time.Duration, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	s.robots, s.retry, s.failures = at(until), 0, 0
	f.shelve(s, false)
	s.crawlDelay = min(max(crawlDelay, 0), MaxCrawlDelay)
	f.slow(s.host)
	s.cover(t)
	f.update(s.host, t)
}

// cover makes a robots.txt that was just fetched valid for at least an hour after its host's gate opens. Otherwise,
// with a very long Crawl-delay, no page would ever have its turn.
func (s *site) cover(now instant) {
	if s.robots > now && s.host.next >= s.robots {
		s.robots = s.host.next.after(time.Hour)
	}
}

// RobotsUnreachable tells that the site's robots.txt could not be fetched (no answer, or a 5xx). Nothing of the site
// is fetched until retry, and then robots.txt first. Its pages stay queued. If shelved, Stats counts them separately
// until robots.txt can be fetched, so that the crawl need not wait for them.
func (f *Frontier) RobotsUnreachable(site weburl.Site, retry time.Time, shelved bool, now time.Time) {
	s := f.lookup(site, f.tick(now))
	s.failures += min(1, math.MaxInt32-s.failures)
	f.shelve(s, shelved)
	f.AskRobots(site, retry, now)
}

// AskRobots schedules a request for the site's robots.txt at from. Nothing else of the site is fetched before.
func (f *Frontier) AskRobots(site weburl.Site, from, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	s.robots, s.retry = 0, min(at(from), t.after(MaxRetryAfter))
	f.update(s.host, t)
}

// shelve begins or stops to count the site's pages as shelved, see RobotsUnreachable.
func (f *Frontier) shelve(s *site, shelved bool) {
	n := s.fresh.length() + s.due.length()
	switch {
	case shelved && !s.shelved:
		f.shelved += n
	case !shelved && s.shelved:
		f.shelved -= n
	}
	s.shelved = shelved
}

// WatchRobots has the site's robots.txt fetched again whenever it expires, even if no page of the site is queued. It
// refused some pages, and a later one may allow them.
func (f *Frontier) WatchRobots(site weburl.Site, now time.Time) {
	t := f.tick(now)
	if s := f.lookup(site, t); !s.watched {
		s.watched = true
		f.update(s.host, t)
	}
}

// slow applies the longest Crawl-delay of a host's sites, from the host's last answer on.
func (f *Frontier) slow(h *host) {
	h.crawlDelay = 0
	for _, s := range h.sites {
		h.crawlDelay = max(h.crawlDelay, s.crawlDelay)
	}
	if h.crawlDelay > 0 {
		h.open = nil
		h.interval = max(h.interval, h.crawlDelay)
		if h.end > 0 {
			h.next = max(h.next, h.end.after(h.crawlDelay))
		}
	}
}
