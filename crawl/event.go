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

// A Turn is one fetch of a page or a robots.txt, from handing it out until its result is stored. Turns are numbered
// from 1.
type Turn uint64

// An Event is something that has happened. The types are those below.
type Event interface{ isEvent() }

type (
	// Begin allows the shard to hand out turns.
	Begin struct{}

	// End stops the shard from handing out turns, for a reason, and makes it finish work under way.
	End struct{ Reason Stop }

	// Room says how many turns that are not Ended may be under way from now on. Before the first Room it is none.
	Room struct{ Turns int }

	// Resolved reports the address of a turn's host. The shard answers with a Leave.
	Resolved struct {
		Turn    Turn
		Address netip.Addr
	}

	// Ended reports the end of a turn's request.
	Ended struct {
		Turn    Turn
		Started time.Time
		At      time.Time // the end of the answer
		Given   Given
		Bytes   int64 // received
		Kept    bool  // the connection is open for another request
		Failed  bool  // the host could not serve: no answer, time-out, 429, 503; it backs off
		// RetryAfter is how long a host that Failed asks to wait; 0 or negative: unspecified.
		RetryAfter time.Duration
		// Robots is the result of a request for a robots.txt. The shard owns its Body from then on.
		Robots *RobotsAnswer
	}

	// Processed reports what an answer contained, for a page or a robots.txt.
	Processed struct {
		Turn Turn
		// Page is the record of a page without the fields that the shard decides: Gate, Claimed, RetryAt,
		// Collected. The shard owns it from then on. It is nil for a robots.txt.
		Page *store.Fetched
		// Links are the page's links that may be followed, from discovery.PageLinks and Share.
		Links []weburl.Link
		Bytes int    // of the captures stored with the record
		Class string // of the answer, for the counts of answers without a page
	}

	// Appended says that the group of Work.Append is durable, and what it did to the queues.
	Appended struct {
		// At says, for each Append, where its first record is. Record 0: it made none.
		At []seen.Mark
		// Turns are the moves of the records of turns, Others those of other records, in order.
		Turns, Others []store.Move
		Purged        int64 // pages that a purge took down
	}

	// Decided has the verdicts of the seen test on all links that were offered before Work.Drain.
	Decided struct {
		Verdicts []seen.Verdict
		Marks    []seen.Mark // as Test.Drain returns them
		Durable  []seen.Mark // as Test.Marks returns them
	}

	// Kept says that Work.Keep is done.
	Kept struct{}

	// Rebuilt says that Work.Rebuild is done.
	Rebuilt struct{}

	// Ordered is an operator's order. A Reply with the same number answers it.
	Ordered struct {
		Number uint64
		Order  Order
	}

	// Weighed is the result of Work.Weigh: the PageRank of each page, by its place in the list. An empty list says
	// that ranking failed.
	Weighed struct{ Ranks []float64 }

	// Reweighed is the result of Work.Reweigh: what pages are worth from now on, as in Refresh. A nil Weight says
	// that it failed.
	Reweighed struct {
		Weight        func(weburl.URL) float64
		Embarrassment float64
	}

	// Arriving has links from another shard to a partition of this one. They may come more than once, and in any
	// order.
	Arriving struct{ Parcel }

	// Received has a receipt for links that this shard sent.
	Received struct{ Receipt }

	// Resend makes the shard send links to a partition again that have no receipt, because the partition has
	// another owner or links may be lost. More of them than needed do no harm. With Lost only links are sent that
	// have waited for a receipt for a time: a second at first, then twice as long each time.
	Resend struct {
		To   weburl.Partition
		Lost bool
	}

	// Widen adds sites to the scope: pages of them, in other shards' partitions, have become seeds.
	Widen struct {
		Seeds []weburl.URL
		Sites []weburl.Site
	}

	// Budget sets the shard's part of the crawl's budget. A shard that keeps no page fresh ignores it.
	Budget struct{ share.Part }

	// Sorted is the result of Work.Sort. A nil Places says that ranking failed.
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

// Given is the result of a request.
type Given uint8

const (
	Answer  Given = iota // an answer, or a failure to get one: the turn goes on
	Nothing              // it was canceled: the page stays queued, and nothing is known about the host
	Unheard              // the host most likely never got it: the page stays queued
)

// RobotsAnswer is the result of a request for a robots.txt.
type RobotsAnswer struct {
	robots.Answer
	Nobody bool          // no such host, or it refuses connections
	Record *store.Robots // the fields from the answer alone: times, outcome, status, address, reason
}

// Work is what the node must do after a Step. Other work continues.
type Work struct {
	Fetches []Fetch   // requests to be made
	Leaves  []Leave   // answers to Resolved
	Process []Process // answers to be processed
	Done    []Turn    // turns that are over: free what is held for them
	Replies []Reply

	Parcels  []Parcel  // links to be sent to the owner of Parcel.To
	Receipts []Receipt // to be sent to the owner of Receipt.From

	// Append is the next group of records to make durable, all or a prefix of them. There is no other until it is
	// Appended.
	Append []Append

	Drain   bool     // drain the seen test; there is no other Drain until it is Decided
	Keep    bool     // make the seen test keep its verdicts, before the next Drain
	Rebuild *Rebuild // fill the seen test from the page table

	Weigh []PageKey // compute the PageRanks of these pages over their stored links
	Sort  bool      // rank all known pages for the ordering, see Rank

	Reweigh bool // determine the weights of pages; there is no other Reweigh until it is Reweighed

	Wake time.Time // when to call Step again if nothing happens; zero: only an event can help
	// Ready says that the shard has caught up with its records and waits for Begin.
	Ready bool
	// Over says that the crawl has ended, and why. Nothing is under way.
	Over Stop
}

// Fetch is a request to make.
type Fetch struct {
	Turn Turn
	URL  weburl.URL // to request; differs from Page if a robots.txt was redirected
	Page weburl.URL // the page, or the site's robots.txt

	ETag, LastModified string // of the copy held
	KeepAlive          bool   // keep the connection open for the host's next request
	Once               bool   // send the request only once
	MaxBody            int64  // bytes; 0: as for all
	Wanted             ContentTypes
	Robots             bool // it is for a robots.txt
	AskLeave           bool // report the address by Resolved, and wait for a Leave
}

// Leave says whether a turn's request may go to its host's address. If not, the turn is over, and no more events
// about it may follow.
type Leave struct {
	Turn    Turn
	Granted bool
}

// Process is an answer to process.
type Process struct {
	Turn  Turn
	URL   weburl.URL
	Page  PageKey
	Row   store.Page // of the page when it was handed out
	Alone bool       // must not be processed beside another page with Alone
	Audit bool       // it was requested without the validators of its copy
	Store ContentTypes
	// Robots is the record of a robots.txt: only its captures must be made. It is nil for a page.
	Robots *store.Robots
}

// Append is records to make durable together.
type Append struct {
	Turn    Turn // whose captures belong to the first record; 0: none
	Records []store.Record
	// Owes says what a page hands on to its links, see store.Fetch.
	Owes  func(cash, paid float64) float64
	Purge *store.Target // take this down, instead of storing records
	// Refused is the row of a page that Records[0] refuses without a request. It is for the log.
	Refused *store.Page
}

// Rebuild says what to fill the seen test with: all known pages of the shard's partitions, as of these records, by
// partition.
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
