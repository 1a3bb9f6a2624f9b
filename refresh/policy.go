package refresh

// An ID is the number by which caller and policy know a page. Callers keep them dense, from 0: a policy
// holds its pages in slices. The number of a removed page may be given to another.
type ID int32

// A Page is what a policy is told of a page that enters.
type Page struct {
	Site   string  // its pages may change alike
	Path   string  // from the site's root, "/docs/a.html"; pages of a folder may change together
	Weight float64 // worth of a second of freshness, relative to other pages, ≥ 0
	Fresh  float64 // when the copy was last known to equal the page, in seconds

	// Apart says that it is no page that people read: a picture, a style, a sitemap, a feed. It changes as those do.
	Apart bool
}

// An Outcome is what a visit showed.
type Outcome uint8

// The outcomes of a visit. An error, a truncation or a timeout is Unknown: missing data, not a sign of
// anything.
const (
	Unknown Outcome = iota
	Unchanged
	Changed // at least once since the last visit that was not Unknown
)

// A Visit is what a policy is told when a page was fetched.
type Visit struct {
	At       float64 // seconds
	Outcome  Outcome
	Modified float64 // when the page last changed, if the server is to be trusted with that; else 0
}

// A Policy decides which page to visit next. It learns from what it is told, in order of time; every time
// is in seconds since a moment that the caller chooses. A Policy opens no file and no clock. It is not
// safe for concurrent use. Unless its documentation says otherwise, telling and asking cost O(log n) for
// n pages, on average over many calls.
type Policy interface {
	// Add tells that a page is there, with a copy. An id in use panics.
	Add(id ID, page Page)
	// Remove tells that a page is gone. An unknown id panics, here as below.
	Remove(id ID)
	// Weigh tells a page's new weight.
	Weigh(id ID, weight float64)
	// Visited tells how a visit ended. A page may be visited unasked.
	Visited(id ID, visit Visit)
	// Next returns the page to visit at now, and holds it out of the answers until it is Visited or
	// removed. If there is none it returns ok == false, and when to ask again, +Inf if that depends on
	// being told something. now must not fall. A policy without times of its own returns a page
	// whenever it has one: the caller's slots are its budget.
	Next(now float64) (id ID, wake float64, ok bool)
}

// A Limited policy considers how often sites may be asked: more crawls of a site than that would only wait.
type Limited interface {
	Policy
	// Limit tells whom to ask for the most crawls a second that a site allows, +Inf for any number. The policy asks
	// from within Next.
	Limit(of func(site string) float64)
}

// Due is why a page is visited when it is.
type Due struct {
	At    float64 // seconds
	Rate  float64 // the changes a second that are expected of it
	Stale float64 // the probability that its copy is stale now
	Value float64 // of a visit now, in units that compare pages of the same policy at the same time
	Bar   float64 // the value at which pages are visited at present; 0 if nothing is known
	Every float64 // seconds from the last visit to the next at that bar, +Inf for never
}
