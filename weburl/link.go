package weburl

import "fmt"

// Link is what one page says about another.
type Link struct {
	URL         URL
	Fingerprint Fingerprint // of URL
	Depth       uint16      // links from a seed; a seed has 0
	Hops        uint8       // redirects in a row that led here
	Rel         Rel
	Cash        float64     // importance that the page passes on; see package importance
	Via         Fingerprint // of the page that carries the link; 0 for a seed
	LastMod     int64       // when a sitemap or feed says that the page changed, unix nanoseconds; 0 for not said
}

// Rel is the kind of reference by which a page carries a link. It is kept on disk: new values go to the end.
type Rel uint8

// The ways a URL becomes known.
const (
	RelNone     Rel = iota // not said
	RelSeed                // given by the operator
	RelAnchor              // a, area
	RelRedirect            // the Location of a 3xx answer
	// what a page needs to be shown: img, script, style sheet, media, object; and where that redirects to
	RelEmbed
	RelFrame     // frame, iframe
	RelCanonical // link rel=canonical
	RelSitemap   // a sitemap, or an entry of one
	RelFeed      // a feed, or an entry of one
	RelAlternate // link rel=alternate
	RelRefresh   // meta refresh, or a Refresh header
	RelHeader    // a Link header
	RelLink      // any other link element: next, prev, license, …
	RelForm      // the action of a form
)

var relNames = [...]string{
	RelNone:      "none",
	RelSeed:      "seed",
	RelAnchor:    "anchor",
	RelRedirect:  "redirect",
	RelEmbed:     "embed",
	RelFrame:     "frame",
	RelCanonical: "canonical",
	RelSitemap:   "sitemap",
	RelFeed:      "feed",
	RelAlternate: "alternate",
	RelRefresh:   "refresh",
	RelHeader:    "header",
	RelLink:      "link",
	RelForm:      "form",
}

// String returns the relation's name in lower case, "rel(200)" for a number that has none.
func (r Rel) String() string {
	if int(r) < len(relNames) {
		return relNames[r]
	}
	return fmt.Sprintf("rel(%d)", uint8(r))
}

// Valid reports whether r is one of the relations above.
func (r Rel) Valid() bool { return int(r) < len(relNames) }
