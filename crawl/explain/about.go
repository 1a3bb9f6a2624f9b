package explain

import (
	"net/netip"
	"time"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// About is what a crawl says of its URLs.
type About struct {
	Options
	Rows    Rows
	Scope   Scope
	Robots  Robots
	Hosts   Hosts
	Keeper  Keeper  // nil: no page is kept fresh
	Ranking Ranking // nil: no crawl runs, or none that ranks
}

// Options are those settings of a crawl that an explanation names or goes by.
type Options struct {
	ScopeName  string                 // as the setting has it
	Retries    int                    // attempts after a failed one
	MaxStrikes uint8                  // unclean stops in a row after which a page is set aside
	Guard      func(netip.Addr) error // refuses addresses; nil: every address may be asked
	Ranked     frontier.Ranked        // the ordering, if it ranks pages every so often
}

// Page is what is known of a URL that was discovered.
type Page struct {
	store.Page
	Via             string // names the page that carried the link; empty: none did
	Failure         string // the word for what kept the last visit from an answer; empty: it had one
	OutOfCrawl      bool   // it was refused for a reason that another scope may lift
	RefusedByRobots bool   // it waits for nothing because of what a robots.txt said
}

// Rows are what the crawl has decided.
type Rows interface {
	// Page returns the row of a URL, or store.ErrNotFound.
	Page(u weburl.URL) (Page, error)
	// Site returns the row of a site, or store.ErrNotFound.
	Site(site weburl.Site) (store.SiteRow, error)
	// Link looks for a link of a stored page to u. If none is found the link has the URL alone.
	Link(u weburl.URL) (link weburl.Link, found bool, err error)
}

// Scope are the bounds of the crawl. The reason counts where ok is false.
type Scope interface {
	// Admits reports whether a link leads to what belongs to the crawl.
	Admits(link weburl.Link) (reason frontier.Reason, ok bool, err error)
	// Limits reports whether the limits let a link to a new page of a site of so many pages pass.
	Limits(link weburl.Link, pages int, now time.Time) (reason frontier.Reason, ok bool)
	// Keeps reports whether a known page is in the bounds still.
	Keeps(page store.Page) (reason frontier.Reason, ok bool, err error)
}

// Robots are the rules of the sites' robots.txt.
type Robots interface {
	// Holds reports whether the rules of a site are known without a look into the store.
	Holds(site weburl.Site) bool
	// Rules returns the rules of a site, those of one without a robots.txt if none was asked for.
	Rules(site weburl.Site) (robots.Standing, error)
}

// Hosts says when hosts may be asked.
type Hosts interface {
	// Obstacles returns what keeps a site from being asked now, as frontier.Frontier.Explain does.
	Obstacles(site weburl.Site, now time.Time) ([]frontier.Obstacle, error)
}

// Keeper says what is believed of the pages that are kept fresh.
type Keeper interface {
	// Visits returns what is believed of a page; ok is false if it is not kept fresh.
	Visits(u weburl.URL) (v Visits, ok bool)
}

// Visits is what is believed of a page that is kept fresh, and what follows from it.
type Visits struct {
	NextDue    *time.Time // nil: never, or not known
	RatePerDay float64    // changes expected
	Stale      float64    // the probability that the copy is stale
	Value, Bar float64    // of a visit now, and from which value on pages are visited; a Bar of 0: the policy has none
	Reading    bool       // after a start the stored visits are still being read: nothing else is known
}

// Ranking says when pages are ranked again.
type Ranking interface {
	// Remaining returns how many pages are to be fetched until then; ok is false while a ranking is under way.
	Remaining() (pages int, ok bool)
}
