package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"freshet/store/warc"
	"freshet/weburl"
)

// A Record is one change of a partition's state: one of *Discovered, *Fetched, *Robots, *Gated,
// *Planned, *Refused, *Withdrawn, *Purged, *Mark, *Paused, *SitePurged, *Scrubbed, *Relocated, *Pruned,
// *Forgotten, *Ranked, *Struck, *Obeyed, *Arrived, *Parted, *Taken and *Paced. All state of a partition is the result
// of applying its records, in order, to an empty state.
//
// Times in records are unix nanoseconds of the wall clock, 0 for none.
type Record interface {
	kind() recordKind
	home(*homes) weburl.Partition // the partition whose state it changes
	settle(weburl.Partition)      // sets Partition of a decoded record that has one
	check() error                 // what apply could not cope with
}

// recordKind is the first byte of an encoded record. The numbers are part of the format.
type recordKind byte

const (
	kindDiscovered recordKind = 1
	kindFetched    recordKind = 2
	kindRobots     recordKind = 3
	kindGated      recordKind = 4
	kindPlanned    recordKind = 5
	kindRefused    recordKind = 6
	kindWithdrawn  recordKind = 7
	kindPurged     recordKind = 8
	kindMark       recordKind = 9
	kindPaused     recordKind = 10
	kindSitePurged recordKind = 11
	kindScrubbed   recordKind = 12
	kindRelocated  recordKind = 13
	kindPruned     recordKind = 14
	kindForgotten  recordKind = 15
	kindRanked     recordKind = 16
	kindStruck     recordKind = 17
	kindObeyed     recordKind = 18
	kindArrived    recordKind = 19
	kindParted     recordKind = 20
	kindTaken      recordKind = 21
	kindPaced      recordKind = 22
)

// maxNew bounds the pages and the repeats of one Discovered record: a queue's arrival number has 16
// bits for the place in its record.
const maxNew = 1 << 16

// Discovered holds the pages of one partition that the seen test found new, what it learned about known ones, and
// the refused links. It is idempotent: a new page that already has a row only lowers that row's depth. If the page
// becomes a seed, its cash is added.
type Discovered struct {
	Partition weburl.Partition `cbor:"-"`
	At        int64            `cbor:"1,keyasint,omitempty"`
	New       []NewPage        `cbor:"2,keyasint,omitempty"` // at most 65,536, in order of discovery
	Repeats   []Repeat         `cbor:"3,keyasint,omitempty"` // at most 65,536
	Refused   []Refusal        `cbor:"4,keyasint,omitempty"`
	// the Order of a known page follows from all the cash it then has: weburl.CashOrder
	ByCash bool `cbor:"5,keyasint,omitempty"`
	// zero: unchanged; key 6 is of older records and is ignored
	Scoped Scoped `cbor:"7,keyasint,omitzero"`
}

// Scoped is the scope under which the links of a partition's stored pages were offered.
type Scoped struct {
	Scope   uint64             `cbor:"1,keyasint,omitempty"` // a digest; 0: not known
	Through weburl.Fingerprint `cbor:"2,keyasint,omitempty"` // of the pages up to this key, unless Done
	Done    bool               `cbor:"3,keyasint,omitempty"` // of all pages
}

// IsZero reports whether s says nothing.
func (s Scoped) IsZero() bool { return s == Scoped{} }

// NewPage is a page discovered for the first time. It enters its site's new queue at Order.
type NewPage struct {
	URL     weburl.URL         `cbor:"1,keyasint,omitzero"`
	Depth   uint16             `cbor:"2,keyasint,omitempty"`
	Hops    uint8              `cbor:"3,keyasint,omitempty"` // redirects in a row that led here
	Rel     weburl.Rel         `cbor:"4,keyasint,omitempty"`
	Via     weburl.Fingerprint `cbor:"5,keyasint,omitempty"` // the page with the link, 0 for a seed
	Cash    float64            `cbor:"6,keyasint,omitempty"`
	Order   uint64             `cbor:"7,keyasint,omitempty"`
	Seed    bool               `cbor:"8,keyasint,omitempty"`
	LastMod int64              `cbor:"9,keyasint,omitempty"` // a sitemap's lastmod
}

