package frontier

import (
	"errors"
	"fmt"
	"time"

	"freshet/weburl"
)

// The longest waits that a server or an operator can impose.
const (
	MaxBackoff    = time.Hour           // of the exponential back-off, and of an adaptive interval
	MaxRetryAfter = 24 * time.Hour      // of one Retry-After
	MaxCrawlDelay = 30 * 24 * time.Hour // of a Crawl-delay, and of Options.Delay
)

// Options are the settings of a Frontier. The zero value orders by Length, without delays.
type Options struct {
	Ordering Ordering // of new pages; nil is Length

	// Delay is w: the wait from the end of an answer to the start of the next connection to the same host. 0 is none.
	Delay time.Duration
	// AdaptiveDelay × the duration of the last answer is the interval, if that is longer. 0 is off.
	AdaptiveDelay float64
	// AddressDelay is the wait from the end of an answer to the next request for another host of the same address. If
	// it is positive, an address has at most one request in flight. 0 is off.
	AddressDelay time.Duration
	// PerConnection is k: the maximum number of requests in a row on one connection. 0 is 1.
	PerConnection int
	// DiscoveryShare is the fraction, in [0, 1], of the choices between a due and a new page that go to the new one.
	DiscoveryShare float64
	// Manners returns the rules for a site, or nil for none. A nil func sets none for any site.
	Manners func(weburl.Site) *Manners
	// Taken returns when a host came here from another frontier, or zero if it did not. That frontier may have had a
	// request in flight when it was cut off. Its clock may differ by up to MostAstray. A nil func returns zero for
	// every host.
	Taken func(host string) time.Time
}

// MostAstray is the largest difference between the clocks of two frontiers that have a host one after the other.
const MostAstray = time.Hour

// DefaultShare is the default DiscoveryShare.
const DefaultShare = 0.2

// Validate returns all faults of the options, joined, or nil.
func (o Options) Validate() error {
	var faults []error
	fault := func(bad bool, name string, value any, want string) {
		if bad {
			faults = append(faults, fmt.Errorf("frontier: %s %v: want %s", name, value, want))
		}
	}
	fault(o.Delay < 0 || o.Delay > MaxCrawlDelay, "delay", o.Delay, fmt.Sprintf("0s to %v", MaxCrawlDelay))
	fault(!(o.AdaptiveDelay >= 0 && o.AdaptiveDelay <= 1e6), "adaptive delay", o.AdaptiveDelay, "0 to 1e6")
	fault(o.AddressDelay < 0 || o.AddressDelay > MaxCrawlDelay, "address delay", o.AddressDelay, fmt.Sprintf("0s to %v", MaxCrawlDelay))
	fault(o.PerConnection < 0, "requests per connection", o.PerConnection, "1 or more")
	fault(!(o.DiscoveryShare >= 0 && o.DiscoveryShare <= 1), "discovery share", o.DiscoveryShare, "0 to 1")
	return errors.Join(faults...)
}
