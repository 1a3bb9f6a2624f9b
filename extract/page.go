package extract

import (
	"net/http"
	"time"

	"freshet/weburl"
)

// TextVersion numbers the rules by which Page.Text is computed. It is stored beside a digest: two
// digests compare only if their versions are equal.
const TextVersion = 1

// Kind says what a body was read as.
type Kind uint8

// The kinds of body that carry links; everything else is KindOther.
const (
	KindOther        Kind = iota // read for its header only
	KindHTML                     // HTML or XHTML
	KindSitemap                  // a list of pages: XML urlset or plain text, gzipped or not
	KindSitemapIndex             // a list of sitemaps
	KindFeed                     // RSS or Atom
)

// Link is a reference that a page carries, canonical and absolute.
type Link struct {
	URL      weburl.URL
	Rel      weburl.Rel
	NoFollow bool      // every occurrence of the link said rel=nofollow
	LastMod  time.Time // from a sitemap or feed; zero if not told
}

// Page is what a body and its header tell the crawler.
type Page struct {
	Kind         Kind
	Links        []Link     // in order of appearance, the header's first; no URL twice, never the page's own
	LinksDropped int        // references beyond Options.MaxLinks
	Canonical    weburl.URL // rel=canonical, zero if none
	NoIndex      bool       // the page asks not to be indexed
	NoFollow     bool       // the page asks that none of its links be followed
	NoArchive    bool       // the page asks that no copy be kept
	Title        string     // white space folded, at most MaxTitle bytes
	Charset      string     // WHATWG name of the character set read with; empty for KindOther
	Text         [16]byte   // digest of the visible text; zero if there is none, and for all but HTML
	SoftError    bool       // says of itself that it is an error page; of interest when the status was 200
}

// Options bounds what a Parser takes from a body. Zero values mean the defaults.
type Options struct {
	Agent       string // the crawler's token in robots meta tags and X-Robots-Tag; default "freshet"
	MaxLinks    int    // links kept of a page, default 50,000
	MaxUnpacked int64  // bytes read of a gzipped sitemap, default 50 MiB
}

// Parser reads bodies, one at a time, and reuses its buffers between them. It is not safe for
// concurrent use: a worker keeps its own.
type Parser struct {
	opt Options
}

// NewParser returns a Parser that keeps to the options' bounds.
func NewParser(opt Options) *Parser { return &Parser{opt: opt} }

// Extract reads a body as what its header and its first bytes say it is. The base is the URL that
// answered. The header may be nil. Nothing in a body or header makes it fail: what cannot be read
// is left out.
func (p *Parser) Extract(header http.Header, body []byte, base weburl.URL) Page {
	return Page{}
}