// Repeat is what further links add to a known page. Cash is added to its own; lower depths and hops replace its
// own. A page in its site's new queue moves to Order if that is smaller.
type Repeat struct {
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"`
	Depth       uint16             `cbor:"2,keyasint,omitempty"`
	Hops        uint8              `cbor:"3,keyasint,omitempty"`
	Cash        float64            `cbor:"4,keyasint,omitempty"`
	Order       uint64             `cbor:"5,keyasint,omitempty"`
}

// Refusal counts links to a site that the scope or a guard refused. They are counted in the site's row. If the site
// has none, they are counted in the partition's counters, so links to foreign sites take no space.
type Refusal struct {
	Site   weburl.Site `cbor:"1,keyasint,omitempty"`
	Reason string      `cbor:"2,keyasint,omitempty"`
	Count  int64       `cbor:"3,keyasint,omitempty"`
}

// Fetched is one visit to a page: the request, the answer, and what was learned from it. It takes the page out of
// its queue; RetryAt puts it into the due queue again.
type Fetched struct {
	URL     weburl.URL `cbor:"1,keyasint,omitzero"`
	At      int64      `cbor:"2,keyasint,omitempty"` // start of the request
	End     int64      `cbor:"3,keyasint,omitempty"` // end of the answer
	Outcome Outcome    `cbor:"4,keyasint,omitempty"`
	Reason  string     `cbor:"5,keyasint,omitempty"` // a failure's short name and text, for people
	Status  int        `cbor:"6,keyasint,omitempty"` // HTTP status, 0 without an answer

	ContentType string `cbor:"7,keyasint,omitempty"`
	Truncated   string `cbor:"8,keyasint,omitempty"`  // as in WARC-Truncated: "", length, time, disconnect
	Limit       int64  `cbor:"42,keyasint,omitempty"` // if it was cut for its length: bytes of a body that were read
	Size        int64  `cbor:"9,keyasint,omitempty"`  // bytes of the body, transfer-decoded
	WireBytes   int64  `cbor:"10,keyasint,omitempty"` // bytes of the answer on the wire
	DNSNs       int64  `cbor:"11,keyasint,omitempty"` // durations in nanoseconds
	ConnectNs   int64  `cbor:"12,keyasint,omitempty"`
	TLSNs       int64  `cbor:"13,keyasint,omitempty"`
	FirstByteNs int64  `cbor:"14,keyasint,omitempty"`
	TotalNs     int64  `cbor:"15,keyasint,omitempty"`
	Address     string `cbor:"16,keyasint,omitempty"` // host:port connected to

	BodyDigest BodyDigest `cbor:"17,keyasint,omitzero"` // zero without a body
	TextDigest TextDigest `cbor:"18,keyasint,omitzero"` // zero: the body digest decides about changes
	// of the rules of the text digest; digests by different rules are not comparable
	TextVersion  uint8      `cbor:"35,keyasint,omitempty"`
	ETag         string     `cbor:"19,keyasint,omitempty"`
	LastModified string     `cbor:"20,keyasint,omitempty"`
	NoIndex      bool       `cbor:"21,keyasint,omitempty"`
	NoArchive    bool       `cbor:"22,keyasint,omitempty"` // the capture, if any, holds no body to serve
	NoFollow     bool       `cbor:"23,keyasint,omitempty"`
	SoftError    bool       `cbor:"24,keyasint,omitempty"` // a 200 that is an error page
	Redirect     weburl.URL `cbor:"25,keyasint,omitzero"`  // target of a redirect
	Permanent    bool       `cbor:"26,keyasint,omitempty"` // of a redirect: 301 or 308
	Canonical    weburl.URL `cbor:"27,keyasint,omitzero"`  // the canonical URL that the page names
	// Signals about the use of the page, in the form of package consent: of robots.txt and tdmrep.json at the time of
	// the request, and of the answer.
	SiteSignals string `cbor:"40,keyasint,omitempty"`
	PageSignals string `cbor:"41,keyasint,omitempty"`

	Capture Pointer `cbor:"28,keyasint,omitzero"`  // set by CommitPages
	Revisit bool    `cbor:"29,keyasint,omitempty"` // the capture is a revisit record
	// Links are the page's out-links, from EncodeLinks. The record and the stored out-links share the encoding.
	// Only the links of a complete page replace the stored ones.
	Links   cbor.RawMessage `cbor:"30,keyasint,omitempty"`
	RetryAt int64           `cbor:"31,keyasint,omitempty"` // 0: the page leaves the queues
	Gate    *Gate           `cbor:"32,keyasint,omitempty"` // the host's politeness after this fetch; nil: as it was
	Charset string          `cbor:"33,keyasint,omitempty"`
	// Reread means that the header says to read the page's bytes in another way than before, such as in another
	// character set. Equal bytes then count as different. After a 304 the next visit asks for the whole page.
	Reread bool `cbor:"43,keyasint,omitempty"`
	// the source that claimed a change of the page, as refresh.Source; 0: none
	Claimed uint8 `cbor:"36,keyasint,omitempty"`
	// Unconditional means that the request did not carry the validators of the page's copy, though it has some: to
	// check whether they can be trusted, or because they cannot.
	Unconditional bool `cbor:"37,keyasint,omitempty"`
	// Collected is cash that was held back from the page and is now added to its own. Paid is the part of its cash
	// that the page passes on to these links; CommitPages sets it.
	Collected float64 `cbor:"38,keyasint,omitempty"`
	Paid      float64 `cbor:"39,keyasint,omitempty"`
}

