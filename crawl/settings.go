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

// Settings are the settings that a shard's decisions depend on.
type Settings struct {
	Seeds []weburl.URL
	Scope string // page, site, domain, any
	Rules Rules
	// Requisites are the requisites that belong to the crawl.
	Requisites frontier.Requisites
	Wait       bool // for more work when nothing is left to discover, instead of ending

	Ordering       frontier.Ordering
	Delay          time.Duration // w: from the end of an answer to the next request to its host
	AdaptiveDelay  float64       // at least this multiple of the last answer's time; 0: off
	AddressDelay   time.Duration // as Delay, for an address; 0: off
	PerConnection  int           // k: requests on one connection back to back
	DiscoveryShare float64       // share of the requests reserved for new pages

	MaxPages     int64         // stored pages at which the crawl ends, without requisites; 0: no limit
	MaxDepth     int           // links from a seed; 0: no limit
	PagesPerSite int64         // known pages, with requisites; 0: no limit
	For          time.Duration // how long to crawl; 0: no limit

	MaxBody    int64         // bytes of a body that are read, as transferred and decoded
	Retries    int           // maximum attempts after a failed one
	RetryDelay time.Duration // before the first retry, doubled each time
	Agent      string        // the user agent whose robots.txt rules apply
	TDMRep     bool          // request a site's tdmrep.json after its robots.txt

	Refresh *Refresh // keep what is stored fresh; nil: each page is fetched once
	// OnLinks gets the links that are offered to the seen test, in order and with repetitions. After a crash it gets
	// those that were not decided again.
	OnLinks func(links []weburl.Link)

	Partitions int
	// Owned are the partitions that the shard owns at first. nil: it owns all of them forever.
	Owned []weburl.Partition
	// Name distinguishes the shard, and its seen test, from all others that may own a partition of the crawl.
	Name string

	RobotsBytes int64 // maximum memory for robots rules
	OfferBytes  int64 // maximum size of links offered to the seen test at once
	GroupBytes  int   // maximum size of a group of records with their captures
	SentEntries int   // cached links to other owners' partitions, which are not sent again; 0: none
	Recalled    int   // pages whose cash the seen test gets at the start
	// Second is a second of machine time in the crawl's time. It scales the intervals that exist to share the
	// processor.
	Second time.Duration
}

// Rules are an operator's rules for URLs and for sites.
type Rules struct {
	URLs frontier.Rules
	// Sites are applied in order. If several match a site and set the same field, the last one counts.
	Sites []SiteRule
}

// SiteRule is an operator's rule for the sites that a pattern matches. A zero field sets nothing.
type SiteRule struct {
	Match   frontier.Pattern // for which NamesSites is true
	Manners frontier.Manners
	Pages   int64 // replaces Settings.PagesPerSite
	Depth   int   // replaces Settings.MaxDepth
	// Fetch are the content types whose bodies are read. Store are those kept in WARC files; for others only the
	// history and the digests are kept. Refresh are those that are fetched again.
	Fetch, Store, Refresh ContentTypes
}

// ContentTypes are media types such as "text/html", "image/*" or "*/*". An empty list has every type.
type ContentTypes []string

// Has reports whether the list has the type of a Content-Type field. It has an empty field.
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

// Rows are the stored rows that a shard reads; *store.Store implements them. If there is no row, the error is
// store.ErrNotFound.
type Rows interface {
	Home(weburl.Site) weburl.Partition
	Page(weburl.Partition, weburl.Fingerprint) (store.Page, error)
	PageOf(weburl.URL) (store.Page, weburl.Fingerprint, error)
	// PagesFrom iterates over the pages of a partition in the order of fingerprints, starting with the given one.
	PagesFrom(weburl.Partition, weburl.Fingerprint) iter.Seq2[store.PageAt, error]
	// VisitsFrom is PagesFrom with the visits of each page.
	VisitsFrom(weburl.Partition, weburl.Fingerprint) iter.Seq2[store.PageVisits, error]
	OutLinks(weburl.Partition, weburl.Fingerprint) ([]store.OutLink, error)
	Site(weburl.Site) (store.SiteRow, error)
	// Sites iterates over a partition's sites. In a partition that it does not own, the shard looks only for seeds and
	// can do without the sites that it does not see.
	Sites(weburl.Partition) iter.Seq2[store.SiteRow, error]
	// SitesOf iterates over the sites of a site's host.
	SitesOf(weburl.Site) iter.Seq2[store.SiteRow, error]
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

// Links are the parts of the seen test that a shard calls directly, because they need no disk; *seen.Test implements
// them.
type Links interface {
	Offer(mark seen.Mark, links []weburl.Link, now time.Time) error
	Due(now time.Time, wait time.Duration) bool
	Collect(page weburl.Link) float64
	Recall(fp weburl.Fingerprint, cash float64)
	Marks() []seen.Mark
	Lost() bool
}
