package crawl

import (
	"errors"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// An Order is an operator's order to a crawl. Once its Reply has come, it survives a crash: it is stored as a record,
// or is part of the settings that the next start reads.
type Order interface{ isOrder() }

type (
	// Add adds seeds. Reply.Refused has the seeds that the rules or a guard refuse, and those taken down ("purged").
	// Known pages become seeds too, and are not fetched again for that. Reply.Count is the number of seeds that were
	// not known.
	Add struct{ Seeds []weburl.URL }

	// PauseAll stops or resumes all requests.
	PauseAll struct{ Paused bool }

	// Pause stops or resumes the requests to a site.
	Pause struct {
		Site   weburl.Site
		Paused bool
	}

	// Pace sets how fast a site may be asked, if the settings and its robots.txt would allow more. A nil field stays as
	// it is, and zero ends what an earlier order set.
	Pace struct {
		Site   weburl.Site
		Delay  *time.Duration // between two requests, at least
		Budget *int           // fetches a day, at most, spread evenly
	}

	// Block stops requests to a host until Until, or forever if that is zero. The host need not be known.
	Block struct {
		Host  string
		Until time.Time
	}

	// Unblock lifts a Block.
	Unblock struct{ Host string }

	// Recrawl makes a page due now, even if it was set aside (MaxStrikes).
	Recrawl struct{ URL weburl.URL }

	// RecrawlSite makes all pages of a site due now, except those that were never fetched, were purged, or have a
	// content type that the rules do not refresh.
	RecrawlSite struct{ Site weburl.Site }

	// Purge permanently takes down a page or a site; see store.Store.BeginPurge. The node removes the bytes from the
	// disk.
	Purge struct{ Target store.Target }

	// Ping reports that pages have changed. Visited pages are due now. Unknown pages are discovered if scope and rules
	// admit them. Pages that wait for their first visit keep waiting. Reply.Count is the number of these pages.
	// Reply.Refused has the others, with the reason: that of the rules, "guard", "purged", "type" for a content type
	// that the rules do not refresh, or "rate". The rate is half of the budget, or a page per second without a budget.
	Ping struct{ URLs []weburl.URL }

	// Reload applies other settings, as far as they may change in a running crawl: seeds (new ones are added), scope,
	// rules and requisites, delays, retries, limits, the budget. Queued pages that no longer belong to the crawl are
	// refused when their turn comes. A wider scope admits links found from now on at once, and earlier ones at the next
	// start.
	Reload struct{ Settings Settings }

	// Give gives a partition away. The shard makes no more requests for it. Once the reply has come, another shard may
	// Take it.
	Give struct{ Partition weburl.Partition }

	// Take takes a partition over. Clean means that its last owner has the same clock and has given it away. Otherwise
	// the node must make sure that the last owner neither requests pages nor appends records any more, and each host of
	// the partition waits its own interval. Once the reply has come, its pages are requested.
	Take struct {
		Partition weburl.Partition
		Clean     bool
	}

	// Strike names the pages that were being processed when the last run was cut off, with the number of their visits.
	Strike struct{ Pages []Struck }

	// AskRobots requests a URL to which the robots.txt of a site of another shard redirects. It comes from that shard.
	// Reply.Robots is the answer, or Reply.Wait is how long until it can be asked for again.
	AskRobots struct{ URL weburl.URL }
)

// Struck is a page that was being processed when a run was cut off. If its row has more visits now, it was committed
// after all.
type Struck struct {
	PageKey
	Visits uint32
}

func (Add) isOrder()         {}
func (PauseAll) isOrder()    {}
func (Pause) isOrder()       {}
func (Pace) isOrder()        {}
func (Block) isOrder()       {}
func (Unblock) isOrder()     {}
func (Recrawl) isOrder()     {}
func (RecrawlSite) isOrder() {}
func (Purge) isOrder()       {}
func (Ping) isOrder()        {}
func (Reload) isOrder()      {}
func (Strike) isOrder()      {}
func (Give) isOrder()        {}
func (Take) isOrder()        {}
func (AskRobots) isOrder()   {}

// ErrUnknown is the reply for a page or site that the crawl does not know. Like ErrOrder, its text is for operators.
var ErrUnknown = errors.New("not found")

// ErrOrder is the reply to an order that is invalid.
var ErrOrder = errors.New("wrong order")