// OutLink is one link of a page.
type OutLink struct {
	_        struct{} `cbor:",toarray"`
	URL      weburl.URL
	Rel      weburl.Rel
	NoFollow bool
	LastMod  int64 // of a sitemap's entry
}

// NewOutLink returns a link. lastMod is zero if it is unknown.
func NewOutLink(u weburl.URL, rel weburl.Rel, noFollow bool, lastMod time.Time) OutLink {
	link := OutLink{URL: u, Rel: rel, NoFollow: noFollow}
	if !lastMod.IsZero() {
		link.LastMod = lastMod.UnixNano()
	}
	return link
}

// Robots is a fetch of a site's robots.txt, or of its tdmrep.json.
type Robots struct {
	Site    weburl.Site `cbor:"1,keyasint,omitempty"`
	At      int64       `cbor:"2,keyasint,omitempty"`
	End     int64       `cbor:"3,keyasint,omitempty"`
	Outcome Outcome     `cbor:"4,keyasint,omitempty"`
	Reason  string      `cbor:"5,keyasint,omitempty"`
	Status  int         `cbor:"6,keyasint,omitempty"`
	Body    []byte      `cbor:"7,keyasint,omitempty"` // at most 512 KiB
	Keep    bool        `cbor:"8,keyasint,omitempty"` // Body replaces the stored rules
	Expires int64       `cbor:"9,keyasint,omitempty"`
	Capture Pointer     `cbor:"10,keyasint,omitzero"` // set by CommitPages
	Gate    *Gate       `cbor:"11,keyasint,omitempty"`
	Address string      `cbor:"12,keyasint,omitempty"`
	Rules   uint64      `cbor:"13,keyasint,omitempty"` // with Keep: a digest of what it allows, 0: not known
	TDMRep  bool        `cbor:"14,keyasint,omitempty"` // of the tdmrep.json; Keep is false
	// Reserves is what an older program wrote in place of KeepTDMRep and Body: the body and a line feed.
	Reserves   []byte `cbor:"15,keyasint,omitempty"`
	KeepTDMRep bool   `cbor:"16,keyasint,omitempty"` // Body replaces the stored tdmrep.json; empty: the site has none
	// Aside: the request was for a site of another owner, whose robots.txt redirects to Site. That owner has a record
	// of the answer, too. This one sets only the gate, and has the capture.
	Aside bool `cbor:"17,keyasint,omitempty"`
}

// Obeyed records that all pages of a site were checked against the rules with that digest: see Robots.
type Obeyed struct {
	Site  weburl.Site `cbor:"1,keyasint,omitempty"`
	Rules uint64      `cbor:"2,keyasint,omitempty"`
}

// maxRobots is the longest robots.txt or tdmrep.json kept.
const maxRobots = 512 << 10

