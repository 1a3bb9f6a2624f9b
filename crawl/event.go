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

// A Turn is the number of one fetch of a page or a robots.txt, from handing it out until its result is stored. The
// first is 1.
type Turn uint64

// An Event is something that has happened. Its types are below.
type Event interface{ isEvent() }

type (
	// Begin allows the shard to hand out turns.
	Begin struct{}

	// End stops the shard from handing out turns, for a reason, and makes it finish the work under way.
	End struct{ Reason Stop }

	// Room sets how many turns that are not Ended may be under way. Before the first Room it is 0.
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
		// Robots is the result of a request for a robots.txt. The shard owns its Body afterwards.
		Robots *RobotsAnswer
	}

	// Processed reports what an answer contained, for a page or a robots.txt.
	Processed struct {
		Turn Turn
		// Page is the record of a page without the fields that the shard decides: Gate, Claimed, RetryAt, Collected.
		// The shard owns it afterwards. It is nil for a robots.txt.
		Page *store.Fetched
		// Links are the page's links that may be followed, from discovery.PageLinks and Share.
		Links []weburl.Link
		Bytes int    // of the captures stored with the record
		Class string // of the answer, for counting answers without a page
	}

	// Appended reports that the group of Work.Append is durable, and what it did to the queues.
	Appended struct {
		// At has, for each Append, the mark of its first record. Record 0 means that it made none.
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

	// Kept reports that Work.Keep is done.
	Kept struct{}

	// Rebuilt reports that Work.Rebuild is done.
	Rebuilt struct{}

	// Ordered is an operator's order. A Reply with the same number answers it.
	Ordered struct {
		Number uint64
		Order  Order
	}

	// Weighed is the result of Work.Weigh: the PageRank of each page, in the order of the list. An empty list means
	// that ranking failed.
	Weighed struct{ Ranks []float64 }

	// Reweighed is the result of Work.Reweigh: the pages' new weights, as in Refresh. A nil Weight means that it
	// failed.
	Reweighed struct {
		Weight        func(weburl.URL) float64
		Embarrassment float64
	}

	// Arriving has links from another shard to a partition of this one. They may come more than once, and in any
	// order.
	Arriving struct{ Parcel }

	// Received has a receipt for links that this shard has sent.
	Received struct{ Receipt }

	// Resend makes the shard send the links to a partition that have no receipt again, because the partition has
	// another owner or links may be lost. Links sent more than once do no harm. With Lost it sends only links that have
	// waited for a receipt for long enough: a second at first, then twice as long each time.
	Resend struct {
		To   weburl.Partition
		Lost bool
	}

	// RobotsTold has the reply to an AskRobots that this shard's Work had. If neither Robots nor Wait is set, the host
	// has no owner now. Every AskRobots must have its RobotsTold; the shard asks again after some minutes without one.
	RobotsTold struct {
		URL    weburl.URL
		Robots *RobotsAnswer
		Wait   time.Duration
	}

	// Widen adds sites to the scope: some of their pages, in other shards' partitions, have become seeds.
	Widen struct {
		Seeds []weburl.URL
		Sites []weburl.Site
	}

	// Budget sets the shard's part of the crawl's budget. A shard that keeps no page fresh ignores it.
	Budget struct{ share.Part }

	// Sorted is the result of Work.Sort. A nil Places means that ranking failed.
	Sorted struct{ Places *Places }
)

func (Begin) isEvent()      {}
func (End) isEvent()        {}
func (Room) isEvent()       {}
func (Resolved) isEvent()   {}
func (Ended) isEvent()      {}
func (Processed) isEvent()  {}
func (Appended) isEvent()   {}
func (Decided) isEvent()    {}
func (Kept) isEvent()       {}
func (Rebuilt) isEvent()    {}
func (Ordered) isEvent()    {}
func (Weighed) isEvent()    {}
func (Reweighed) isEvent()  {}
func (Sorted) isEvent()     {}
func (Arriving) isEvent()   {}
func (Received) isEvent()   {}
func (Resend) isEvent()     {}
func (Widen) isEvent()      {}
func (RobotsTold) isEvent() {}
func (Budget) isEvent()     {}

