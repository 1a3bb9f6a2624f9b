package explain

import (
	"net/netip"
	"time"

	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// About is what a crawl knows about its URLs.
type About struct {
	Options
	Rows    Rows
	Scope   Scope
	Robots  Robots
	Hosts   Hosts
	Keeper  Keeper  // nil: no page is kept fresh
	Ranking Ranking // nil: no crawl runs, or none that ranks
}

// Options are the settings of a crawl that an explanation names or depends on.
type Options struct {
	ScopeName  string                 // value of the setting
	Retries    int                    // maximum attempts after a failed one
	MaxStrikes uint8                  // unclean stops in a row after which a page is set aside
	Guard      func(netip.Addr) error // refuses addresses; nil: allows every address
	Ranked     frontier.Ranked        // the ordering, if it ranks pages
	// Unsearched is set if an unknown URL is explained at once, without a search for a page that links to it.
	Unsearched bool
}

// Page is what is known about a discovered URL.
type Page struct {
	store.Page
	Via             string // the page that carried the link; empty: none
	Failure         string // the word for why the last visit got no answer; empty: it got one
	OutOfCrawl      bool   // it was refused for a reason that another scope may lift
	RefusedByRobots bool   // it is in no queue because a robots.txt refused it
}

// Rows are the stored decisions of the crawl.
type Rows interface {
	// Page returns the row of a URL, or store.ErrNotFound.
	Page(u weburl.URL) (Page, error)
	// Site returns the row of a site, or store.ErrNotFound.
	Site(site weburl.Site) (store.SiteRow, error)
	// Link finds a link from a stored page to u. If it finds none, the link has only the URL.
	// all reports whether it has looked at all pages, or has found one.
	Link(u weburl.URL) (link weburl.Link, found, all bool, err error)
}

// Scope are the bounds of the crawl. The reason is set if ok is false.
type Scope interface {
	// Admits reports whether the target of a link belongs to the crawl.
	Admits(link weburl.Link) (reason frontier.Reason, ok bool, err error)
	// Limits reports whether the limits admit a link to a new page of a site with that many pages.
	Limits(link weburl.Link, pages int, now time.Time) (reason frontier.Reason, ok bool)
	// Keeps reports whether a known page is still inside the bounds.
	Keeps(page store.Page) (reason frontier.Reason, ok bool, err error)
}

// Robots are the rules of the sites' robots.txt.
type Robots interface {
	// Holds reports whether the rules of a site are in memory.
	Holds(site weburl.Site) bool
	// Rules returns the rules of a site. If its robots.txt was never fetched, they are those of a site without one.
	Rules(site weburl.Site) (robots.Standing, error)
}

// Hosts knows when hosts may be requested.
type Hosts interface {
	// Obstacles returns what prevents requests to a site now, as frontier.Frontier.Explain does.
	Obstacles(site weburl.Site, now time.Time) ([]frontier.Obstacle, error)
}

// Keeper has the beliefs about the pages that are kept fresh.
type Keeper interface {
	// Visits returns the belief about a page. ok is false if the page is not kept fresh.
	Visits(u weburl.URL) (v Visits, ok bool)
}

// Visits is the belief about a page that is kept fresh, and what follows from it.
type Visits struct {
	NextDue    *time.Time // nil: never, or not known
	RatePerDay float64    // expected changes
	Stale      float64    // the probability that the copy is stale
	Value, Bar float64    // worth of a visit now; the worth above which pages are visited, 0 if the policy has none
	Reading    bool       // the stored visits are still being read after a start: nothing else is known
}

// Ranking knows when pages are ranked again.
type Ranking interface {
	// Remaining returns how many pages must be fetched before the next ranking. ok is false while a ranking is under
	// way.
	Remaining() (pages int, ok bool)
}
