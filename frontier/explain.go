package frontier

import (
	"math"
	"time"

	"freshet/weburl"
)

// Stats counts what a frontier holds.
type Stats struct {
	Sites, Hosts int
	Ready        int // hosts with a page that may go; possibly some whose address was just booked
	Waiting      int // hosts with pages, but none may go yet
	InFlight     int // hosts with a page handed out
	QueuedNew    int // new pages not handed out
	QueuedDue    int // due pages not handed out, whenever they are due
	Shelved      int // new and due pages of sites whose robots.txt is unreachable, see RobotsUnreachable
}

// And returns the sum of the counts of two frontiers that have no host in common.
func (s Stats) And(o Stats) Stats {
	return Stats{
		Sites: s.Sites + o.Sites, Hosts: s.Hosts + o.Hosts,
		Ready: s.Ready + o.Ready, Waiting: s.Waiting + o.Waiting, InFlight: s.InFlight + o.InFlight,
		QueuedNew: s.QueuedNew + o.QueuedNew, QueuedDue: s.QueuedDue + o.QueuedDue, Shelved: s.Shelved + o.Shelved,
	}
}

// Open returns how many pages will be fetched sooner or later: all queued pages, except those of sites whose robots.txt
// is unreachable.
func (s Stats) Open() int { return s.QueuedNew + s.QueuedDue - s.Shelved }

// Stats returns the counts at the last call of Next. O(1).
func (f *Frontier) Stats() Stats {
	return Stats{
		Sites:     len(f.sites),
		Hosts:     len(f.hosts),
		Ready:     f.hostsIn[ready],
		Waiting:   f.hostsIn[waiting],
		InFlight:  f.hostsIn[busy],
		QueuedNew: max(0, f.queued[KindNew]),
		QueuedDue: max(0, f.queued[KindDue]),
		Shelved:   max(0, f.shelved),
	}
}

// LowerBound returns the least time in which all new pages known now can be fetched politely, if answers take no time.
// For each host that is the rest of its wait, plus one interval after every PerConnection pages; the bound is the
// largest over the hosts. Castillo et al. 2004 have no such bound, but it decides nearly every total. O(sites).
func (f *Frontier) LowerBound(now time.Time) time.Duration {
	t, bound := f.tick(now), time.Duration(0)
	for _, h := range f.hosts {
		bound = max(bound, h.lowerBound(&f.options, t))
	}
	return bound
}

func (h *host) lowerBound(o *Options, now instant) time.Duration {
	pages := 0
	for _, s := range h.sites {
		pages += s.fresh.length()
	}
	perConnection := o.PerConnection
	if h.crawlDelay > 0 {
		perConnection = 1
	}
	interval := max(h.delay, h.crawlDelay)
	if h.flight != nil || h.open != nil { // the connection may serve some more before the next wait
		pages -= max(0, perConnection-int(h.run))
		return times((max(0, pages)+perConnection-1)/perConnection, interval)
	}
	if pages == 0 || h.blocked == never {
		return 0
	}
	wait := time.Duration(max(0, max(h.next, h.blocked)-now))
	return time.Duration(instant(wait).after(times((pages-1)/perConnection, interval)))
}

// times returns n × d, at most the longest Duration.
func times(n int, d time.Duration) time.Duration {
	if d > 0 && n > int(never)/int(d) {
		return time.Duration(never)
	}
	return time.Duration(n) * d
}

// An Obstacle is one thing that keeps a site's pages from being fetched.
type Obstacle struct {
	// Gate is "busy" (a page of the host is in flight), "interval", "back-off" (failures or a
	// Retry-After), "blocked" and "paused" (by an operator),
	// "hours" (its visiting hours are over), "address" (another host of the address is being
	// fetched, or was just now), "robots" (robots.txt has to be fetched first),
	// "robots-unreachable", "due" (no new pages, and none due yet), "empty" (no pages queued) or
	// "unknown" (the site is not held). A shard adds "robots-elsewhere" (the site's robots.txt redirects to another
	// host, which has to be asked first).
	Gate  string
	Until time.Time // when it ends; zero: unknown
	Host  string    // of "robots-elsewhere": the other host
	Away  bool      // of "robots-elsewhere": another shard asks that host
}

