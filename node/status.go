package node

import (
	"maps"
	"sync"
	"time"

	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/memory"
)

// Summary is the result of a crawl: the last line of `freshet crawl --json`.
type Summary struct {
	Pages          int64      `json:"pages"`           // pages stored by this run, without requisites
	Requisites     int64      `json:"requisites"`      // requisites stored by this run
	Sites          int64      `json:"sites"`           // sites known
	URLsDiscovered int64      `json:"urls_discovered"` // pages known, since the first run
	URLsFailed     int64      `json:"urls_failed"`     // fetches of this run without a page
	Bytes          int64      `json:"bytes"`           // received by this run, on the wire
	DurationS      float64    `json:"duration_s"`
	PagesPerS      float64    `json:"pages_per_s"`
	StoppedBy      crawl.Stop `json:"stopped_by"`
	// RobotsWaiting is the number of queued pages of sites whose robots.txt was unreachable too often. The crawl does
	// not wait for them, and tries again later.
	RobotsWaiting int64 `json:"robots_unreachable_pages"`
	// Trouble is why no page was ever stored or, at the end of freshet crawl, why nobody answered this run.
	Trouble *explain.Trouble `json:"trouble"`
}

// Status is the present state of a running crawl. The progress line, the control socket's answer and the metrics are
// views of it.
type Status struct {
	Summary
	State string `json:"state"` // crawling, stopping
	// ClockRate is in seconds of the crawl's clock per second. All times and rates here are by that clock.
	ClockRate    float64 `json:"clock_rate"`
	Connections  int     `json:"connections_active"`
	SitesReady   int     `json:"sites_ready"`
	SitesWaiting int     `json:"sites_waiting"`
	// until the first waiting host is free, if there is nothing to do before; else 0
	NextRequestS float64     `json:"next_request_in_s"`
	QueuedNew    int64       `json:"queued_new"`
	QueuedDue    int64       `json:"queued_due"`
	Processing   int         `json:"pages_processing"` // fetched, not yet on disk
	Fleet        FleetStatus `json:"fleet"`
	NotModified  int64       `json:"not_modified"`
	Changed      int64       `json:"changed"`
	// Audits are visits that omitted the copy's validators and were answered in full. Lies are those that found other
	// content under the same validator.
	Audits int64 `json:"validator_audits"`
	Lies   int64 `json:"validator_lies"`
	// LinksSent are links that this run has sent to partitions of other nodes or shards. LinksHeld are links that it
	// did not send because they repeat sent ones.
	LinksSent int64            `json:"links_sent"`
	LinksHeld int64            `json:"links_held_back"`
	Errors    map[string]int64 `json:"errors"`  // fetches without a page, by class
	Refused   map[string]int64 `json:"refused"` // links and pages that a gate refused, by reason
	// by work: background work that failed and is tried again
	Background   map[string]int64 `json:"background_failures"`
	RecentPagesS float64          `json:"recent_pages_per_s"`
	RecentBytesS float64          `json:"recent_bytes_per_s"`
	Forecast
	LowerBoundS   float64          `json:"remaining_lower_bound_s"` // the least time that politeness allows
	DiskFreeBytes int64            `json:"disk_free_bytes"`
	Memory        memory.Usage     `json:"memory"`  // by holder
	Refresh       *crawl.Freshness `json:"refresh"` // believed freshness of the copy, if it is kept fresh
	// Embarrassment is set once weights come from a query log.
	Embarrassment *crawl.Embarrassment `json:"embarrassment"`
}

