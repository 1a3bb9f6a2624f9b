package frontier

import (
	"fmt"
	"time"

	"freshet/weburl"
)

// SiteInfo is what the store knows of a site from an earlier run.
type SiteInfo struct {
	Site               weburl.Site
	New, Due           int       // pages in the stored queues
	FirstNew, FirstDue Key       // first keys of the queues, or lower bounds; zero: not known, then Read finds them
	Cash               float64   // total of the new pages
	RobotsUntil        time.Time // until when its robots.txt is valid; zero: it must be fetched
	RobotsWatched      bool      // see WatchRobots
	CrawlDelay         time.Duration
	Paused             bool // see Pause
	Gate               Gate // of its host
}

// Restore adds a site as the store has it, from an earlier run or just discovered. It panics if the frontier holds the
// site already.
//
// The times of a gate are wall times. If the clock was set back since they were stored, now may be before the end of
// the last answer. The host then waits, from now, as long as it would have waited from that end. So a step of the clock
// never lengthens a wait, and a step back never shortens it. A host that was Taken waits as long from the time it was
// taken, unless that wait is over by any clock, but at least its own interval. O(log hosts).
func (f *Frontier) Restore(i SiteInfo, now time.Time) {
	t := f.tick(now)
	if f.sites[i.Site] != nil {
		panic(fmt.Sprintf("frontier: Restore: site %s is there already", i.Site))
	}
	s := f.lookup(i.Site, t)
	s.robots = at(i.RobotsUntil)
	s.crawlDelay = min(max(i.CrawlDelay, 0), MaxCrawlDelay)
	s.paused, s.watched = i.Paused, i.RobotsWatched
	f.reopen(s.host, i.Gate, t)
	f.restoreQueue(s, KindNew, i.New, i.FirstNew, i.Cash)
	f.restoreQueue(s, KindDue, i.Due, i.FirstDue, 0)
	f.update(s.host, t)
}

func (f *Frontier) restoreQueue(s *site, k Kind, n int, head Key, cash float64) {
	if n > 0 {
		w := s.window(k)
		w.more, w.head = true, head
		f.account(s, k, n, cash)
	}
}

// AfterStop makes every address that the frontier has not met yet wait its AddressDelay from now, because the store
// does not record an earlier run's requests to addresses. O(1).
func (f *Frontier) AfterStop(now time.Time) {
	f.addressFloor = f.tick(now).after(f.options.AddressDelay)
}

// AfterUncleanStop makes every host wait its own interval from now, including hosts that the frontier meets later. A
// request may have been in flight when the last run was cut off. O(hosts × log hosts).
func (f *Frontier) AfterUncleanStop(now time.Time) {
	f.cutOff = f.tick(now)
	for _, h := range f.hosts {
		f.holdOff(h)
		f.update(h, f.cutOff)
	}
}

// reopen applies a host's stored gate.
func (f *Frontier) reopen(h *host, g Gate, now instant) {
	h.reopen(g, now, 0)
	f.slow(h)
	if taken := f.taken(h); taken != 0 {
		h.reopen(g, taken, MostAstray)
	}
	f.holdOff(h)
}

// taken returns when a host came here from another frontier, or 0 if it did not.
func (f *Frontier) taken(h *host) instant {
	if f.options.Taken == nil {
		return 0
	}
	return at(f.options.Taken(h.name))
}

// holdOff makes a host wait its own interval from when it came here, if the other frontier may have asked it until
// then.
func (f *Frontier) holdOff(h *host) {
	from := max(f.cutOff, f.taken(h))
	if from == 0 {
		return
	}
	if next := from.after(max(h.interval, h.crawlDelay, h.delay)); next > h.next {
		h.next = next
		f.unsure = max(f.unsure, next)
	}
}

// MayStopClean reports whether the stored gates hold every wait that the next run must know. They do not hold the waits
// after AfterUncleanStop and after an Unheard request. While such a wait lasts, a stop counts as unclean.
func (f *Frontier) MayStopClean(now time.Time) bool { return f.tick(now) >= f.unsure }
