package refresh

// An ID is a page's number. Callers keep IDs dense, from 0: a policy holds its pages in slices. The ID of a removed
// page may be used again.
type ID int32

// A Page describes a new page to a policy.
type Page struct {
	Site   string  // pages of a site may change alike
	Path   string  // from the site's root, "/docs/a.html"; pages of a folder may change together
	Weight float64 // value of a second of freshness, relative to other pages, ≥ 0
	Fresh  float64 // when the copy was last known to equal the page, in seconds

	// Apart says that people do not read the page itself: it is a picture, a style sheet, a sitemap or a feed.
	// Policies learn from such pages separately.
	Apart bool
}

// An Outcome is the result of a visit.
type Outcome uint8

// The outcomes of a visit. An error, a truncation or a timeout is Unknown: it counts as missing data.
const (
	Unknown Outcome = iota
	Unchanged
	Changed // at least once since the last visit that was not Unknown
)

// A Visit reports a fetch of a page to a policy.
type Visit struct {
	At       float64 // seconds
	Outcome  Outcome
	Modified float64 // when the page last changed, if the server can be trusted with that; else 0
}

// A Policy decides which page to visit next. It learns from calls in order of time. Every time is in seconds since a
// moment that the caller chooses. A Policy opens no file and reads no clock. It is not safe for concurrent use. By
// default, each call costs O(log n) for n pages, on average over many calls.
type Policy interface {
	// Add adds a page that has a copy. It panics if id is in use.
	Add(id ID, page Page)
	// Remove removes a page. Like the methods below, it panics if id is unknown.
	Remove(id ID)
	// Weigh sets a page's weight.
	Weigh(id ID, weight float64)
	// Visited reports the result of a visit, also of one that Next did not ask for.
	Visited(id ID, visit Visit)
	// Next returns the page to visit at now, and does not return it again until it is Visited or
	// removed. If there is none, ok is false and wake is when to ask again: +Inf if only another
	// call can help. now must not fall. A policy without a plan returns a page
	// whenever it has one: the caller keeps the budget.
	Next(now float64) (id ID, wake float64, ok bool)
}

// A Limited policy considers how often each site may be asked: further crawls of that site would only wait.
type Limited interface {
	Policy
	// Limit sets the function that returns the most crawls a second of a site, +Inf for no limit. The policy calls it
	// from within Next.
	Limit(of func(site string) float64)
}

// Due explains the time of a page's next visit.
type Due struct {
	At    float64 // seconds
	Rate  float64 // expected changes/s
	Stale float64 // the probability that its copy is stale now
	Value float64 // of a visit now; comparable between pages of one policy at the same time
	Bar   float64 // the value at which pages are visited at present; 0 if unknown
	Every float64 // seconds from the last visit to the next at that bar; +Inf: never
}
