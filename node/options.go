package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/fleet"
	"freshet/frontier"
	"freshet/store/retain"
	"freshet/store/segments"
	"freshet/store/warc"
	"freshet/weburl"
)

// Options are an operator's settings of a crawl. The zero value of a field is its default.
type Options struct {
	Dir        string // data directory; required
	Crawl      string // name of the crawl in it; default "main"
	Partitions int    // partitions of a new directory; default 16
	// Shards is how many shards share the partitions; default 1. Several shards do not support AddressDelay, OnLinks,
	// Refresh.Rank and orderings by ranks.
	Shards int

	// Cluster connects the node to the other nodes of its crawl: it crawls the partitions that it has taken. It
	// requires Wait and, for a new data directory, the cluster's Partitions. It does not allow Keep.
	Cluster Cluster
	// Partial means that the node need not have all partitions of the cluster. It then serves no change feed.
	Partial bool

	Seeds []weburl.URL
	Scope string // page, site, domain, any; default site
	Rules *Rules // of URLs and sites; nil: none
	// Requisites names the requisites that belong to the crawl, as frontier.ParseRequisites accepts it; default
	// same-site.
	Requisites string
	MainText   bool   // decides whether an HTML page has changed, instead of its visible text
	Wait       bool   // for more work when nothing is left to discover, instead of ending
	Order      string // as frontier.ParseOrdering accepts it; default DefaultOrder

	Delay         time.Duration // w: from the end of an answer to the next request to its host
	AdaptiveDelay float64       // at least this multiple of the last answer's time; 0: off
	AddressDelay  time.Duration // as Delay, for an address; 0: off
	PerConnection int           // k: requests on one connection back to back; default 1
	Connections   int           // r: the maximum number of fetches at once; default 256
	Fleet         fleet.Rule    // how many of them: switched by the queue of pages to process, or fixed
	// Gamma is γ: the cost of a second for which a worker starves, in waiting pages. 0: a hundred times the pages
	// processed per second.
	Gamma float64

	MaxPages     int64         // stored pages at which the crawl ends, without requisites; 0: no limit
	MaxDepth     int           // links from a seed; 0: no limit
	PagesPerSite int64         // default 25,000
	MaxBody      int64         // maximum bytes of a body; default 16 MiB
	Memory       int64         // maximum memory of the crawl, in bytes; default 1 GiB
	For          time.Duration // how long to crawl; 0: no limit

	Retries    *int          // maximum attempts after a failed one; nil: 2
	RetryDelay time.Duration // before the first retry, doubled each time; default 30 s

	Resolve      map[string]netip.AddrPort // connections to a host, at any port, go to this address
	AllowPrivate bool                      // allow requests to loopback, private and link-local addresses
	UserAgent    string                    // default "freshet/VERSION (+CONTACT)"
	Agent        string                    // the user agent whose robots.txt rules apply; default "freshet"
	TDMRep       bool                      // request a site's tdmrep.json after its robots.txt

	Clock    *clock.Clock // default clock.Real()
	FS       vfs.FS       // default: the machine's
	Logger   *slog.Logger // default: discards
	WARCSize int64        // bytes of a WARC file before the next is started; default 1 GiB
	// WARCLevel is the gzip level of WARC records, 1 to 9. 0: not compressed, but in gzip format; nil: 1.
	WARCLevel *int
	OnRecord  func(p weburl.Partition, number uint64, record []byte)
	// OnLinks is called with the links that are offered to the seen test, in order and with repetitions, from one
	// goroutine at a time. After a crash it is called again with links that were not decided.
	OnLinks func(links []weburl.Link)

	TLSConfig *tls.Config // base of every handshake's configuration; nil for the system's roots
	// Fetch is the base of the fetcher's options: time-outs, header limits, resolver, dialer. The fields above
	// override it.
	Fetch fetch.Options

	Keep     retain.Keep        // how much of the past is kept; default: all
	Suffixes weburl.Suffixes    // public suffixes, for partitions by domain; default: the program's list
	Segments *segments.Segments // where closed WARC files are kept, if not in Dir
	MinFree  int64              // bytes of free disk space below which the crawl ends; 0: when the disk is full

	DiscoveryShare *float64 // share of the requests reserved for new pages; nil: 0.2
	// keep what is stored fresh, until a limit or a signal; nil: each page is fetched once
	Refresh *crawl.Refresh
	// Weights returns the weights of pages for crawl.Refresh, at a time and for a number of live pages. It is
	// required with Refresh.Reweigh. It is called in the background, by several goroutines.
	Weights func(ctx context.Context, now time.Time, pages int64) (crawl.Reweighed, error)
	Version string // of the program, for warcinfo

	// OnPurge removes purged URLs, for which hit returns true, from files in the directory that are neither the
	// store's nor the node's. If it fails, the purge is not finished and is tried again. nil: there are no such
	// files.
	OnPurge func(ctx context.Context, hit func(url string) bool) error

	// BeforeProcess is called by a worker before it processes a page or robots.txt. Experiments use it to slow
	// processing down, tests to crash it.
	BeforeProcess func(weburl.URL)

	ordering   frontier.Ordering
	requisites frontier.Requisites
}