// Gate is the state of a host's politeness, for a restart.
type Gate struct {
	End        int64 `cbor:"1,keyasint,omitempty"` // end of the last answer
	Next       int64 `cbor:"2,keyasint,omitempty"` // earliest start of the next request
	IntervalNs int64 `cbor:"3,keyasint,omitempty"`
	Failures   int   `cbor:"4,keyasint,omitempty"` // in a row
	Blocked    int64 `cbor:"5,keyasint,omitempty"` // blocked until
}

// Gated sets a host's gate without a fetch.
type Gated struct {
	Partition weburl.Partition `cbor:"-"`
	Host      string           `cbor:"1,keyasint,omitempty"`
	Gate      Gate             `cbor:"2,keyasint,omitempty"`
}

// Planned puts a known page into its site's due queue, or moves it there.
type Planned struct {
	Partition   weburl.Partition   `cbor:"-"`
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"`
	Due         int64              `cbor:"2,keyasint,omitempty"`
	Lift        bool               `cbor:"3,keyasint,omitempty"` // its strikes are reset
}

// Struck records how many unclean stops in a row came while a page was being processed. They are reset when the page is
// processed to its end.
type Struck struct {
	Partition   weburl.Partition   `cbor:"-"`
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"`
	Strikes     uint8              `cbor:"2,keyasint,omitempty"`
}

// Refused takes a page out of its queue permanently, because robots.txt or the scope forbids it.
type Refused struct {
	URL    weburl.URL `cbor:"1,keyasint,omitzero"`
	At     int64      `cbor:"2,keyasint,omitempty"`
	Reason string     `cbor:"3,keyasint,omitempty"`
}

// Withdrawn records that a page's body may no longer be served.
type Withdrawn struct {
	Partition   weburl.Partition   `cbor:"-"`
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"`
	At          int64              `cbor:"2,keyasint,omitempty"`
	Reason      string             `cbor:"3,keyasint,omitempty"`
}

// Purged takes a page down permanently: versions and out-links are deleted, and the row stays as a tombstone. If
// URL is set, an unknown page gets a tombstone too. See store/retain for the captures.
type Purged struct {
	Partition   weburl.Partition   `cbor:"-"`
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"` // of the row; ignored if there is a URL
	At          int64              `cbor:"2,keyasint,omitempty"`
	URL         weburl.URL         `cbor:"3,keyasint,omitzero"`
}

// SitePurged deletes a site's robots.txt and admits no new page of the site. Its pages are taken down by a Purged
// each.
type SitePurged struct {
	Site weburl.Site `cbor:"1,keyasint,omitempty"`
	At   int64       `cbor:"2,keyasint,omitempty"`
}

// Scrubbed deletes from the kept records of a partition what came from purged pages and sites. Of their fetches
// only what the totals count is left.
type Scrubbed struct {
	Partition weburl.Partition `cbor:"-"`
}

// Relocated records that captures were copied out of a WARC file that will be deleted.
type Relocated struct {
	Partition weburl.Partition `cbor:"-"`
	File      string           `cbor:"1,keyasint,omitempty"` // where they were
	Captures  []Relocation     `cbor:"2,keyasint,omitempty"` // at most 4,096
}

// Relocation is a new pointer for one row. It does nothing if the row is gone or does not point to Offset of the
// file.
type Relocation struct {
	_           struct{}           `cbor:",toarray"`
	Site        weburl.Site        // a site's robots.txt; or else …
	Fingerprint weburl.Fingerprint // … a page's
	Version     uint32             // … version, if not 0, or …
	Visit       uint32             // … visit
	Offset      int64              // where it was in the file
	File        string             // where it is now
	NewOffset   int64              // … there
}

// Pruned deletes a page's past: its versions up to a number, except for the last one, and the captures of its
// visits up to a number. It also deletes the captures of visits that saw a deleted version. The visits themselves
// stay.
type Pruned struct {
	Partition   weburl.Partition   `cbor:"-"`
	Fingerprint weburl.Fingerprint `cbor:"1,keyasint,omitempty"`
	Versions    uint32             `cbor:"2,keyasint,omitempty"`
	Visits      uint32             `cbor:"3,keyasint,omitempty"`
}

