package node

import (
	"maps"
	"sync"
	"time"

	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/memory"
)

// Summary is what a crawl came to: the last line of `freshet crawl --json`.
type Summary struct {
	Pages          int64      `json:"pages"`           // pages stored by this run, requisites apart
	Requisites     int64      `json:"requisites"`      // stored by this run: what pages need to be shown
	Sites          int64      `json:"sites"`           // sites known
	URLsDiscovered int64      `json:"urls_discovered"` // pages known, from the first run on
	URLsFailed     int64      `json:"urls_failed"`     // fetches of this run that brought no page
	Bytes          int64      `json:"bytes"`           // received by this run, on the wire
	DurationS      float64    `json:"duration_s"`
	PagesPerS      float64    `json:"pages_per_s"`
	StoppedBy      crawl.Stop `json:"stopped_by"`
	// RobotsWaiting is the number of queued pages of sites whose robots.txt was out of reach too often: the
	// crawl does not wait for them, and asks again.
	RobotsWaiting int64 `json:"robots_unreachable_pages"`
	// Trouble is why nothing was ever stored, at the end of a run.
	Trouble *explain.Trouble `json:"trouble"`
}

// Status is what a running crawl tells of itself: the progress line, the control socket's answer and
// the metrics are views of it.
type Status struct {
	Summary
	State string `json:"state"` // crawling, stopping
	// ClockRate is in seconds of the crawl's clock a second; all times and rates here are by that clock.
	ClockRate    float64 `json:"clock_rate"`
	Connections  int     `json:"connections_active"`
	SitesReady   int     `json:"sites_ready"`
	SitesWaiting int     `json:"sites_waiting"`
	// of the first host that waits, if there is nothing to do before; else 0
	NextRequestS float64     `json:"next_request_in_s"`
	QueuedNew    int64       `json:"queued_new"`
	QueuedDue    int64       `json:"queued_due"`
	Processing   int         `json:"pages_processing"` // fetched, not yet on disk
	Fleet        FleetStatus `json:"fleet"`
	NotModified  int64       `json:"not_modified"`
	Changed      int64       `json:"changed"`
	// Audits are visits without the validators of a copy that has some, answered in full; Lies those that found another
	// content under the same validator.
	Audits int64 `json:"validator_audits"`
	Lies   int64 `json:"validator_lies"`
	// LinksSent are links that this run has sent to partitions of other nodes or shards, LinksHeld those that it has
	// not sent because they repeat them.
	LinksSent int64            `json:"links_sent"`
	LinksHeld int64            `json:"links_held_back"`
	Errors    map[string]int64 `json:"errors"`  // fetches that brought no page, by class
	Refused   map[string]int64 `json:"refused"` // links and pages that a gate refused, by reason
	// by work: what failed beside the crawl, and is tried again
	Background   map[string]int64 `json:"background_failures"`
	RecentPagesS float64          `json:"recent_pages_per_s"`
	RecentBytesS float64          `json:"recent_bytes_per_s"`
	Forecast
	LowerBoundS   float64          `json:"remaining_lower_bound_s"` // what politeness alone asks for
	DiskFreeBytes int64            `json:"disk_free_bytes"`
	Memory        memory.Usage     `json:"memory"`  // who holds how much
	Refresh       *crawl.Freshness `json:"refresh"` // what is believed of the copy, if it is kept fresh
	// Embarrassment is there once weights come from a log of queries.
	Embarrassment *crawl.Embarrassment `json:"embarrassment"`
}

// Status returns what the crawl is doing. It may be called at any time until Close.
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
	s.Forecast = forecast(n.tally.past(now, known.Counts), s.QueuedNew+s.QueuedDue, s.LowerBoundS, s.DiskFreeBytes)
	return s
}

// tally keeps what the shard has counted in the last seconds, and counts what fails beside the crawl. A rate is the
// difference of two looks.
type tally struct {
	mu           sync.Mutex
	started      time.Time // of Run; zero before
	knownAtStart int64     // pages
	background   map[string]int64
	recent       [recentLooks]look // a ring of looks a second apart
	looks        int
}

// recentLooks is how many seconds the recent rates look back.
const recentLooks = 10

// look is what the counters said at a moment.
type look struct {
	at                                time.Time
	pages, bytes, fetched, discovered int64
}

func lookAt(c crawl.Counts, now time.Time) look {
	return look{at: now, pages: c.Pages, bytes: c.Bytes, fetched: c.Pages + c.Requisites + c.Failed + c.NotModified, discovered: c.Known}
}

func newTally() *tally { return &tally{background: map[string]int64{}} }

// begin starts the time that rates are for.
func (t *tally) begin(now time.Time, known int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started, t.knownAtStart = now, known
}

// countBackground counts a piece of background work that failed. The names are few and fixed.
func (t *tally) countBackground(work string) {
	t.mu.Lock()
	t.background[work]++
	t.mu.Unlock()
}

// tick takes a look at the counters; called each second.
func (t *tally) tick(now time.Time, c crawl.Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent[t.looks%recentLooks] = lookAt(c, now)
	t.looks++
}

// fill sets what the tally knows of s, whose Pages are set.
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

// rates returns the recent pages and bytes a second, if the counters say c now.
func (t *tally) rates(c crawl.Counts, now time.Time) (pages, bytes float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.from()
	if passed := now.Sub(from.at).Seconds(); passed > 0 {
		pages, bytes = float64(c.Pages-from.pages)/passed, float64(c.Bytes-from.bytes)/passed
	}
	return pages, bytes
}

// from returns the look from which on the past is recent. The lock is held.
func (t *tally) from() look {
	if t.looks < recentLooks {
		return look{at: t.started, discovered: t.knownAtStart}
	}
	return t.recent[t.looks%recentLooks]
}

// traffic returns how many bytes a second were received lately.
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

// past returns what the last seconds showed.
func (t *tally) past(now time.Time, c crawl.Counts) recentPast {
	t.mu.Lock()
	defer t.mu.Unlock()
	from, to := t.from(), lookAt(c, now)
	return recentPast{
		seconds: now.Sub(from.at).Seconds(), pages: to.fetched - from.fetched,
		discovered: max(0, to.discovered-from.discovered), bytes: to.bytes - from.bytes,
	}
}
