package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"freshet/frontier"
)

// Options are the parameters of a crawl. The zero value has one fetcher, no delay and a link without a
// limit.
type Options struct {
	Ordering      frontier.Ordering // nil: length; a frontier.Payer gets cash, a frontier.Ranked gets ranks
	Connections   int               // r: fetchers; 0 is 1
	Delay         time.Duration     // w: from the end of an answer to the next connection to its site
	AdaptiveDelay float64           // least interval as a multiple of the answer's time; 0: off
	PerConnection int               // k: pages on a connection; 0 is 1
	Bandwidth     float64           // B: bytes/s of the crawler's link; 0 for no limit
	Wait          time.Duration     // of links, to be decided together, as seen.Options.MaxWait; 0: none
	MaxPages      int               // pages fetched before the crawl ends; 0: no limit

	Robots bool   // a site's robots.txt, of RobotsBytes, is fetched before its pages, and again after a day
	Seed   uint64 // of the times that Processing takes

	Processing *Processing // of pages, before their links are known; nil: takes no time
	Refresh    *Refresh    // keeps fetched pages fresh; nil: each is fetched once

	Fetched  func(Fetch)                  // called for every fetch, in the order in which answers end; may be nil
	Progress func(fetched, known int)     // called from time to time; may be nil
	Known    func(page uint32, l Arrival) // called for every page when it becomes known; may be nil
}

// RobotsBytes is the size of a robots.txt.
const RobotsBytes = 500

// Arrival is how a page became known.
type Arrival struct {
	At    float64 // s
	Depth int     // links from a home
}

// Fetch is one page that was fetched.
type Fetch struct {
	Page       uint32
	Site       uint32
	Start, End float64 // s from the crawl's start
}

// Validate returns all that is wrong with the options, or nil.
func (o Options) Validate() error {
	var faults []error
	fault := func(bad bool, name string, value any, want string) {
		if bad {
			faults = append(faults, fmt.Errorf("discovery: %s %v: want %s", name, value, want))
		}
	}
	fault(o.Connections < 0, "connections", o.Connections, "0 or more")
	fault(!(o.Bandwidth >= 0), "bandwidth", o.Bandwidth, "0 or more bytes/s")
	fault(o.Wait < 0, "wait", o.Wait, "0s or more")
	fault(o.MaxPages < 0, "most pages", o.MaxPages, "0 or more")
	return errors.Join(append(faults, o.frontier().Validate(), o.Refresh.validate())...)
}

func (o Options) frontier() frontier.Options {
	share := 1.0
	if o.Refresh != nil {
		share = cmp.Or(o.Refresh.Share, frontier.DefaultShare)
	}
	return frontier.Options{Ordering: o.Ordering, Delay: o.Delay, AdaptiveDelay: o.AdaptiveDelay, PerConnection: o.PerConnection, DiscoveryShare: share}
}

// Result is the result of a crawl.
type Result struct {
	Fetched  int     // pages
	Revisits int     // requests for pages that had been fetched
	Known    int     // pages that became known
	Links    int64   // that were read
	Bytes    float64 // of the pages
	Duration float64 // s, to the end of the last answer
	Busy     float64 // s, of all fetchers together
	Fleet    Fleet   // with Processing
}

// Utilisation returns the share of the time of r fetchers in which they fetched.
func (r Result) Utilisation(connections int) float64 {
	if r.Duration == 0 {
		return 0
	}
	return r.Busy / (r.Duration * float64(max(1, connections)))
}
