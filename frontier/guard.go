package frontier

import (
	"strings"
	"time"

	"freshet/weburl"
)

// Reason says why a URL is not crawled.
type Reason uint8

// The reasons.
const (
	Admitted          Reason = iota // no reason: it is crawled
	OutOfScope                      // outside the crawl's scope
	URLTooLong                      // longer than Guard.URLLength
	TooDeep                         // more links from a seed than Guard.Depth
	SiteFull                        // its site has Guard.PagesPerSite pages
	TooManyRedirects                // more redirects in a row than Guard.Redirects
	RepeatingSegments               // a path that repeats its segments
	EndlessCalendar                 // a calendar's page for a distant year
	TooManyParameters               // more query parameters than Guard.Parameters
	TooManySegments                 // more path segments than Guard.Segments
	Excluded                        // excluded by a pattern of the operator
	OptedOut                        // its owner does not want it crawled
	Requisite                       // a requisite that the operator does not want
	numReasons
)

var reasonNames = [numReasons]string{"admitted", "scope", "url-length", "depth", "site-full", "redirects",
	"repeating-segments", "calendar", "parameters", "path-segments", "excluded", "opt-out", "requisite"}

// String returns the reason as users read it: "scope", "url-length", "depth", "site-full",
// "redirects", "repeating-segments", "calendar", "parameters", "path-segments", "excluded",
// "opt-out" or "requisite".
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Guard holds the limits that keep a crawl out of traps: sites that make up URLs forever. A limit of 0 is no limit, so
// the zero Guard admits everything.
//
// No limit recognizes mazes of query parameters, such as session identifiers that change with every page, or sort
// orders times filters. Their parameters may have any names, and a rule by names would lose pages of honest sites that
// use the same ones. PagesPerSite ends such a maze. Until then it costs other sites only a share of the bandwidth.
type Guard struct {
	URLLength    int    // bytes of a URL
	Depth        uint16 // links from a seed
	PagesPerSite int    // pages known of a site
	Redirects    uint8  // redirects in a row
	Segments     int    // path segments
	Parameters   int    // query parameters
	Traps        bool   // refuse repeating segments and endless calendars
}

// DefaultGuard returns limits that suit most crawls: URLs of 2,048 bytes, 25,000 pages a site (as Castillo et al.
// 2004), 5 redirects in a row (as RFC 9309 has for robots.txt), 32 path segments, 32 query parameters, no repeating
// segments and no endless calendars. Depth has no limit.
func DefaultGuard() Guard {
	return Guard{URLLength: 2048, PagesPerSite: 25_000, Redirects: 5, Segments: 32, Parameters: 32, Traps: true}
}

// AdmitWay reports whether the path to a link is short enough, in links from a seed and in redirects in a row, and if
// not, why. Another path may be shorter. So a link that is refused here must not enter the seen test. Otherwise a long
// chain of redirects to a page would keep the page out of the crawl.
func (g Guard) AdmitWay(l weburl.Link) (reason Reason, ok bool) {
	switch {
	case g.Depth > 0 && l.Depth > g.Depth:
		return TooDeep, false
	case g.Redirects > 0 && l.Hops > g.Redirects:
		return TooManyRedirects, false
	}
	return Admitted, true
}

// Admit reports whether a newly discovered link may be crawled, and if not, why. pages is the number of known pages of
// the link's site. Of now only the year counts. O(length of the URL), plus O(segments²) if Traps is set.
func (g Guard) Admit(l weburl.Link, pages int, now time.Time) (reason Reason, ok bool) {
	text, path, query := l.URL.String(), l.URL.Path(), l.URL.Query()
	if reason, ok = g.AdmitWay(l); !ok {
		return reason, false
	}
	switch {
	case g.URLLength > 0 && len(text) > g.URLLength:
		return URLTooLong, false
	case g.PagesPerSite > 0 && pages >= g.PagesPerSite:
		return SiteFull, false
	case g.Segments > 0 && strings.Count(path, "/") > g.Segments:
		return TooManySegments, false
	case g.Parameters > 0 && query != "" && strings.Count(query, "&") >= g.Parameters:
		return TooManyParameters, false
	case g.Traps && repeats(path):
		return RepeatingSegments, false
	case g.Traps && isEndlessCalendar(path, query, now.Year()):
		return EndlessCalendar, false
	}
	return Admitted, true
}