// Given is the kind of result that a request gave.
type Given uint8

// What a request can give.
const (
	Answer  Given = iota // an answer, or a failure to get one: the turn goes on
	Nothing              // the request was canceled: the page stays queued, and nothing is known about the host
	Unheard              // the request most likely never reached the host: the page stays queued
)

// RobotsAnswer is the result of a request for a robots.txt.
type RobotsAnswer struct {
	robots.Answer
	Nobody bool          // no such host, or it refuses connections
	Record *store.Robots // the fields that come from the answer: times, outcome, status, address, reason
}

// Work is what the node must do after a Step. Other work continues.
type Work struct {
	Fetches []Fetch   // requests to make
	Leaves  []Leave   // answers to Resolved
	Process []Process // answers to process
	Done    []Turn    // turns that are over: free what is held for them
	Replies []Reply

	Parcels  []Parcel  // links to send to the owner of Parcel.To
	Receipts []Receipt // to send to the owner of Receipt.From

	// AskRobots are the URLs of AskRobots orders for other shards; the replies come as RobotsTold.
	AskRobots []weburl.URL

	// Append is the next group of records to make durable: all of them, or a prefix. There is no other group until this
	// one is Appended.
	Append []Append

	Drain   bool     // drain the seen test; there is no other Drain until it is Decided
	Keep    bool     // make the seen test keep its verdicts, before the next Drain
	Rebuild *Rebuild // fill the seen test from the page table

	Weigh []PageKey // compute the PageRanks of these pages over their stored links
	Sort  bool      // rank all known pages for the ordering, see Rank

	Reweigh bool // determine the weights of pages; there is no other Reweigh until it is Reweighed

	Wake time.Time // when to call Step again if nothing happens; zero: only an event can help
	// Ready reports that the shard has caught up with its records and waits for Begin.
	Ready bool
	// Over is set when the crawl has ended and nothing is under way. It is the reason.
	Over Stop
}

// Fetch is a request to make.
type Fetch struct {
	Turn Turn
	URL  weburl.URL // to request; differs from Page if a robots.txt was redirected
	Page weburl.URL // the page, or the site's robots.txt

	ETag, LastModified string // validators of the copy
	KeepAlive          bool   // keep the connection open for the host's next request
	Once               bool   // send the request only once
	MaxBody            int64  // bytes; 0: the limit for all pages
	Wanted             ContentTypes
	Robots             bool // the request is for a robots.txt
	AskLeave           bool // report the address by Resolved, and wait for a Leave
}

// Leave says whether a turn's request may go to its host's address. If not, the turn is over, and no events about it
// may follow.
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
	Alone bool       // not to be processed at the same time as another page with Alone
	Audit bool       // it was requested without the validators of its copy
	Store ContentTypes
	// Robots is the record of a robots.txt without its captures. It is nil for a page.
	Robots *store.Robots
}

// Append is records to make durable together.
type Append struct {
	Turn    Turn // whose captures belong to the first record; 0: none
	Records []store.Record
	// Owes returns how much cash a page passes on to its links, see store.Fetch.
	Owes  func(cash, paid float64) float64
	Purge *store.Target // take this down instead of storing records
	// Refused is the row of a page that Records[0] refuses without a request, for the log.
	Refused *store.Page
}

// Rebuild names the pages with which to fill the seen test: all known pages of the shard's partitions, up to these
// records.
type Rebuild struct {
	Partitions []weburl.Partition
	Linked     []uint64 // for every partition of the crawl
}

// Reply answers an Order.
type Reply struct {
	Number  uint64
	Count   int64             // number of pages affected by the order
	Refused map[string]string // URLs that were refused, with the reason
	Err     error

	Robots *RobotsAnswer // of AskRobots
	Wait   time.Duration // how long until AskRobots is to be given again if there is no answer; 0: not known
}

// PageKey names a page's row.
type PageKey struct {
	Partition   weburl.Partition
	Fingerprint weburl.Fingerprint
}