// DefaultOrder is the ordering with the best results in the lab with many fetchers; see docs/decisions.
const DefaultOrder = "cash-sum"

// withDefaults returns o with defaults in place of zero fields, or all faults of o, joined.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("crawl: "+format, args...)) }
	if o.Dir == "" {
		fault("no data directory")
	}
	setDefault(&o.Crawl, "main")
	setDefault(&o.Partitions, 16)
	setDefault(&o.Shards, 1)
	setDefault(&o.Scope, "site")
	setDefault(&o.Requisites, frontier.SameSiteRequisites.String())
	setDefault(&o.Order, DefaultOrder)
	setDefault(&o.PerConnection, 1)
	setDefault(&o.Connections, 256)
	setDefault(&o.PagesPerSite, 25_000)
	setDefault(&o.MaxBody, 16<<20)
	setDefault(&o.Memory, defaultMemory)
	setDefault(&o.Retries, new(2))
	setDefault(&o.RetryDelay, 30*time.Second)
	setDefault(&o.DiscoveryShare, new(frontier.DefaultShare))
	setDefault(&o.WARCLevel, new(warc.FastLevel))
	setDefault(&o.Version, "devel")
	setDefault(&o.Agent, "freshet")
	setDefault(&o.UserAgent, "freshet")
	setDefault(&o.Clock, clock.Real())
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	if o.FS == nil {
		o.FS = vfs.Default
	}
	for _, number := range []struct {
		name  string
		value float64
	}{
		{"delay", o.Delay.Seconds()}, {"adaptive-delay", o.AdaptiveDelay}, {"address-delay", o.AddressDelay.Seconds()},
		{"per-connection", float64(o.PerConnection)}, {"connections", float64(o.Connections)},
		{"max-pages", float64(o.MaxPages)}, {"max-depth", float64(o.MaxDepth)}, {"pages-per-site", float64(o.PagesPerSite)},
		{"max-body", float64(o.MaxBody)}, {"memory", float64(o.Memory)}, {"for", o.For.Seconds()},
		{"min-free", float64(o.MinFree)}, {"retries", float64(*o.Retries)}, {"retry-delay", o.RetryDelay.Seconds()}, {"gamma", o.Gamma},
	} {
		if !(number.value >= 0) {
			fault("%s %v is negative", number.name, number.value)
		}
	}
	if *o.WARCLevel < 0 || *o.WARCLevel > 9 {
		fault("warc-level %d: want 0 to 9", *o.WARCLevel)
	}
	if strings.ContainsAny(o.UserAgent, "\r\n") {
		fault("user-agent %q has a line break", o.UserAgent)
	}
	if err := o.Keep.Validate(); err != nil {
		faults = append(faults, err)
	}
	var err error
	if o.Refresh != nil {
		asked, err := o.Refresh.WithDefaults()
		if err != nil {
			faults = append(faults, err)
		}
		if asked.Reweigh > 0 && o.Weights == nil {
			fault("pages weighed every %v, and nobody says by what", asked.Reweigh)
		}
		o.Refresh = &asked
	}
	if o.ordering, err = frontier.ParseOrdering(o.Order); err != nil {
		faults = append(faults, err)
	}
	if o.requisites, err = frontier.ParseRequisites(o.Requisites); err != nil {
		faults = append(faults, err)
	}
	faults = append(faults, o.checkShards(), o.checkCluster())
	return o, errors.Join(faults...)
}

// checkShards returns the options that several shards do not support.
func (o *Options) checkShards() error {
	if o.Shards < 1 {
		return fmt.Errorf("crawl: %d shards: want one at least", o.Shards)
	}
	if o.Shards == 1 && o.Cluster == nil {
		return nil
	}
	var faults []error
	one := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("crawl: "+format+" asks for one shard on one machine", args...))
		}
	}
	_, ranked := o.ordering.(frontier.Ranked)
	one(o.AddressDelay > 0, "address-delay, which hosts of several shards may share,")
	one(ranked, "order %s, which ranks all pages,", o.Order)
	one(o.OnLinks != nil, "a trace of all links in their order")
	if r := o.Refresh; r != nil {
		one(r.Rank > 0, "a weight by importance, which ranks all pages,")
		if r.Budget < int64(o.Shards) {
			faults = append(faults, fmt.Errorf("crawl: budget %d for %d shards: want a request each", r.Budget, o.Shards))
		}
	}
	return errors.Join(faults...)
}

// settings returns the settings of a shard from the options.
func (o Options) settings() crawl.Settings {
	return crawl.Settings{
		Seeds: o.Seeds, Scope: o.Scope, Rules: o.Rules.decide(), Requisites: o.requisites, Wait: o.Wait, Ordering: o.ordering,
		Delay: o.Delay, AdaptiveDelay: o.AdaptiveDelay, AddressDelay: o.AddressDelay, PerConnection: o.PerConnection,
		DiscoveryShare: *o.DiscoveryShare, MaxPages: o.MaxPages, MaxDepth: o.MaxDepth, PagesPerSite: o.PagesPerSite,
		For: o.For, MaxBody: o.MaxBody, Retries: *o.Retries, RetryDelay: o.RetryDelay, Agent: o.Agent, TDMRep: o.TDMRep,
		Refresh: o.Refresh, OnLinks: o.OnLinks,
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