// Status returns the present state of the crawl. It may be called until Close.
func (n *Node) Status() Status {
	now := n.opt.Clock.Now()
	var known crawl.Status
	n.each(func(decides *crawl.Shard, now time.Time) { known = known.And(decides.Status(now)) })
	s := Status{
		State: "crawling", ClockRate: n.opt.Clock.Rate(), Fleet: n.fleet.status(), Processing: known.UnderWay,
		SitesReady: known.Queues.Ready, SitesWaiting: known.Queues.Waiting,
		NextRequestS: max(0, known.Next.Sub(now).Seconds()),
		QueuedNew:    int64(known.Queues.QueuedNew), QueuedDue: int64(known.Queues.QueuedDue),
		NotModified: known.NotModified, Changed: known.Changed, Audits: known.Audits, Lies: known.Lies,
		LinksSent: known.LinksSent, LinksHeld: known.LinksHeld, Errors: known.Errors, Refused: known.Refused, LowerBoundS: known.LowerBound.Seconds(),
		Memory: n.budget.Usage(), Refresh: known.Refresh, Embarrassment: known.Refresh.Embarrassment(),
	}
	s.Pages, s.Requisites, s.Sites, s.URLsDiscovered = known.Pages, known.Requisites, known.Sites, known.Known
	s.URLsFailed, s.Bytes, s.RobotsWaiting = known.Failed, known.Bytes, int64(known.Queues.Shelved)
	n.tally.fill(&s, now)
	s.RecentPagesS, s.RecentBytesS = n.tally.rates(known.Counts, now)
	if known.Paused {
		s.State = "paused"
	}
	s.Connections = s.Fleet.Active
	s.DiskFreeBytes = n.store.DiskFree()
	bound := s.LowerBoundS
	if s.Refresh != nil { // it never ends, and its budget says when its new pages are fetched
		bound = unknownSeconds
	}
	s.Forecast = forecast(n.tally.past(now, known.Counts), s.QueuedNew+s.QueuedDue, bound, s.DiskFreeBytes)
	return s
}

// tally keeps the shards' counts of the last seconds, and counts failures of background work. A rate is the difference
// of two looks.
type tally struct {
	mu           sync.Mutex
	started      time.Time // of Run; zero before
	knownAtStart int64     // pages
	background   map[string]int64
	recent       [recentLooks]look // a ring of looks a second apart
	looks        int
}

// recentLooks is the number of seconds over which recent rates are computed.
const recentLooks = 10

// look is the counters at one time.
type look struct {
	at                                time.Time
	pages, bytes, fetched, discovered int64
}

func lookAt(c crawl.Counts, now time.Time) look {
	return look{at: now, pages: c.Pages, bytes: c.Bytes, fetched: c.Pages + c.Requisites + c.Failed + c.NotModified, discovered: c.Known}
}

func newTally() *tally { return &tally{background: map[string]int64{}} }

// begin sets the start of the rates.
func (t *tally) begin(now time.Time, known int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started, t.knownAtStart = now, known
}

// countBackground counts a failure of background work. The names of work are few and fixed.
func (t *tally) countBackground(work string) {
	t.mu.Lock()
	t.background[work]++
	t.mu.Unlock()
}

// tick records the counters. It is called each second.
func (t *tally) tick(now time.Time, c crawl.Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent[t.looks%recentLooks] = lookAt(c, now)
	t.looks++
}

// fill sets the fields of s that the tally knows. s.Pages must be set.
func (t *tally) fill(s *Status, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started.IsZero() {
		s.DurationS = now.Sub(t.started).Seconds()
	}
	if s.DurationS > 0 {
		s.PagesPerS = float64(s.Pages) / s.DurationS
	}
	s.Background = maps.Clone(t.background)
}

// rates returns the recent pages and bytes per second if the counters are now c.
func (t *tally) rates(c crawl.Counts, now time.Time) (pages, bytes float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.from()
	if passed := now.Sub(from.at).Seconds(); passed > 0 {
		pages, bytes = float64(c.Pages-from.pages)/passed, float64(c.Bytes-from.bytes)/passed
	}
	return pages, bytes
}

// from returns the look at which the recent past begins. The caller holds the lock.
func (t *tally) from() look {
	if t.looks < recentLooks {
		return look{at: t.started, discovered: t.knownAtStart}
	}
	return t.recent[t.looks%recentLooks]
}

// traffic returns the recently received bytes per second.
func (t *tally) traffic() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.looks < 2 {
		return 0
	}
	last, from := t.recent[(t.looks-1)%recentLooks], t.recent[max(0, t.looks-recentLooks)%recentLooks]
	if passed := last.at.Sub(from.at).Seconds(); passed > 0 {
		return float64(last.bytes-from.bytes) / passed
	}
	return 0
}

// past returns what happened in the last seconds.
func (t *tally) past(now time.Time, c crawl.Counts) recentPast {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, to := t.from(), lookAt(c, now)
	return recentPast{
		seconds: now.Sub(from.at).Seconds(), pages: to.fetched - from.fetched,
		discovered: max(0, to.discovered-from.discovered), bytes: to.bytes - from.bytes,
	}
}
