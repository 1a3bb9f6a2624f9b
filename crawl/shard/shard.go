// Package shard decides everything about the pages of a crawl.
package shard

import (
	"time"

	"freshet/frontier"
	"freshet/weburl"
)

// A Shard decides what is asked for, when, and what an answer means. It has no clock, no goroutine and no lock, and
// opens nothing: it is told what has happened, and tells what is to be done.
type Shard struct{}

// New returns a shard that goes on where the records have left off. Step it until Work.Ready, then Begin.
// The errors are those of the rows and of wrong settings.
func New(rows Rows, links Links, s Settings, now time.Time) (*Shard, error) { panic("not yet") }

// Step takes in what has happened, and returns what is to be done. An error is a fault of the rows: the shard is of
// no use any more.
func (s *Shard) Step(now time.Time, events ...Event) (Work, error) { panic("not yet") }

// Places are where the known pages stand in the ordering: what Work.Sort asks for.
type Places struct {
	Known *Census
	Moved []frontier.Waiting // pages that get other places, by number
	Size  int                // how many are to leave the queues until the next ranking
}

// Census numbers the known pages by partition and fingerprint. A nil census knows none. It does not change.
type Census struct {
	First []uint32             // the number of each partition's first page, and of all pages
	Pages []weburl.Fingerprint // by number
}

// Counts are what a shard has done since it was made.
type Counts struct {
	Pages, Failed, NotModified, Changed, Audits, Lies int64
	Bytes                                             int64 // received
	Errors                                            map[string]int64
	Refused                                           map[string]int64
	Known, Sites                                      int64 // pages and sites, from the first run on
}

// Status is what a shard tells of itself.
type Status struct {
	Counts
	Queues     frontier.Stats
	LowerBound time.Duration // in which politeness lets all new pages be fetched
	Paused     bool
	UnderWay   int // turns that are not over
	Kept       int // pages that are kept fresh
	Refresh    *Freshness
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

// Status returns what the shard is doing.
func (s *Shard) Status(now time.Time) Status { panic("not yet") }

// Counts returns a copy of the counts. O(1).
func (s *Shard) Counts() Counts { panic("not yet") }

// MayStopClean says whether the stored gates have all that the next run has to know.
func (s *Shard) MayStopClean(now time.Time) bool { panic("not yet") }

// RobotsBytes returns how much memory the rules of robots.txt files take.
func (s *Shard) RobotsBytes() int64 { panic("not yet") }

// Close gives back what the shard holds.
func (s *Shard) Close() { panic("not yet") }
