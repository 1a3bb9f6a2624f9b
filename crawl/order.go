package crawl

import (
	"errors"
	"time"

	"freshet/store"
	"freshet/weburl"
)

// An Order is an operator's order to a crawl. It survives a crash from its Reply on: it is stored as a record, or
// comes from settings that the next start reads again.
type Order interface{ isOrder() }

type (
	// Add adds seeds. A seed that the rules refuse, or a guard, is in the reply's Refused. Known pages become
	// seeds too and are not fetched again for it. Count is how many were not known.
	Add struct{ Seeds []weburl.URL }

	// PauseAll lets nothing more be asked for, or lets the crawl go on.
	PauseAll struct{ Paused bool }

	// Pause lets nothing more of a site be asked for, or lets it be asked again.
	Pause struct {
		Site   weburl.Site
		Paused bool
	}

	// Block lets nothing of a host be asked for until then, or ever if Until is zero. The host need not be known.
	Block struct {
		Host  string
		Until time.Time
	}

	// Unblock lifts a Block.
	Unblock struct{ Host string }

	// Recrawl makes a page due now, and lifts what set it aside (MaxStrikes).
	Recrawl struct{ URL weburl.URL }

	// RecrawlSite makes all pages of a site due now, except for those that wait to be fetched for the first time, were
	// purged, or are of a type of content that the rules do not refresh.
	RecrawlSite struct{ Site weburl.Site }

	// Purge takes a page or a site down permanently; see store.Store.BeginPurge. The node takes the bytes off the disk.
	Purge struct{ Target store.Target }

	// Ping takes word that pages have changed. Those that were visited are due now, those that nobody knew are
	// discovered if the scope and the rules let them in, those that wait for their first visit go on waiting. Count
	// is of how many that is true. The others are in Refused, with the reason: that of the rules, "guard",
	// "purged", "type" for a type of content that the rules do not refresh, "rate" when more is said than half of
	// the budget would pay for, or a page a second where there is none.
	Ping struct{ URLs []weburl.URL }

	// Reload puts other settings in force, as far as they may change in a running crawl: seeds (new ones are
	// added), scope, rules and requisites, delays, retries, limits, the budget. Pages that are queued and no longer
	// belong to the crawl are refused on their turn; a wider scope takes in links that are found from now on, and those
	// found before at the next start.
	Reload struct{ Settings Settings }

	// Give hands a partition over: nothing more of it is asked for, and when the reply comes another shard may Take it.
	Give struct{ Partition weburl.Partition }

	// Take takes a partition over. Clean says that its last owner goes by the same clock, and has given it. Else the
	// node knows that this one neither asks for pages nor appends records any more, and each of the partition's hosts
	// waits out its own interval. When the reply comes its pages are being asked for.
	Take struct {
		Partition weburl.Partition
		Clean     bool
	}

	// Strike tells of pages that were being processed when the last run was cut off, with the visits that they had.
	Strike struct{ Pages []Struck }
)

// Struck is a page that was being processed when a run was cut off. One that has more visits by now was committed
// after all.
type Struck struct {
	PageKey
	Visits uint32
}

func (Add) isOrder()         {}
func (PauseAll) isOrder()    {}
func (Pause) isOrder()       {}
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

// ErrUnknown is the reply for a page or site that the crawl does not know.
var ErrUnknown = errors.New("crawl: unknown")

// ErrOrder is the reply to an order that makes no sense.
var ErrOrder = errors.New("crawl: wrong order")
