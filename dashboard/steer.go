package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"freshet/clock"
)

// ErrOrder is what a Steerer returns for an order that makes no sense.
var ErrOrder = errors.New("wrong order")

// Steerer carries out an operator's orders. All methods are safe for concurrent use. Errors are ErrNotFound,
// ErrOrder or the reason why an order was not carried out.
type Steerer interface {
	Add(AddOrder) (Report, error)
	Pause(SiteOrder) (Report, error)
	Resume(SiteOrder) (Report, error)
	Pace(PaceOrder) (Report, error)
	Recrawl(PagesOrder) (Report, error)
	Block(BlockOrder) (Report, error)
	Unblock(HostOrder) (Report, error)
	Purge(PurgeOrder) (Report, error)
	Reload(ReloadOrder) (Report, error)
	Ping(PingOrder) (Report, error)
}

// AddOrder adds seeds.
type AddOrder struct {
	URLs []string `json:"urls"`
}

// SiteOrder is about a site, or the whole crawl if it names none.
type SiteOrder struct {
	Site string `json:"site,omitempty"`
}

// PaceOrder sets how fast a site may be asked, if the settings and its robots.txt would allow more. What it leaves out
// stays as it is. Zero ends what an earlier order set.
type PaceOrder struct {
	Site   string   `json:"site"`
	DelayS *float64 `json:"delay_s,omitempty"` // between two requests, at least
	Budget *int     `json:"budget,omitempty"`  // fetches a day, at most
}

// PagesOrder is about a page or all pages of a site: exactly one is given.
type PagesOrder struct {
	URL  string `json:"url,omitempty"`
	Site string `json:"site,omitempty"`
}

// PurgeOrder takes down a page or all pages of a site: exactly one is given.
type PurgeOrder struct {
	URL    string `json:"url,omitempty"`
	Site   string `json:"site,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"` // only count the pages, of this crawl
}

// BlockOrder blocks a host until a time, or permanently without one.
type BlockOrder struct {
	Host  string     `json:"host"`
	Until *time.Time `json:"until,omitempty"`
}

// HostOrder is about a host.
type HostOrder struct {
	Host string `json:"host"`
}

// ReloadOrder makes the crawl read its settings again.
type ReloadOrder struct{}

// PingOrder says that pages have changed.
type PingOrder struct {
	URLs []string `json:"urls"`
}

// Report is the result of an order.
type Report struct {
	Pages   int64             `json:"pages"`             // how many it was about
	Refused map[string]string `json:"refused,omitempty"` // pages that were not taken, and why
	Changes []string          `json:"changes,omitempty"` // of settings
}

// maxOrder bounds the body of an order, in bytes.
const maxOrder = 1 << 20

// orderTime is how long an order may take to arrive.
const orderTime = 10 * time.Second

// order makes a handler from a Steerer's method. It reads one JSON object and refuses unknown fields.
func order[O any](do func(O) (Report, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A client that sends an order slowly is cut off. A connection that cannot set a deadline needs none.
		_ = http.NewResponseController(w).SetReadDeadline(clock.Real().Deadline(orderTime))
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
		decoder.DisallowUnknownFields()
		var o O
		err := decoder.Decode(&o)
		if err == nil && decoder.More() {
			err = errors.New("more than one value")
		}
		if err != nil {
			Refuse(w, http.StatusBadRequest, fmt.Errorf("want one JSON object: %w", err))
			return
		}
		report, err := do(o)
		if err != nil {
			fail(w, err)
			return
		}
		writeJSON(w, report)
	}
}