// Explain returns what keeps the site's pages from being fetched at now. If there are no obstacles, only the ranking
// decides. O(1).
func (f *Frontier) Explain(site weburl.Site, now time.Time) []Obstacle {
	t, s := f.tick(now), f.sites[site]
	if s == nil {
		return []Obstacle{{Gate: "unknown"}}
	}
	var all []Obstacle
	add := func(holds bool, gate string, until instant) {
		if !holds {
			return
		}
		if until == never {
			until = 0
		}
		all = append(all, Obstacle{Gate: gate, Until: until.time()})
	}
	h := s.host
	fresh, due := s.queued()
	add(!fresh && !due, "empty", 0)
	add(!fresh && due && dueTop(s) > t, "due", dueTop(s))
	add(f.paused || s.paused, "paused", 0)
	add(h.flight != nil, "busy", 0)
	add(h.next > t && h.next <= h.end.after(h.interval), "interval", h.next)
	add(h.next > t && h.next > h.end.after(h.interval), "back-off", h.next)
	add(h.blocked > t, "blocked", h.blocked)
	opens := s.manners.opens(t)
	add(opens > t, "hours", opens)
	if a := h.address; a != nil {
		add(a.flight != nil && a.flight != h, "address", 0)
		add(a.flight == nil && a.next > t, "address", a.next)
	}
	add(s.retry > t, "robots-unreachable", s.retry)
	add(s.robots <= t && s.retry <= t, "robots", 0)
	return all
}

// Opens returns when a page of the site may be requested, as far as is known now. There are four cases:
//
//   - The page may be requested at once: at is now.
//   - It may be requested later: at is that time.
//   - The site waits for a request in flight: at is zero, and busy is when the request began.
//   - An operator has paused the crawl or the site, or has blocked the host forever: at and busy are zero.
//
// A site that is not held is open. O(1).
func (f *Frontier) Opens(site weburl.Site, now time.Time) (at, busy time.Time) {
	t, s := f.tick(now), f.sites[site]
	switch {
	case f.paused || s != nil && s.paused:
		return at, busy
	case s == nil:
		return now, busy
	}
	h := s.host
	if asked := h.asked(); asked != nil {
		return at, asked.began.time()
	}
	from := t
	if h.open != s || !h.continuable(t) {
		from = max(t, h.opensOwn())
	}
	if from != never {
		from = s.opens(from)
	}
	switch from {
	case never:
		return at, busy
	case t:
		return now, busy
	}
	return from.time(), busy
}

// Rate returns about how many pages of the site may be requested per second in the long run, as far as is known now. It
// follows from the interval of its host and from the site's hours, if answers take no time and there are no requests to
// other sites of the host. It is +Inf without a limit. O(1), or a pass over a day's minutes if the site has hours.
func (f *Frontier) Rate(site weburl.Site) float64 {
	perConnection := max(1, f.options.PerConnection)
	var manners *Manners
	var interval time.Duration
	if s := f.sites[site]; s != nil {
		manners, interval = s.manners, max(s.host.delay, s.host.crawlDelay, s.host.interval)
		if s.host.crawlDelay > 0 {
			perConnection = 1
		}
	} else {
		if f.options.Manners != nil {
			manners = f.options.Manners(site)
		}
		interval = manners.Interval(f.options.Delay)
	}
	if interval <= 0 {
		return math.Inf(1)
	}
	open := 1.0
	if manners != nil {
		open = manners.Hours.Open().Hours() / 24
	}
	return open * float64(perConnection) / interval.Seconds()
}

// asked returns the host whose request in flight h waits for: h itself, or another host of its address.
func (h *host) asked() *host {
	if h.flight != nil {
		return h
	}
	if h.address != nil {
		return h.address.flight
	}
	return nil
}

// queued reports whether the site has new and due pages.
func (s *site) queued() (fresh, due bool) {
	_, fresh = s.fresh.top()
	_, due = s.due.top()
	return fresh, due
}

func dueTop(s *site) instant {
	k, _ := s.due.top()
	return dueAt(k)
}