// Forgotten deletes entries of the change log that record the end of a page. A reader that starts before the last of
// them, Counters.Horizon, must compare with the page table instead.
type Forgotten struct {
	Partition weburl.Partition `cbor:"-"`
	Changes   []uint64         `cbor:"1,keyasint,omitempty"` // numbers of the entries, at most 4,096
}

// Ranked gives pages new places in their sites' new queues. It does nothing for a page that is not in one.
type Ranked struct {
	Partition weburl.Partition `cbor:"-"`
	Pages     []Rank           `cbor:"1,keyasint,omitempty"` // at most 4,096
}

// Rank is the place of one page: the Order of its key, and its new importance.
type Rank struct {
	_           struct{} `cbor:",toarray"`
	Fingerprint weburl.Fingerprint
	Order       uint64
	Cash        float64
}

// MaxListed bounds the list of a Relocated, Forgotten or Ranked record.
const MaxListed = 4096

// SeenConsumer is the consumer whose mark is the last record that the set of seen URLs has kept. The set's own mark may
// be later, never earlier. If it is earlier, the set is rebuilt from the page table.
const SeenConsumer = "seen"

// Mark records that a consumer has read a partition's records up to and including Record. Records that every consumer
// has passed are trimmed. A mark never goes back.
type Mark struct {
	Partition weburl.Partition `cbor:"-"`
	Consumer  string           `cbor:"1,keyasint,omitempty"`
	Record    uint64           `cbor:"2,keyasint,omitempty"`
}

// Paused stops or resumes the requests to a site that has a row. With an empty Site it applies to all sites of the
// partition.
type Paused struct {
	Partition weburl.Partition `cbor:"-"`
	Site      weburl.Site      `cbor:"1,keyasint,omitempty"`
	Since     int64            `cbor:"2,keyasint,omitempty"` // 0: requests resume
}

// Paced sets how fast an operator allows requests to a site that has a row.
type Paced struct {
	Partition weburl.Partition `cbor:"-"`
	Site      weburl.Site      `cbor:"1,keyasint,omitempty"`
	Pace      Pace             `cbor:"2,keyasint,omitzero"`
}

// Pace is how fast an operator allows requests to a site, beyond what the settings allow. A zero field changes nothing.
type Pace struct {
	Delay  int64 `cbor:"1,keyasint,omitempty" json:"delay_ns,omitempty"` // between two requests, at least; nanoseconds
	Budget int64 `cbor:"2,keyasint,omitempty" json:"budget,omitempty"`   // fetches a day, at most
}

// BodyDigest is the SHA-1 of a transfer-decoded body, as in WARC-Payload-Digest.
type BodyDigest = warc.Digest

// TextDigest is the 128-bit digest of a page's normalised visible text.
type TextDigest [16]byte

// Pointer names one record of a WARC file: the compressed member at Offset, Length bytes long. The
// zero value names none.
type Pointer struct {
	File   string  `cbor:"1,keyasint,omitempty"` // file name in DIR/warc, without ".open"
	Offset int64   `cbor:"2,keyasint,omitempty"`
	Length int64   `cbor:"3,keyasint,omitempty"`
	ID     warc.ID `cbor:"4,keyasint,omitzero"` // the record's, for WARC-Refers-To
}

// IsZero reports whether p names nothing.
func (p Pointer) IsZero() bool { return p == Pointer{} }

// Outcome is the class of a fetch's result. It decides the page's state. The numbers are part of the format.
type Outcome uint8

// The outcomes.
const (
	OutcomeNone        Outcome = 0 // never fetched
	OutcomeStored      Outcome = 1 // a complete 2xx
	OutcomeNotModified Outcome = 2 // 304
	OutcomeRedirected  Outcome = 3 // 3xx with a target
	OutcomeMissing     Outcome = 4 // 404, 410
	OutcomeClientError Outcome = 5 // other 4xx, 3xx without a target
	OutcomeServerError Outcome = 6 // 5xx, 429
	OutcomeFailed      Outcome = 7 // no answer: DNS, connect, TLS, time-out, broken HTTP
	OutcomeDenied      Outcome = 8 // not requested: robots.txt or the address guard refused
	OutcomeCrash       Outcome = 9 // answered, and the crawler failed on the answer
)

