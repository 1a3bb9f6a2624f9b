package explain

import (
	"time"
)

// Explanation tells of one URL which gates of the crawl it met, in the order in which a URL meets them,
// and what became of it.
type Explanation struct {
	URL string `json:"url"` // canonical, or as it was given if it cannot be parsed
	// StoppedBy is the first gate that stopped the URL or, if none did, the first at which it waits;
	// empty for a page that is stored. Reason is that gate's.
	StoppedBy string     `json:"stopped_by"`
	Reason    string     `json:"reason"`
	NextDue   *time.Time `json:"next_due"`          // when it may be fetched next; absent: not at all, or not known
	Why       string     `json:"why"`               // a sentence for people
	Trouble   *Trouble   `json:"trouble,omitempty"` // absent: it is stored, or waits for its turn
	Gates     []Checked  `json:"gates"`
}

// Checked is what one gate said.
type Checked struct {
	// Gate is "syntax", "scope", "guard", "seen", "address", "robots", "host", "fetch", "retries" or
	// "queue", "crash" of a page that runs were cut off with, "refresh" of a stored page that is kept fresh, and
	// "batch" of a page that waits where the ordering ranks pages every so often.
	// A gate that a stopped URL never came to is absent.
	Gate    string  `json:"gate"`
	Verdict Verdict `json:"verdict"`
	// Reason is one word out of a small set: a frontier.Reason, a frontier.Obstacle's gate, "robots",
	// "robots-unreachable", "private-address", a fetch.Outcome, an HTTP status, "redirect",
	// "soft-error", "truncated-length" and its like, "crash", "crashes", "next-batch",
	// "exhausted". Empty where there is nothing to say.
	Reason string     `json:"reason,omitempty"`
	Detail string     `json:"detail,omitempty"` // for people
	Until  *time.Time `json:"until,omitempty"`  // of a wait whose end is known
}

// Verdict is what a gate makes of a URL.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Waits   Verdict = "waits"   // time, or the work of others, will open the gate
	Stopped Verdict = "stopped" // the URL is not fetched, or its answer was no page
)
