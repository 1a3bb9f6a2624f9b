package trial

import (
	"iter"
	"math"
	"time"

	"freshet/crawl"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A Plant is a deliberate bug in the crawl.
type Plant struct {
	Name, Says string
	ends       faultKind // lives must end this way at a bad moment to find it; "": no such need
}

// Plants are all deliberate bugs.
var Plants = []Plant{
	{"early-ack", "a group is acknowledged before it is synced", ""},
	{"gate-forgotten", "hosts' gates are lost at a restart", stop},
	{"back-off-forgotten", "after a restart hosts wait no longer than their interval", ""},
	{"unclean-as-clean", "a crash is taken for a stop", crash},
	{"cash-twice", "a page hands on all its cash at each visit", ""},
	{"cash-doubled", "links carry twice the cash", ""},
	{"purge-misses", "of a site only the root is taken down", ""},
	{"place-kept", "a page that is due does not come to its site's queue in memory", ""},
	{"link-dropped", "a link of a page is lost on its way", ""},
	{"verdict-lost", "a verdict of the seen test is lost", ""},
	{"kept-early", "the seen test keeps what is not stored yet", crash},
	{"interval-from-start", "the interval begins with the answer", ""},
	{"retry-after-ignored", "a server's Retry-After is not heard", ""},
	{"outage-allows", "a robots.txt that cannot be fetched allows all", ""},
	{"reservation-lost", "a tdmrep.json is forgotten at a restart", ""},
	{"leave-ignored", "a request is made that was not granted leave", ""},
	{"pause-not-stored", "a pause is acknowledged and not stored", ""},
	{"pace-not-stored", "the delay of a site is acknowledged and not stored", ""},
	{"hours-ignored", "visiting hours are not kept", ""},
	{"budget-exceeded", "half as much again as the budget is asked for", ""},
	{"visits-forgotten", "only the last two visits of a page are remembered at a restart", ""},
}

// rows returns what the shard reads.
func (n *node) rows() crawl.Rows {
	switch n.plant {
	case "gate-forgotten", "back-off-forgotten", "unclean-as-clean", "visits-forgotten", "reservation-lost":
		return plantedRows{n.store, n}
	}
	return n.store
}

// links returns the seen test of the shard.
func (n *node) links() crawl.Links {
	if n.plant == "cash-doubled" {
		return plantedLinks{n.seen}
	}
	return n.seen
}

type plantedRows struct {
	crawl.Rows
	node *node
}

func (r plantedRows) Gate(p weburl.Partition, host string) (store.Gate, error) {
	if r.node.plant == "gate-forgotten" {
		return store.Gate{}, nil
	}
	gate, err := r.Rows.Gate(p, host)
	if r.node.plant == "back-off-forgotten" {
		gate.Next, gate.Failures = min(gate.Next, gate.End+gate.IntervalNs), 0
	}
	return gate, err
}

func (r plantedRows) TDMRepBody(site weburl.Site) ([]byte, error) {
	if r.node.plant == "reservation-lost" {
		return nil, store.ErrNotFound
	}
	return r.Rows.TDMRepBody(site)
}

func (r plantedRows) Start() store.Start {
	start := r.Rows.Start()
	start.Clean = start.Clean || r.node.plant == "unclean-as-clean"
	return start
}

func (r plantedRows) VisitsFrom(p weburl.Partition, fp weburl.Fingerprint) iter.Seq2[store.PageVisits, error] {
	return func(yield func(store.PageVisits, error) bool) {
		for page, err := range r.Rows.VisitsFrom(p, fp) {
			if r.node.plant == "visits-forgotten" {
				page.Kept = page.Kept[max(0, len(page.Kept)-2):]
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

type plantedLinks struct{ crawl.Links }

func (l plantedLinks) Offer(mark seen.Mark, links []weburl.Link, now time.Time) error {
	doubled := append([]weburl.Link(nil), links...)
	for i := range doubled {
		doubled[i].Cash *= 2
	}
	return l.Links.Offer(mark, doubled, now)
}

// readOnly is the seen test of a second shard that only reads.
type readOnly struct{ crawl.Links }

func (readOnly) Offer(seen.Mark, []weburl.Link, time.Time) error { return nil }
func (readOnly) Due(time.Time, time.Duration) bool               { return false }
func (readOnly) Collect(weburl.Link) float64                     { return 0 }
func (readOnly) Recall(weburl.Fingerprint, float64)              {}

// near reports whether two numbers differ by at most by.
func near(a, b, by float64) bool { return math.Abs(a-b) <= by }
