package frontier

import (
	"math"
	"net/netip"
	"time"

	"freshet/weburl"
)

// Frontier holds the sites of a crawl and decides which page is fetched next. Its memory grows with the number of sites
// that have pages, not with the number of pages. It is not safe for concurrent use. If a caller passes a time before an
// earlier one, the frontier uses the latest time instead.
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
	open      []*host // with an open connection that may go on, first come first served; each once
	owed      int     // credit of new pages in millionths of a choice, see charge

	paused       bool    // by an operator: nothing is handed out
	addressFloor instant // no request goes to an address not yet met before this
	cutOff       instant // when the first run after an unclean stop began; 0: the last run ended clean
	unsure       instant // end of the waits that no stored gate records
	sweepAt      int     // number of hosts at which sweep runs
	leftAt       int     // number of addresses at which those are dropped that no host has
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
		leftAt:    minSweep,
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

// Known reports whether the frontier holds the site. The frontier forgets a site without pages once the site's state is
// the default. Before the next Discovered or Planned of a site that is not held, the caller must pass what the store
// knows of it to Restore.
func (f *Frontier) Known(site weburl.Site) bool { return f.sites[site] != nil }

// KnownHost reports whether the frontier holds a site of the site's host. It forgets all sites of a host at once. O(1).
func (f *Frontier) KnownHost(site weburl.Site) bool {
	h := f.hosts[site.Name()]
	return h != nil && len(h.sites) > 0
}

// Discovered reports entries that were just added to the site's stored queue of new pages, in any order. A new site
// needs its robots.txt first and has an open gate.
//
// For each queue, calls must come after the store has changed it, and in the order of the changes. The store may be
// ahead: an entry that Read returns before its call counts once. O(entries + log hosts).
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

// Planned reports an entry that was just added to the site's stored queue of due pages. If the page was fetched before,
// call Committed first. Otherwise Planned is like Discovered.
func (f *Frontier) Planned(site weburl.Site, e Entry, now time.Time) {
	t := f.tick(now)
	s := f.lookup(site, t)
	f.enter(s, KindDue, e)
	f.changed(s, t)
}

// Moved reports that e has replaced a page's entry old in a stored queue. e has another key (because of a shorter path
// to the page, another rank or another due time) or other cash. If the page is handed out, the change takes effect when
// it is put back.
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

// Removed reports that an entry has left its stored queue, because its page was purged or went from the queue of new
// pages to that of due ones. If the page is handed out, it is not put back.
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

// changed updates the heaps after a change of the site's queues.
func (f *Frontier) changed(s *site, now instant) {
	h := s.host
	if h.open == s && h.flight == nil && !h.inLine {
		f.open = append(f.open, h)
		h.inLine = true
	}
	f.update(h, now)
}

// RobotsDone records that the site's robots.txt is valid until until and sets a Crawl-delay. 0 is none; MaxCrawlDelay
// is the longest that counts. After until, robots.txt is fetched again before the site's next page. If the host's gate
// is shut until then, a robots.txt that was just fetched is valid for an hour after the gate opens. For a page with
// Robots set, call RobotsDone before Done, so that the gate from Done includes the Crawl-delay.
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

// cover makes a robots.txt that was just fetched valid for at least an hour after its host's gate opens, in the site's
// hours. Otherwise, with a very long Crawl-delay, no page would ever have its turn.
func (s *site) cover(now instant) {
	if s.robots > now && s.host.next >= s.robots {
		s.robots = s.manners.opens(s.host.next).after(time.Hour)
	}
}

// RobotsUntil returns until when the site's robots.txt is valid, or zero if it must be fetched. The caller stores it in
// one record with the gate from Done, so that the next run does not ask for robots.txt again in place of a page.
func (f *Frontier) RobotsUntil(site weburl.Site) time.Time {
	if s := f.sites[site]; s != nil {
		return s.robots.time()
	}
	return time.Time{}
}

// RobotsUnreachable records that the site's robots.txt could not be fetched (no answer, or a 5xx). No request goes to
// the site until retry, and the first one then is for robots.txt. Its pages stay queued. If shelved is true, Stats
// counts them separately until robots.txt can be fetched, so that the crawl need not wait for them.
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

// shelve starts or stops counting the site's pages as shelved, see RobotsUnreachable.
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

// WatchRobots makes the frontier fetch the site's robots.txt whenever it expires, even if no page of the site is
// queued. It is for a robots.txt that refused some pages: a later one may allow them.
func (f *Frontier) WatchRobots(site weburl.Site, now time.Time) {
	t := f.tick(now)
	if s := f.lookup(site, t); !s.watched {
		s.watched = true
		f.update(s.host, t)
	}
}
