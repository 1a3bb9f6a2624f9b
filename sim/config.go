package sim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"freshet/clock"
)

// Config describes the web to compute. A zero field means its default.
type Config struct {
	Seed  uint64 `json:"seed"`
	Sites int    `json:"sites"` // default 8, which has every habit once; at most 10,000
	// pages of all sites together, including those that have vanished or not appeared yet; default 4000; at least 5 a
	// site
	Pages int       `json:"pages"`
	Start time.Time `json:"start"` // when the pages have their first version; default the clock's time
	Bytes int       `json:"bytes"` // median text of a page; default 16,000

	// The median site's pause before an answer, and its speed. Other sites are up to about twice as fast or as slow,
	// and slow ones are another 5 times slower. A negative Latency means no pause, a negative Bandwidth no limit.
	Latency   time.Duration `json:"latency_ns"`      // of the clock's time; default 5 ms
	Bandwidth int64         `json:"bandwidth_per_s"` // bytes a second of the clock's time; default 10 MB

	Clock *clock.Clock `json:"-"` // default the machine's

	// OnRequest is called after every request, with its host, when it arrived, and when it was answered or its
	// connection was closed. Many goroutines call it.
	OnRequest func(host string, start, end time.Time) `json:"-"`
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Start.IsZero() {
		c.Start = c.Clock.Now()
	}
	c.Sites = cmp.Or(c.Sites, 8)
	c.Pages = cmp.Or(c.Pages, 4000)
	c.Bytes = cmp.Or(c.Bytes, 16_000)
	c.Latency = cmp.Or(c.Latency, 5*time.Millisecond)
	c.Bandwidth = cmp.Or(c.Bandwidth, 10_000_000)
	return c
}

// Validate returns all faults of c, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	if c.Sites < 1 || c.Sites > maxSites {
		faults = append(faults, fmt.Errorf("sim: %d sites: want 1 to %d", c.Sites, maxSites))
	}
	if c.Pages < minSitePages*c.Sites || c.Pages > maxPages {
		faults = append(faults, fmt.Errorf("sim: %d pages on %d sites: want %d a site, at most %d", c.Pages, c.Sites, minSitePages, maxPages))
	}
	if c.Bytes < 1 || c.Bytes > maxBytes {
		faults = append(faults, fmt.Errorf("sim: pages of %d bytes: want 1 to %d", c.Bytes, maxBytes))
	}
	return errors.Join(faults...)
}

const (
	minSitePages = 5
	maxSites     = 10_000
	maxPages     = 1 << 30
	maxBytes     = 1 << 20
)
