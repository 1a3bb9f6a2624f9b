package explain

import (
	"time"
)

// Explanation has the gates that one URL met, in order, and the result.
type Explanation struct {
	URL string `json:"url"` // canonical, or as it was given if it cannot be parsed
	// StoppedBy is the first gate that stopped the URL or, if none did, the first at which it waits. It is empty for a
	// stored page. Reason is that gate's reason.
	StoppedBy string     `json:"stopped_by"`
	Reason    string     `json:"reason"`
	NextDue   *time.Time `json:"next_due"`          // when it may be fetched next; null: never, or not known
	Why       string     `json:"why"`               // a sentence for people
	Trouble   *Trouble   `json:"trouble,omitempty"` // absent: it is stored, or waits for its turn
	Gates     []Checked  `json:"gates"`
}

// Checked is the verdict of one gate.
type Checked struct {
	// Gate is "syntax", "scope", "guard", "seen", "address", "robots", "host", "fetch", "retries" or "queue"; "crash"
	// for a page that was being processed at unclean stops; "refresh" for a stored page that is kept fresh; "batch" for
	// a page that waits for a ranking. Gates that a stopped URL did not reach are absent.
	Gate    string  `json:"gate"`
	Verdict Verdict `json:"verdict"`
	// Reason is one word of a small set: a frontier.Reason, a frontier.Obstacle's gate, "robots", "robots-unreachable",
	// "private-address", a fetch.Outcome, an HTTP status, "redirect", "soft-error", a truncation such as
	// "truncated-length", "crash", "crashes", "next-batch" or "exhausted". It may be empty.
	Reason string     `json:"reason,omitempty"`
	Detail string     `json:"detail,omitempty"` // for people
	Until  *time.Time `json:"until,omitempty"`  // of a wait whose end is known
}

// Verdict is the result of a gate.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Waits   Verdict = "waits"   // time, or the end of other work, will open the gate
	Stopped Verdict = "stopped" // the URL is not fetched, or its answer was no page
)
