package crawl

import (
	"iter"
	"strings"
	"time"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// Settings are what a shard decides by.
type Settings struct {
	Seeds []weburl.URL
	Scope string // page, site, domain, any
	Rules Rules
	// Requisites are those that belong to the crawl.
	Requisites frontier.Requisites
	Wait       bool // for more work when nothing is left to discover, instead of ending

	Ordering       frontier.Ordering
	Delay          time.Duration // w: from the end of an answer to the next request to its host
	AdaptiveDelay  float64       // at least this multiple of the last answer's time; 0: off
	AddressDelay   time.Duration // as Delay, for an address; 0: off
	PerConnection  int           // k: requests on one connection back to back
	DiscoveryShare float64       // share of the requests owed to new pages

	MaxPages     int64         // pages stored before the crawl ends, requisites apart; 0: no limit
	MaxDepth     int           // links from a seed; 0: no limit
	PagesPerSite int64         // known, requisites among them; 0: no limit
	For          time.Duration // how long to crawl; 0: no limit

	MaxBody    int64         // bytes of a body that are read, as they come and decoded
	Retries    int           // attempts after a failed one
	RetryDelay time.Duration // before the first of them, doubled each time
	Agent      string        // the name robots.txt is read for
	TDMRep     bool          // after its robots.txt a site's tdmrep.json is asked for

	Refresh *Refresh // keep what is stored fresh; nil: each page is fetched once
	// OnLinks hears of the links that are offered to the seen test, in order and repeats included; after a crash,
	// of those that were not decided again.
	OnLinks func(links []weburl.Link)

	Partitions int
	// Owned are the partitions that the shard owns at first; nil: all there are, for ever.
	Owned []weburl.Partition
	// Name tells the shard, and its seen test, from all others that may own a partition of the crawl.
	Name string

	RobotsBytes int64 // of rules that are kept in memory
	OfferBytes  int64 // of links that are offered to the seen test at once
	GroupBytes  int   // of a group of records with their captures
	SentEntries int   // links to other owners' partitions that are remembered, not to be sent again; 0: none
	Recalled    int   // pages whose cash is recalled to the seen test at the start
	// Second is a second of the machine's in the crawl's time: what is done so often, to share the processor, goes
	// by it.
	Second time.Duration
}

// Rules are what an operator says of URLs and of sites.
type Rules struct {
	URLs frontier.Rules
	// Sites are read in order: where two that match a site say something of the same thing, the later one counts.
	Sites []SiteRule
}

// SiteRule is what an operator says of the sites that a pattern matches. A zero field says nothing.
type SiteRule struct {
	Match   frontier.Pattern // one that NamesSites
	Manners frontier.Manners
	Pages   int64 // in place of Settings.PagesPerSite
	Depth   int   // in place of Settings.MaxDepth
	// Fetch are the types of content whose bodies are read at all, Store those that are kept in WARC files (of
	// others the history and the digests are), Refresh those that are fetched again.
	Fetch, Store, Refresh ContentTypes
}

// ContentTypes are media types such as "text/html", "image/*" or "*/*". Without any, every one is among them.
type ContentTypes []string

// Has reports whether the value of a Content-Type field is among them. An answer without one is.
func (c ContentTypes) Has(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if len(c) == 0 || kind == "" {
		return true
	}
	for _, one := range c {
		family, all := strings.CutSuffix(one, "*")
		if one == "*/*" || one == kind || all && strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// Rows are what a shard reads of what is stored; *store.Store has them. Without a row the error is store.ErrNotFound.
type Rows interface {
	Home(weburl.Site) weburl.Partition
	Page(weburl.Partition, weburl.Fingerprint) (store.Page, error)
	PageOf(weburl.URL) (store.Page, weburl.Fingerprint, error)
	// PagesFrom iterates over the pages of a partition from a fingerprint on, in their order.
	PagesFrom(weburl.Partition, weburl.Fingerprint) iter.Seq2[store.PageAt, error]
	// VisitsFrom is PagesFrom with the visits of each page.
	VisitsFrom(weburl.Partition, weburl.Fingerprint) iter.Seq2[store.PageVisits, error]
	OutLinks(weburl.Partition, weburl.Fingerprint) ([]store.OutLink, error)
	Site(weburl.Site) (store.SiteRow, error)
	// Sites iterates over a partition's sites. Of a partition that is not owned the shard looks for seeds alone, and
	// does without those that it cannot see.
	Sites(weburl.Partition) iter.Seq2[store.SiteRow, error]
	RobotsBody(weburl.Site) ([]byte, error)
	TDMRepBody(weburl.Site) ([]byte, error)
	Gate(weburl.Partition, string) (store.Gate, error)
	ReadQueue(dst []store.Entry, site weburl.Site, q store.Queue, after store.Key, n int) ([]store.Entry, error)
	Counters(weburl.Partition) (store.Counters, error)
	Marks(weburl.Partition) ([]store.Mark, error)
	Peers(weburl.Partition) ([]store.Peer, error)
	// Records calls fn with the records of a partition after a number, in order, until it returns an error.
	Records(p weburl.Partition, after uint64, fn func(n uint64, r store.Record) error) error
	Start() store.Start
}

// Links are the seen test as far as a shard uses it at once: what takes no disk. *seen.Test has them.
type Links interface {
	Offer(mark seen.Mark, links []weburl.Link, now time.Time) error
	Due(now time.Time, wait time.Duration) bool
	Collect(page weburl.Link) float64
	Recall(fp weburl.Fingerprint, cash float64)
	Marks() []seen.Mark
	Lost() bool
}
