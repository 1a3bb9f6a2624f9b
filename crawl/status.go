package crawl

import (
	"maps"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/weburl"
)

// Counts count what a shard has done since New.
type Counts struct {
	Pages       int64 // stored, without requisites
	Requisites  int64 // stored
	Failed      int64 // fetches without a page
	NotModified int64
	Changed     int64
	Audits      int64            // visits that omitted the copy's validators and were answered in full
	Lies        int64            // visits that found other content under the same validator
	Bytes       int64            // received
	Errors      map[string]int64 // Failed, by class
	Refused     map[string]int64 // links and pages, by reason
	LinksSent   int64            // to partitions of other owners
	LinksHeld   int64            // not sent to partitions of other owners, because they repeat links that were
	Known       int64            // pages, since the first run
	Sites       int64            // known
}

// And returns the sum of two shards' counts.
func (c Counts) And(o Counts) Counts {
	return Counts{
		Pages: c.Pages + o.Pages, Requisites: c.Requisites + o.Requisites, Failed: c.Failed + o.Failed, NotModified: c.NotModified + o.NotModified,
		Changed: c.Changed + o.Changed, Audits: c.Audits + o.Audits, Lies: c.Lies + o.Lies, Bytes: c.Bytes + o.Bytes,
		Errors: sumOf(c.Errors, o.Errors), Refused: sumOf(c.Refused, o.Refused),
		LinksSent: c.LinksSent + o.LinksSent, LinksHeld: c.LinksHeld + o.LinksHeld,
		Known: c.Known + o.Known, Sites: c.Sites + o.Sites,
	}
}

func sumOf(a, b map[string]int64) map[string]int64 {
	sum := map[string]int64{}
	for _, m := range []map[string]int64{a, b} {
		for name, n := range m {
			sum[name] += n
		}
	}
	return sum
}

func (c *Counts) refuse(reason string, n int64) { c.Refused[reason] += n }

// Status is the present state of a shard.
type Status struct {
	Counts
	Queues     frontier.Stats
	LowerBound time.Duration // least time in which politeness allows all new pages to be fetched
	Paused     bool
	Next       time.Time  // when the next request may be made, if none may be made now; zero: not known
	UnderWay   int        // turns that are not over
	Kept       int        // pages that are kept fresh
	Refresh    *Freshness // believed freshness of the copy; nil if no page is kept fresh
}

// And returns the combined status of two shards of one crawl.
func (s Status) And(o Status) Status {
	s.Counts = s.Counts.And(o.Counts)
	s.Queues = s.Queues.And(o.Queues)
	s.LowerBound = max(s.LowerBound, o.LowerBound)
	s.Paused = s.Paused || o.Paused
	s.Next = keepfresh.Earliest(s.Next, o.Next)
	s.UnderWay += o.UnderWay
	s.Kept += o.Kept
	s.Refresh = s.Refresh.And(o.Refresh)
	return s
}

// Stop says why a crawl ended.
type Stop string

// The reasons to end.
const (
	FrontierEmpty Stop = "frontier_empty" // nothing is left to discover
	MaxPages      Stop = "max_pages"
	TimeUp        Stop = "time"
	Signal        Stop = "signal"
	DiskFull      Stop = "disk"
	Failed        Stop = "error"
)

// Status returns the present state of the shard. O(sites).
func (s *Shard) Status(now time.Time) Status {
	status := Status{
		Counts: s.Counts(), Queues: s.front.Stats(), LowerBound: s.front.LowerBound(now), Paused: s.paused,
		Next: s.next, UnderWay: len(s.turns), Refresh: s.fresh.freshness(now),
	}
	if s.fresh != nil {
		status.Kept = s.fresh.table.len()
	}
	return status
}

// Counts returns a copy of the counts.
func (s *Shard) Counts() Counts {
	c := s.counts
	c.Errors, c.Refused = maps.Clone(c.Errors), maps.Clone(c.Refused)
	return c
}

// MayStopClean reports whether the stored gates hold everything that the next run must know.
func (s *Shard) MayStopClean(now time.Time) bool { return !s.lost && s.front.MayStopClean(now) }

// RobotsBytes returns the memory that the rules of robots.txt files take, in bytes.
func (s *Shard) RobotsBytes() int64 { return s.book.Bytes() }

// Obstacles returns what keeps a site's pages from being fetched at now.
func (s *Shard) Obstacles(site weburl.Site, now time.Time) []frontier.Obstacle {
	all := s.front.Explain(site, now)
	at, led := s.book.Leads(site)
	if !led || at.Site().Name() == site.Name() {
		return all
	}
	for i := range all {
		if o := &all[i]; o.Gate == "robots" || o.Gate == "robots-unreachable" {
			*o = frontier.Obstacle{Gate: "robots-elsewhere", Host: at.Host(), Away: !s.serves(s.home(at.Site()))}
		}
	}
	return all
}

// Standing returns the rules of a site's robots.txt.
func (s *Shard) Standing(site weburl.Site) (robots.Standing, error) { return s.standing(site) }

// Holds reports whether the rules of a site are in memory.
func (s *Shard) Holds(site weburl.Site) bool {
	_, ok := s.book.Standing(site)
	return ok
}

// Stored returns the number of pages stored since New, without requisites.
func (s *Shard) Stored() int64 { return s.counts.Pages }

// Settings returns the settings in force.
func (s *Shard) Settings() Settings { return s.settings }

// Close ends the learning under way.
func (s *Shard) Close() { s.fresh.close() }
