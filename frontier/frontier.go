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
	share   int // Options.DiscoveryShare in millionths
	queues  Queues
	err     error
	latest  instant

	sites     map[weburl.Site]*site
	hosts     map[string]*host
	addresses map[netip.Addr]*address
	heaps     [numHeaps]heap
	open      []*host // with a connection that may go on, first come first served; each once
	owed      int     // millionths of a choice that new pages are owed, see choose

	paused       bool    // by an operator: nothing is handed out
	addressFloor instant // before which no address not yet met may be asked
	cutOff       instant // when the first run after an unclean stop began; 0: the last run ended clean
	unsure       instant // until when hosts wait for what no stored gate tells of
	sweepAt      int     // number of hosts at which the forgettable are looked for
	queued       [2]int  // pages by Kind
	shelved      int     // of them: of sites whose robots.txt is out of reach
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
		share:     int(o.DiscoveryShare*whole + 0.5),
		queues:    q,
		sites:     make(map[weburl.Site]*site),
		hosts:     make(map[string]*host),
		addresses: make(map[netip.Addr]*address),
		sweepAt:   minSweep,
	}
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

// Known reports whether the frontier holds the site. It forgets a site that has no pages once there is
// nothing to remember of it; so what the store knows of a site that is not held is to be given to
// Restore before the site's next Discovered or Planned.
func (f *Frontier) Known(site weburl.Site) bool { return f.sites[site] != nil }

// Discovered tells of entries that were just added to the site's stored queue of new pages, in any
// order. A site not met before needs its robots.txt and has an open gate.
//
// What happens to one site's queues is told in the order in which the store did it, and after the
// store did it. The store may be ahead: an entry that Read has returned before it is told of counts
// once. O(entries + log hosts).
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

// Planned tells of an entry that was just added to the site's stored queue of due pages. If the page
// was fetched before, its Committed comes first. As Discovered otherwise.
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
		n = 1 // what was read while the store was ahead, to the queue's end, lay behind e
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

// RobotsDone tells until when the site's robots.txt is valid and which Crawl-delay it sets (0: none;
// longer than MaxCrawlDelay counts as that). After until, robots.txt is fetched again before the
// site's next page; but where the host's gate stays shut until then, one that was just fetched still
// holds for an hour after the gate opens. For a page with Robots set, call it before Done, so that
// the gate which Done returns knows the Crawl-delay.
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

// cover lets a robots.txt that was just fetched hold for an hour after its host may be asked again,
// where it would expire before: else a Crawl-delay as long as that would leave no page a turn.
func (s *site) cover(now instant) {
	if s.robots > now && s.host.next >= s.robots {
		s.robots = s.host.next.after(time.Hour)
	}
}

// RobotsUnreachable tells that the site's robots.txt could not be fetched (no answer, or a 5xx): nothing
// of the site is fetched until retry, and then robots.txt first. Its pages stay queued; shelved says
// that nobody has to wait for them: Stats counts them apart until robots.txt can be fetched.
func (f *Frontier) RobotsUnreachable(site weburl.Site, retry time.Time, shelved bool, now time.Time) {
	s := f.lookup(site, f.tick(now))
	s.failures += min(1, math.MaxInt32-s.failures)
	f.shelve(s, shelved)
	f.AskRobots(site, retry, now)
}

// AskRobots lets the site's robots.txt be asked for again at that time, and nothing of the site before.
func (f *Frontier) AskRobots(site weburl.Site, from, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	s.robots, s.retry = 0, min(at(from), t.after(MaxRetryAfter))
	f.update(s.host, t)
}

// shelve counts the site's pages among those that nobody has to wait for, or no longer.
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

// WatchRobots has the site's robots.txt asked for whenever it is no longer valid, though no page of the
// site is queued: some have been refused for what it says, and it may come to say something else.
func (f *Frontier) WatchRobots(site weburl.Site, now time.Time) {
	t := f.tick(now)
	if s := f.lookup(site, t); !s.watched {
		s.watched = true
		f.update(s.host, t)
	}
}

// slow makes the longest Crawl-delay of a host's sites hold from its last answer on.
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