// OutcomeOf returns the class of an HTTP status; OutcomeFailed for anything below 200. The caller must make a
// redirect without a target an OutcomeClientError.
func OutcomeOf(status int) Outcome {
	switch {
	case status < 200:
		return OutcomeFailed
	case status < 300:
		return OutcomeStored
	case status == 304:
		return OutcomeNotModified
	case status < 400:
		return OutcomeRedirected
	case status == 404 || status == 410:
		return OutcomeMissing
	case status == 429 || status >= 500:
		return OutcomeServerError
	}
	return OutcomeClientError
}

// String returns the outcome's name for people: "stored", "not-modified", …
func (o Outcome) String() string {
	names := [...]string{"none", "stored", "not-modified", "redirected", "missing", "client-error", "server-error", "failed", "denied", "crash"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

func (*Discovered) kind() recordKind { return kindDiscovered }
func (*Fetched) kind() recordKind    { return kindFetched }
func (*Robots) kind() recordKind     { return kindRobots }
func (*Gated) kind() recordKind      { return kindGated }
func (*Planned) kind() recordKind    { return kindPlanned }
func (*Refused) kind() recordKind    { return kindRefused }
func (*Withdrawn) kind() recordKind  { return kindWithdrawn }
func (*Purged) kind() recordKind     { return kindPurged }
func (*Mark) kind() recordKind       { return kindMark }
func (*Paused) kind() recordKind     { return kindPaused }
func (*Paced) kind() recordKind      { return kindPaced }
func (*SitePurged) kind() recordKind { return kindSitePurged }
func (*Scrubbed) kind() recordKind   { return kindScrubbed }
func (*Relocated) kind() recordKind  { return kindRelocated }
func (*Pruned) kind() recordKind     { return kindPruned }
func (*Forgotten) kind() recordKind  { return kindForgotten }
func (*Ranked) kind() recordKind     { return kindRanked }
func (*Struck) kind() recordKind     { return kindStruck }
func (*Obeyed) kind() recordKind     { return kindObeyed }

func (r *Discovered) home(*homes) weburl.Partition   { return r.Partition }
func (r *Fetched) home(h *homes) weburl.Partition    { return h.of(r.URL.Site()) }
func (r *Robots) home(h *homes) weburl.Partition     { return h.of(r.Site) }
func (r *Gated) home(*homes) weburl.Partition        { return r.Partition }
func (r *Planned) home(*homes) weburl.Partition      { return r.Partition }
func (r *Refused) home(h *homes) weburl.Partition    { return h.of(r.URL.Site()) }
func (r *Withdrawn) home(*homes) weburl.Partition    { return r.Partition }
func (r *Purged) home(*homes) weburl.Partition       { return r.Partition }
func (r *Mark) home(*homes) weburl.Partition         { return r.Partition }
func (r *Paused) home(*homes) weburl.Partition       { return r.Partition }
func (r *Paced) home(*homes) weburl.Partition        { return r.Partition }
func (r *SitePurged) home(h *homes) weburl.Partition { return h.of(r.Site) }
func (r *Scrubbed) home(*homes) weburl.Partition     { return r.Partition }
func (r *Relocated) home(*homes) weburl.Partition    { return r.Partition }
func (r *Pruned) home(*homes) weburl.Partition       { return r.Partition }
func (r *Forgotten) home(*homes) weburl.Partition    { return r.Partition }
func (r *Ranked) home(*homes) weburl.Partition       { return r.Partition }
func (r *Struck) home(*homes) weburl.Partition       { return r.Partition }
func (r *Obeyed) home(h *homes) weburl.Partition     { return h.of(r.Site) }

func (r *Discovered) settle(p weburl.Partition) { r.Partition = p }
func (r *Fetched) settle(weburl.Partition)      {}
func (r *Robots) settle(weburl.Partition)       {}
func (r *Gated) settle(p weburl.Partition)      { r.Partition = p }
func (r *Planned) settle(p weburl.Partition)    { r.Partition = p }
func (r *Refused) settle(weburl.Partition)      {}
func (r *Withdrawn) settle(p weburl.Partition)  { r.Partition = p }
func (r *Purged) settle(p weburl.Partition)     { r.Partition = p }
func (r *Mark) settle(p weburl.Partition)       { r.Partition = p }
func (r *Paused) settle(p weburl.Partition)     { r.Partition = p }
func (r *Paced) settle(p weburl.Partition)      { r.Partition = p }
func (r *SitePurged) settle(weburl.Partition)   {}
func (r *Scrubbed) settle(p weburl.Partition)   { r.Partition = p }
func (r *Relocated) settle(p weburl.Partition)  { r.Partition = p }
func (r *Pruned) settle(p weburl.Partition)     { r.Partition = p }
func (r *Forgotten) settle(p weburl.Partition)  { r.Partition = p }
func (r *Ranked) settle(p weburl.Partition)     { r.Partition = p }
func (r *Struck) settle(p weburl.Partition)     { r.Partition = p }
func (r *Obeyed) settle(weburl.Partition)       {}

func (r *Discovered) check() error {
	if len(r.New) > maxNew || len(r.Repeats) > maxNew {
		return fmt.Errorf("store: discovered: %d new pages, %d repeats: want at most %d of each", len(r.New), len(r.Repeats), maxNew)
	}
	for i := range r.New {
		if r.New[i].URL.IsZero() {
			return fmt.Errorf("store: discovered: new page %d has no URL", i)
		}
	}
	return nil
}

func (r *Fetched) check() error {
	switch {
	case r.URL.IsZero():
		return errors.New("store: fetched: no URL")
	case r.Outcome == OutcomeNone || r.Outcome >= outcomes:
		return fmt.Errorf("store: fetched %s: %v: want a known outcome", r.URL, r.Outcome)
	case len(r.Links) > 0 && cbor.Wellformed(r.Links) != nil:
		return fmt.Errorf("store: fetched %s: links: %w", r.URL, cbor.Wellformed(r.Links))
	}
	return nil
}

func (r *Robots) check() error {
	switch {
	case r.Site.Host() == "":
		return fmt.Errorf("store: robots: site %q: want scheme and host", r.Site)
	case max(len(r.Body), len(r.Reserves)) > maxRobots:
		return fmt.Errorf("store: robots %s: %d bytes: want at most %d", r.Site, max(len(r.Body), len(r.Reserves)), maxRobots)
	case r.Keep && r.TDMRep, r.KeepTDMRep && !r.TDMRep:
		return fmt.Errorf("store: robots %s: both of robots.txt and of tdmrep.json", r.Site)
	}
	return nil
}

func (r *Gated) check() error {
	if r.Host == "" {
		return errors.New("store: gated: no host")
	}
	return nil
}

func (r *Refused) check() error {
	if r.URL.IsZero() {
		return errors.New("store: refused: no URL")
	}
	return nil
}

func (r *Mark) check() error {
	if !validName(r.Consumer) {
		return fmt.Errorf("store: mark: consumer %q: want 1 to 64 of a-z, 0-9, '.', '_', '-'", r.Consumer)
	}
	return nil
}

func (r *Obeyed) check() error {
	if r.Site.Host() == "" {
		return fmt.Errorf("store: obeyed: site %q: want scheme and host", r.Site)
	}
	return nil
}

func (r *SitePurged) check() error {
	if r.Site.Host() == "" {
		return fmt.Errorf("store: site purged: site %q: want scheme and host", r.Site)
	}
	return nil
}

func (r *Relocated) check() error { return checkListed("relocated", len(r.Captures)) }
func (r *Forgotten) check() error { return checkListed("forgotten", len(r.Changes)) }
func (r *Ranked) check() error    { return checkListed("ranked", len(r.Pages)) }

func checkListed(what string, n int) error {
	if n > MaxListed {
		return fmt.Errorf("store: %s: a list of %d: want at most %d", what, n, MaxListed)
	}
	return nil
}

func (r *Scrubbed) check() error  { return nil }
func (r *Pruned) check() error    { return nil }
func (r *Planned) check() error   { return nil }
func (r *Struck) check() error    { return nil }
func (r *Withdrawn) check() error { return nil }
func (r *Purged) check() error    { return nil }

func (*Paused) check() error { return nil }
func (*Paced) check() error  { return nil }
