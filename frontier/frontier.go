package frontier

import (
	"net/netip"
	"time"

	"freshet/weburl"
)

// Frontier decides which page is fetched next. It is not safe for concurrent use.
type Frontier struct{}

// New returns an empty frontier over q. The error is that of Options.Validate.
func New(o Options, q Queues) (*Frontier, error) { return &Frontier{}, o.Validate() }

// Page is what Next hands out, to be given back by Done, Drop or Return.
type Page struct {
	Site        weburl.Site
	Kind        Kind
	Key         Key
	Fingerprint weburl.Fingerprint // 0 where Robots is set
	Cash        float64
	Robots      bool // the site's robots.txt is to be fetched, not a page
	Continues   bool // goes on the connection that the site's last request left open
}

// Answer tells Done how a request went.
type Answer struct {
	End        time.Time     // of the answer
	Took       time.Duration // from the request to the end of the answer
	Kept       bool          // the connection is still open for another request
	Failed     bool          // network failure, time-out, 429, 503: the host backs off
	RetryAfter time.Duration // what the host asked for; 0 or negative: nothing
}

// Gate is a host's politeness as it is stored, in the record of the fetch that set it.
type Gate struct {
	End      time.Time     // of the host's last answer; zero: none yet
	Next     time.Time     // earliest start of the next connection
	Interval time.Duration // the wait between two connections, back-off not included
	Failures int           // in a row
	Blocked  time.Time     // blocked by an operator until then; zero: not
}

// SiteInfo is what the store knows of a site from an earlier run.
type SiteInfo struct {
	Site               weburl.Site
	New, Due           int       // pages in the queues
	FirstNew, FirstDue Key       // first keys of the queues; the zero Key if not known
	Cash               float64   // of the new pages
	RobotsUntil        time.Time // until when its robots.txt is valid; zero: has to be fetched
	RobotsRetry        time.Time // its robots.txt could not be had: not before then; zero: it could
	CrawlDelay         time.Duration
	Gate               Gate // of its host
}

// Restore adds a site known from an earlier run.
func (f *Frontier) Restore(s SiteInfo, now time.Time) {}

// AfterUncleanStop makes every restored host wait out its own interval from now.
func (f *Frontier) AfterUncleanStop(now time.Time) {}

// Known says whether the frontier holds the site: one it does not hold must be restored, if the
// store knows it, before its Discovered or Planned.
func (f *Frontier) Known(site weburl.Site) bool { return false }

// Discovered tells of entries just added to the site's stored queue of new pages.
func (f *Frontier) Discovered(site weburl.Site, entries []Entry, now time.Time) {}

// Planned tells of an entry just added to the site's stored queue of due pages.
func (f *Frontier) Planned(site weburl.Site, e Entry, now time.Time) {}

// Moved tells that a page's entry in a stored queue has got another key or more cash.
func (f *Frontier) Moved(site weburl.Site, kind Kind, old, e Entry, now time.Time) {}

// Removed tells that an entry which was not handed out is gone from its stored queue.
func (f *Frontier) Removed(site weburl.Site, kind Kind, e Entry, now time.Time) {}

// Next returns the page to fetch now and books its host.
func (f *Frontier) Next(now time.Time) (p Page, wake time.Time, ok bool) { return }

// Err returns the first error of Queues.Read; the frontier hands out no page after it.
func (f *Frontier) Err() error { return nil }

// Bind tells the address of p's host before the connection is made.
func (f *Frontier) Bind(p Page, addr netip.Addr, now time.Time) (ok bool, until time.Time) {
	return true, time.Time{}
}

// RobotsDone tells until when a site's robots.txt is valid and what Crawl-delay it asks for.
// For a page with Robots set it comes before Done.
func (f *Frontier) RobotsDone(site weburl.Site, until time.Time, crawlDelay time.Duration, now time.Time) {
}

// RobotsUnreachable tells that a site's robots.txt cannot be had: nothing of it is fetched until
// retry.
func (f *Frontier) RobotsUnreachable(site weburl.Site, retry, now time.Time) {}

// Done gives back a page whose request has ended, and returns its host's new gate.
func (f *Frontier) Done(p Page, a Answer, now time.Time) Gate { return Gate{} }

// Drop gives back a page that was refused without a request: its host is free at once.
func (f *Frontier) Drop(p Page, now time.Time) {}

// Return gives back a page that was not requested after all: it goes to the head of its queue.
func (f *Frontier) Return(p Page, now time.Time) {}

// Committed tells that what became of p is stored and its entry gone from the stored queue.
func (f *Frontier) Committed(p Page) {}

// Block keeps a host from being asked until then; the zero time is for ever. It returns the gate to store.
func (f *Frontier) Block(host string, until, now time.Time) Gate { return Gate{} }

// Unblock lifts a Block.
func (f *Frontier) Unblock(host string, now time.Time) Gate { return Gate{} }

// Stats counts what the frontier holds.
type Stats struct {
	Sites, Hosts int
	Ready        int // hosts that Next may choose from now
	Waiting      int // hosts that have pages and must wait
	InFlight     int // hosts with a page handed out
	QueuedNew    int // pages
	QueuedDue    int
	Wake         time.Time // when the first waiting host is free; zero: none waits
}

// Stats returns the present counts.
func (f *Frontier) Stats() Stats { return Stats{} }

// LowerBound returns the least time in which politeness lets all new pages be fetched.
func (f *Frontier) LowerBound(now time.Time) time.Duration { return 0 }

// Obstacle is one thing that keeps a site from being fetched.
type Obstacle struct {
	Gate  string    // "interval", "back-off", "blocked", "busy", "address", "robots", "empty", "due"
	Until time.Time // zero: not known
}

// Explain returns what keeps the site's pages from being fetched at now, or nothing.
func (f *Frontier) Explain(site weburl.Site, now time.Time) []Obstacle { return nil }
