package store

import (
	"fmt"

	"freshet/log"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Page is a page's row. Times are unix nanoseconds, 0 for never.
type Page struct {
	URL     weburl.URL         `cbor:"1,keyasint,omitzero"`
	State   State              `cbor:"2,keyasint,omitempty"`
	Depth   uint16             `cbor:"3,keyasint,omitempty"`
	Hops    uint8              `cbor:"4,keyasint,omitempty"`
	Rel     weburl.Rel         `cbor:"5,keyasint,omitempty"`
	Via     weburl.Fingerprint `cbor:"6,keyasint,omitempty"`
	Seed    bool               `cbor:"7,keyasint,omitempty"`
	Cash    float64            `cbor:"8,keyasint,omitempty"`  // all that ever came to it
	Paid    float64            `cbor:"45,keyasint,omitempty"` // the part of it that the page has passed on to its links
	LastMod int64              `cbor:"9,keyasint,omitempty"`  // the sitemap's

	Queue Queue `cbor:"10,keyasint,omitempty"` // where it waits
	Key   Key   `cbor:"11,keyasint,omitzero"`  // and its place there

	FirstSeen   int64   `cbor:"12,keyasint,omitempty"`
	LastFetched int64   `cbor:"13,keyasint,omitempty"`
	LastChanged int64   `cbor:"14,keyasint,omitempty"` // start of the visit that saw the last change of content
	Outcome     Outcome `cbor:"15,keyasint,omitempty"` // of the last visit
	Status      int     `cbor:"16,keyasint,omitempty"`
	Reason      string  `cbor:"17,keyasint,omitempty"` // why the last visit failed, or the page was refused

	ContentType  string     `cbor:"18,keyasint,omitempty"` // from here on: of the last complete capture
	Size         int64      `cbor:"19,keyasint,omitempty"` // bytes
	BodyDigest   BodyDigest `cbor:"20,keyasint,omitzero"`
	TextDigest   TextDigest `cbor:"21,keyasint,omitzero"`
	TextVersion  uint8      `cbor:"43,keyasint,omitempty"`
	ETag         string     `cbor:"22,keyasint,omitempty"`
	LastModified string     `cbor:"23,keyasint,omitempty"`
	NoIndex      bool       `cbor:"24,keyasint,omitempty"`
	NoArchive    bool       `cbor:"25,keyasint,omitempty"`
	NoFollow     bool       `cbor:"26,keyasint,omitempty"`
	Canonical    weburl.URL `cbor:"27,keyasint,omitzero"`
	PageSignals  string     `cbor:"47,keyasint,omitempty"` // about the use of the page, in the form of package consent
	// the same from robots.txt and tdmrep.json, at the last visit that confirmed the copy
	SiteSignals string `cbor:"48,keyasint,omitempty"`

	Versions uint32 `cbor:"30,keyasint,omitempty"` // number of the last version, 0 before the first
	Visits   uint32 `cbor:"31,keyasint,omitempty"` // number of the last visit; the last 64 are kept
	Folded   Folded `cbor:"32,keyasint,omitzero"`  // the older ones

	Redirect    weburl.URL `cbor:"33,keyasint,omitzero"`  // target of the last visit's redirect
	Redirects   uint8      `cbor:"34,keyasint,omitempty"` // permanent ones to it in a row, at most 2
	MovedTo     weburl.URL `cbor:"35,keyasint,omitzero"`  // of a page in StateMoved
	GoneSeen    uint8      `cbor:"36,keyasint,omitempty"` // 404s and 410s in a row, at most 2
	FailedInRow uint16     `cbor:"37,keyasint,omitempty"` // visits in a row without an answer or with a server error
	LastChange  uint64     `cbor:"38,keyasint,omitempty"` // number of its entry in the change log, 0 for none
	SoftError   bool       `cbor:"39,keyasint,omitempty"` // the last visit met an error page with status 200
	Truncated   string     `cbor:"40,keyasint,omitempty"` // the last visit's answer was cut
	Limit       int64      `cbor:"49,keyasint,omitempty"` // bytes that were read of it, if it was cut for its length
	Visited     bool       `cbor:"41,keyasint,omitempty"` // at least once
	Pruned      uint32     `cbor:"44,keyasint,omitempty"` // versions up to this number are no longer kept
	// unclean stops in a row while the page was processed
	Strikes uint8 `cbor:"46,keyasint,omitempty"`
}

// Requisite reports whether the page was discovered as a requisite of another page and is not a seed.
func (p *Page) Requisite() bool { return p.Rel == weburl.RelEmbed && !p.Seed }

// TruncatedLength is the value of Page.Truncated for an answer that is longer than the limit.
const TruncatedLength = string(warc.TruncatedLength)

// Reasons that more than one place gives or tests for.
const (
	ReasonType    = "content-type" // its content type is not wanted
	ReasonCrashes = "crashes"      // set aside after repeated unclean stops
	ReasonPurged  = "purged"       // taken down, or its site was
)

// State is the state of a page. The numbers are part of the format.
type State uint8

// The states.
const (
	StatePending   State = 0  // discovered; no visit has decided anything yet
	StateLive      State = 1  // it has a version and has not ended since
	StateRedirect  State = 2  // never had a version and redirects
	StateMoved     State = 3  // had a version, and redirects permanently, seen twice
	StateMissing   State = 4  // 404 or 410 from the start
	StateGone      State = 5  // had a version, and 404 or 410 twice in a row
	StateError     State = 6  // it answered, but never with content: 4xx, 5xx, a soft error, a cut body
	StateUnreached State = 7  // never answered
	StateDenied    State = 8  // robots.txt or the scope forbids it permanently
	StateWithdrawn State = 9  // withdrawn: the body is no longer served
	StatePurged    State = 10 // taken down by an operator: a tombstone
)

const states = 11

// Known reports whether s is one of the states.
func (s State) Known() bool { return s < states }

// Queue names one of a site's two queues.
type Queue uint8

// A page waits in one of a site's queues or in none.
const (
	NoQueue  Queue = 0 // it waits in none
	NewQueue Queue = 1 // by the ordering
	DueQueue Queue = 2 // by time
)

// KeyKind returns the kind of the keys of the queue's entries; the queue must be one.
func (q Queue) KeyKind() format.Kind {
	switch q {
	case NewQueue:
		return format.KeyNew
	case DueQueue:
		return format.KeyDue
	}
	panic(fmt.Sprintf("store: queue %d has no keys", q))
}

// Key is a place in a queue: smaller first.
type Key struct {
	Order   uint64 `cbor:"1,keyasint,omitempty"` // new queue: from the ordering; due queue: unix nanoseconds
	Arrival uint64 `cbor:"2,keyasint,omitempty"` // order of discovery, unique in its partition
}

// Entry is one page waiting in a queue.
type Entry struct {
	Key         Key
	Fingerprint weburl.Fingerprint // key of the page's row
	Cash        float64
}

// Move records that a page entered a queue, left it or changed its place, or that it got more cash.
type Move struct {
	Site        weburl.Site
	Fingerprint weburl.Fingerprint // key of the page's row
	From        Queue              // NoQueue: it was in none
	To          Queue              // NoQueue: it left
	FromKey     Key
	ToKey       Key
	FromCash    float64 // of the page before
	Cash        float64 // and after
}

// CashUnits is an amount of cash in units of 2⁻⁴⁰. Sums of integers do not depend on the order of adding.
type CashUnits int64

// UnitsOf returns an amount in units, at most 2²⁰ of cash.
func UnitsOf(cash float64) CashUnits { return CashUnits(min(max(cash, 0), 1<<20) * (1 << 40)) }

// Cash returns the amount.
func (u CashUnits) Cash() float64 { return float64(u) / (1 << 40) }

// Folded sums up the visits that are no longer kept individually: sufficient statistics of a change process. An
// interval is the time between two complete visits.
type Folded struct {
	Visits    int64 `cbor:"1,keyasint,omitempty"`
	Complete  int64 `cbor:"2,keyasint,omitempty"` // of these, visits that showed whether the page had changed
	Changes   int64 `cbor:"3,keyasint,omitempty"` // of these, visits that saw a change
	ElapsedNs int64 `cbor:"4,keyasint,omitempty"` // sum of all intervals
	ChangedNs int64 `cbor:"5,keyasint,omitempty"` // sum of the intervals in which a change was seen
	First     int64 `cbor:"6,keyasint,omitempty"` // time of the first complete visit
	Last      int64 `cbor:"7,keyasint,omitempty"` // time of the last complete visit
}

// IsZero reports whether f sums up nothing.
func (f Folded) IsZero() bool { return f == Folded{} }

// Visit is one fetch of a page.
type Visit struct {
	At        int64   `cbor:"1,keyasint,omitempty"`
	TookNs    int64   `cbor:"2,keyasint,omitempty"`
	Outcome   Outcome `cbor:"3,keyasint,omitempty"`
	Status    int     `cbor:"4,keyasint,omitempty"`
	Reason    string  `cbor:"5,keyasint,omitempty"`
	Complete  bool    `cbor:"6,keyasint,omitempty"` // it showed whether the page had changed; else it is missing data
	Changed   bool    `cbor:"7,keyasint,omitempty"` // content differs from the visit before; true for the first version
	Noise     bool    `cbor:"8,keyasint,omitempty"` // only bytes differ
	Version   uint32  `cbor:"9,keyasint,omitempty"` // the page's version after the visit
	WireBytes int64   `cbor:"10,keyasint,omitempty"`
	Truncated string  `cbor:"11,keyasint,omitempty"`
	Capture   Pointer `cbor:"12,keyasint,omitzero"`
	Revisit   bool    `cbor:"13,keyasint,omitempty"`
	// LastModified is the answer's header. From it the crawl learns how far the header can be trusted.
	LastModified string `cbor:"14,keyasint,omitempty"`
	// Claimed is the source that claimed a change. From it the crawl learns again how far the source can be
	// trusted.
	Claimed uint8 `cbor:"15,keyasint,omitempty"`
}

// Version is one content of a page.
type Version struct {
	Number      uint32     `cbor:"1,keyasint,omitempty"`
	At          int64      `cbor:"2,keyasint,omitempty"`
	Noise       bool       `cbor:"3,keyasint,omitempty"` // only bytes differ from the version before
	Status      int        `cbor:"4,keyasint,omitempty"`
	ContentType string     `cbor:"5,keyasint,omitempty"`
	Size        int64      `cbor:"6,keyasint,omitempty"`
	BodyDigest  BodyDigest `cbor:"7,keyasint,omitzero"`
	TextDigest  TextDigest `cbor:"8,keyasint,omitzero"`
	Capture     Pointer    `cbor:"9,keyasint,omitzero"` // zero: no body kept (noarchive)
	Charset     string     `cbor:"10,keyasint,omitempty"`
	SiteSignals string     `cbor:"11,keyasint,omitempty"` // about its use, by package consent: of the site's files
	PageSignals string     `cbor:"12,keyasint,omitempty"` // and of the answer
}

// ChangeKind is what happened to a page. The numbers are part of the format.
type ChangeKind uint8

// What happens to a page.
const (
	ChangeNew       ChangeKind = 1
	ChangeChanged   ChangeKind = 2
	ChangeMoved     ChangeKind = 3
	ChangeGone      ChangeKind = 4
	ChangeWithdrawn ChangeKind = 5
	ChangePurged    ChangeKind = 6
)

// Change is an entry of the change log. The log holds the last change of every page.
type Change struct {
	Record      uint64             `cbor:"-"` // number of the record that made it
	Kind        ChangeKind         `cbor:"1,keyasint,omitempty"`
	Fingerprint weburl.Fingerprint `cbor:"2,keyasint,omitempty"`
	URL         weburl.URL         `cbor:"3,keyasint,omitzero"`
	At          int64              `cbor:"4,keyasint,omitempty"`
	Version     uint32             `cbor:"5,keyasint,omitempty"`
	MovedTo     weburl.URL         `cbor:"6,keyasint,omitzero"`
}

// SiteRow is a site's row.
type SiteRow struct {
	Site    weburl.Site `cbor:"-"`
	Pages   int64       `cbor:"1,keyasint,omitempty"` // rows
	Fetched int64       `cbor:"2,keyasint,omitempty"` // rows visited at least once
	New     int64       `cbor:"3,keyasint,omitempty"` // entries of the new queue
	Due     int64       `cbor:"4,keyasint,omitempty"` // entries of the due queue
	Refused []Reason    `cbor:"5,keyasint,omitempty"` // sorted by reason
	Seed    bool        `cbor:"7,keyasint,omitempty"` // one of its pages is a seed
	Robots  RobotsState `cbor:"6,keyasint,omitzero"`
	Paused  int64       `cbor:"8,keyasint,omitempty"`  // since when an operator has paused it; 0: not paused
	Purged  bool        `cbor:"9,keyasint,omitempty"`  // taken down by an operator: no page is admitted
	Cash    CashUnits   `cbor:"10,keyasint,omitempty"` // of the entries of the new queue together

	Validators Validators `cbor:"11,keyasint,omitzero"`
	Pace       Pace       `cbor:"12,keyasint,omitzero"` // by an operator
}

// Reason counts refusals for one reason.
type Reason struct {
	_      struct{} `cbor:",toarray"`
	Reason string
	Count  int64
}

// RobotsState is what is known about a site's robots.txt.
type RobotsState struct {
	Fetched int64   `cbor:"1,keyasint,omitempty"`  // last tried
	Ended   int64   `cbor:"10,keyasint,omitempty"` // end of that request
	Kept    int64   `cbor:"2,keyasint,omitempty"`  // when the stored rules were fetched, 0 for none
	Expires int64   `cbor:"3,keyasint,omitempty"`
	Outcome Outcome `cbor:"4,keyasint,omitempty"`
	Status  int     `cbor:"5,keyasint,omitempty"`
	Reason  string  `cbor:"6,keyasint,omitempty"`
	Capture Pointer `cbor:"7,keyasint,omitzero"`
	Rules   uint64  `cbor:"8,keyasint,omitempty"` // digest of the stored rules, 0 for none or not known
	Obeyed  uint64  `cbor:"9,keyasint,omitempty"` // digest of the rules that all pages were checked against
}

// Counters are a partition's totals.
type Counters struct {
	Records    uint64          `cbor:"1,keyasint,omitempty"` // number of the last record applied
	Trimmed    uint64          `cbor:"2,keyasint,omitempty"` // number of the last record deleted
	Sites      int64           `cbor:"3,keyasint,omitempty"`
	Pages      int64           `cbor:"4,keyasint,omitempty"`  // rows
	States     [states]int64   `cbor:"5,keyasint,omitempty"`  // rows by State
	New        int64           `cbor:"6,keyasint,omitempty"`  // entries of new queues
	Due        int64           `cbor:"7,keyasint,omitempty"`  // entries of due queues
	Visits     int64           `cbor:"8,keyasint,omitempty"`  // page requests
	Robots     int64           `cbor:"9,keyasint,omitempty"`  // robots.txt requests
	Outcomes   [outcomes]int64 `cbor:"10,keyasint,omitempty"` // page requests by Outcome
	Versions   int64           `cbor:"11,keyasint,omitempty"`
	Noise      int64           `cbor:"12,keyasint,omitempty"` // versions that are noise
	BodyBytes  int64           `cbor:"13,keyasint,omitempty"`
	WireBytes  int64           `cbor:"14,keyasint,omitempty"`
	Truncated  int64           `cbor:"15,keyasint,omitempty"`
	Collisions int64           `cbor:"16,keyasint,omitempty"` // pages whose key is not their fingerprint
	Refused    []Reason        `cbor:"17,keyasint,omitempty"` // links to sites without a row, sorted by reason
	Paused     int64           `cbor:"18,keyasint,omitempty"` // since when an operator has paused it; 0: not paused
	Pruned     int64           `cbor:"19,keyasint,omitempty"` // versions that are no longer kept
	Horizon    uint64          `cbor:"20,keyasint,omitempty"` // number of the last change entry forgotten
	Forgotten  int64           `cbor:"21,keyasint,omitempty"` // change entries forgotten
	Scoped     Scoped          `cbor:"22,keyasint,omitzero"`  // zero in a sum of partitions
	Owner      Owner           `cbor:"23,keyasint,omitzero"`  // zero in a sum of partitions
	// in a cluster: how far its log has been applied; zero in a sum
	Place log.Place `cbor:"24,keyasint,omitzero"`
}

// outcomes is the number of outcomes.
const outcomes = 10

// String returns the state's name for people.
func (s State) String() string {
	names := [states]string{"pending", "live", "redirect", "moved", "missing", "gone", "error", "unreached", "denied", "withdrawn", "purged"}
	if int(s) < states {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// String returns "none", "new" or "due".
func (q Queue) String() string {
	switch q {
	case NewQueue:
		return "new"
	case DueQueue:
		return "due"
	}
	return "none"
}

// String returns the kind's name in the feed: "new", "changed", "moved", …
func (k ChangeKind) String() string {
	names := [...]string{"none", "new", "changed", "moved", "gone", "withdrawn", "purged"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("change(%d)", uint8(k))
}
