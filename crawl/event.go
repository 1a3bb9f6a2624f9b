package crawl

import (
	"net/netip"
	"time"

	"freshet/crawl/robots"
	"freshet/crawl/share"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A Turn is the way of one page, or of one site's robots.txt, from being handed out until what became of it is
// stored. Turns are numbered from 1.
type Turn uint64

// An Event is something that has happened, as a Shard is told of it. The types are those below.
type Event interface{ isEvent() }

type (
	// Begin lets the shard hand out turns.
	Begin struct{}

	// End lets it hand out no more turns, for that reason, and make an end of what is under way.
	End struct{ Reason Stop }

	// Room says how many turns may be under way from now on that are not Ended. Before the first there is none.
	Room struct{ Turns int }

	// Resolved says which address the host of a turn has. The shard answers by a Leave.
	Resolved struct {
		Turn    Turn
		Address netip.Addr
	}

	// Ended says how the request of a turn went.
	Ended struct {
		Turn    Turn
		Started time.Time
		At      time.Time // the end of the answer
		Given   Given
		Bytes   int64 // received
		Kept    bool  // the connection is open for another request
		Failed  bool  // the host could not serve: no answer, time-out, 429, 503; it backs off
		// RetryAfter is what a host that Failed asked for; 0 or negative: nothing.
		RetryAfter time.Duration
		// Robots is what came of a request for a robots.txt. Its Body is the shard's from then on.
		Robots *RobotsAnswer
	}

	// Processed says what was found in the answer to a turn for a page, or for a robots.txt.
	Processed struct {
		Turn Turn
		// Page is the record of a page without what the shard decides: Gate, Claimed, RetryAt, Collected.
		// It is the shard's from then on. nil: of a robots.txt.
		Page *store.Fetched
		// Links are those of the page that may be followed, as discovery.PageLinks and Share have them.
		Links []weburl.Link
		Bytes int    // of the captures that are to be stored with the record
		Class string // of the answer, for the counts of what brought no page
	}

	// Appended says that the group of Work.Append is durable, and what it did to the queues.
	Appended struct {
		// At says, for each Append, where its first record is. Record 0: it made none.
		At []seen.Mark
		// Turns are the moves that the records of turns made, Others those of other records; in order.
		Turns, Others []store.Move
		Purged        int64 // pages that a purge took down
	}

	// Decided are the verdicts of the seen test on all links that were offered before Work.Drain.
	Decided struct {
		Verdicts []seen.Verdict
		Marks    []seen.Mark // as Test.Drain returns them
		Durable  []seen.Mark // as Test.Marks returns them
	}

	// Kept says that Work.Keep is done.
	Kept struct{}

	// Rebuilt says that Work.Rebuild is done.
	Rebuilt struct{}

	// Ordered is an operator's order, which a Reply of the same number answers.
	Ordered struct {
		Number uint64
		Order  Order
	}

	// Weighed are the ranks that Work.Weigh asked for: of each page the PageRank, by its place in the list. An
	// empty list says that ranking failed.
	Weighed struct{ Ranks []float64 }

	// Reweighed says, as Work.Reweigh asked, what pages are worth from now on, as Refresh has it. A nil Weight says
	// that this could not be found out.
	Reweighed struct {
		Weight        func(weburl.URL) float64
		Embarrassment float64
	}

	// Arriving are links that another shard sends, which are for a partition of this one. They may come more than
	// once, and in any order.
	Arriving struct{ Parcel }

	// Received says that links which this shard has sent are taken in.
	Received struct{ Receipt }

	// Resend says that links for a partition which have no receipt are to be sent again: it has another owner, or some
	// may be lost. Nothing is wrong with more of it than needed.
	// With Lost only those go that have waited for their receipt for a while: a second at first, then twice as long
	// each time.
	Resend struct {
		To   weburl.Partition
		Lost bool
	}

	// Widen says that pages of other shards' partitions have become seeds, or of these sites: the scope takes them in
	// here, too.
	Widen struct {
		Seeds []weburl.URL
		Sites []weburl.Site
	}

	// Budget says which part of the crawl's budget the shard has from now on. It is nothing to a shard that keeps no
	// page fresh.
	Budget struct{ share.Part }

	// Sorted is what Work.Sort asked for. A nil Places says that ranking failed.
	Sorted struct{ Places *Places }
)

func (Begin) isEvent()     {}
func (End) isEvent()       {}
func (Room) isEvent()      {}
func (Resolved) isEvent()  {}
func (Ended) isEvent()     {}
func (Processed) isEvent() {}
func (Appended) isEvent()  {}
func (Decided) isEvent()   {}
func (Kept) isEvent()      {}
func (Rebuilt) isEvent()   {}
func (Ordered) isEvent()   {}
func (Weighed) isEvent()   {}
func (Reweighed) isEvent() {}
func (Sorted) isEvent()    {}
func (Arriving) isEvent()  {}
func (Received) isEvent()  {}
func (Resend) isEvent()    {}
func (Widen) isEvent()     {}
func (Budget) isEvent()    {}

// Given says what a request brought.
type Given uint8

const (
	Answer  Given = iota // an answer, or a failure to get one: the turn goes on
	Nothing              // it was given up: the page stays queued, and nothing is known of the host
	Unheard              // most likely the host never got it: the page stays queued
)

// RobotsAnswer is what came of a request for a robots.txt.
type RobotsAnswer struct {
	robots.Answer
	Record *store.Robots // what the answer alone tells: times, outcome, status, address, reason
}

// Work is what is to be done after a Step. What is not mentioned goes on.
type Work struct {
	Fetches []Fetch   // requests to be made
	Leaves  []Leave   // answers to Resolved
	Process []Process // answers to be processed
	Done    []Turn    // turns that are over: what is held for them may go
	Replies []Reply

	Parcels  []Parcel  // links to be sent to the owner of Parcel.To
	Receipts []Receipt // to be sent to the owner of Receipt.From

	// Append is the next group of records to be made durable, all or a prefix of them. There is no other before it
	// is Appended.
	Append []Append

	Drain   bool     // have the seen test decide; there is no other Drain before it is Decided
	Keep    bool     // have the seen test keep what it has decided, before the next Drain
	Rebuild *Rebuild // fill the seen test from the page table

	Weigh []PageKey // compute the PageRanks of these pages over their stored links
	Sort  bool      // rank all known pages for the ordering, see Rank

	Reweigh bool // find out what pages are worth; there is no other Reweigh before it is Reweighed

	Wake time.Time // when to call Step again if nothing happens; zero: only an event can help
	// Ready says that the shard has caught up with its records, and waits for Begin.
	Ready bool
	// Over says that the crawl has come to an end, and why; nothing is under way any more.
	Over Stop
}

// Fetch is a request to be made.
type Fetch struct {
	Turn Turn
	URL  weburl.URL // to be asked for; another than the page's where a robots.txt lies elsewhere
	Page weburl.URL // the page, or the site's robots.txt

	ETag, LastModified string // of the copy held
	KeepAlive          bool   // keep the connection open for the host's next request
	Once               bool   // send the request once and no more
	MaxBody            int64  // bytes; 0: as for all
	Wanted             ContentTypes
	Robots             bool // it is for a robots.txt
	AskLeave           bool // tell the address by Resolved, and wait for a Leave
}

// Leave reports whether a turn's request may go to the address that its host has. If not the turn is over: nothing
// more is to be told of it.
type Leave struct {
	Turn    Turn
	Granted bool
}

// Process is an answer to be processed.
type Process struct {
	Turn  Turn
	URL   weburl.URL
	Page  PageKey
	Row   store.Page // of the page, as it was when it was handed out
	Alone bool       // no other page with Alone may be processed meanwhile
	Audit bool       // it was asked for without the validators of its copy
	Store ContentTypes
	// Robots is the record of a robots.txt: only its captures are to be made. nil: of a page.
	Robots *store.Robots
}

// Append is some records that are to be made durable together.
type Append struct {
	Turn    Turn // whose captures belong to the first record; 0: none
	Records []store.Record
	// Owes says what a page hands on to its links, see store.Fetch.
	Owes  func(cash, paid float64) float64
	Purge *store.Target // take this down, in place of records
	// Refused is the row of a page whose turn ended without a request, by Records[0]. For the log.
	Refused *store.Page
}

// Rebuild says what the seen test is to be filled with: all known pages of the partitions that the shard owns, as of
// these records, by partition.
type Rebuild struct {
	Partitions []weburl.Partition
	Linked     []uint64 // of each partition there is
}

// Reply answers an Order.
type Reply struct {
	Number  uint64
	Count   int64             // pages that the order was carried out for
	Refused map[string]string // URLs that were refused, with the reason
	Err     error
}

// PageKey names a page's row.
type PageKey struct {
	Partition   weburl.Partition
	Fingerprint weburl.Fingerprint
}
