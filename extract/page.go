package extract

import (
	"net/http"
	"time"

	"freshet/consent"
	"freshet/weburl"
)

// TextVersion numbers the rules by which Page.Text is computed. It is stored beside a digest: two
// digests compare only if their versions are equal.
const TextVersion = 1

// Kind is the kind of a body.
type Kind uint8

// The kinds of body that carry links; everything else is KindOther.
const (
	KindOther        Kind = iota // read for its header only
	KindHTML                     // HTML or XHTML
	KindSitemap                  // a list of pages: XML urlset or plain text, gzipped or not
	KindSitemapIndex             // a list of sitemaps
	KindFeed                     // RSS or Atom
	KindSheet                    // a style sheet
)

// Link is a reference that a page carries, canonical and absolute.
type Link struct {
	URL      weburl.URL
	Rel      weburl.Rel
	NoFollow bool      // every occurrence of the link has rel=nofollow
	LastMod  time.Time // from a sitemap or feed; zero if unknown
}

// Page is the result of reading a body and its header.
type Page struct {
	Kind Kind
	// in order of appearance, the header's first; no URL twice, never the page's own, except for Options.Repeats
	Links        []Link
	LinksDropped int        // references beyond Options.MaxLinks
	Canonical    weburl.URL // rel=canonical, zero if none
	NoIndex      bool       // the page asks not to be indexed
	NoFollow     bool       // the page asks that none of its links be followed
	NoArchive    bool       // the page asks that no copy be kept
	Title        string     // white space folded, at most MaxTitle bytes
	Charset      string     // WHATWG name of the character set that HTML was read with
	Text         [16]byte   // digest of the visible text; zero if there is none, and for all but HTML
	SoftError    bool       // its text says that it is an error page; useful if the status is 200

	Signals consent.Signals // signals in header and page about the use of the page
}

// The default bounds of Options. DefaultMaxLinks and DefaultMaxUnpacked are the largest number of entries and of
// bytes that the sitemap protocol allows.
const (
	DefaultMaxLinks     = 50_000
	DefaultMaxUnpacked  = 50 << 20
	DefaultMaxDocument  = 64 << 20
	DefaultMaxLinkBytes = 64 << 20
)

// Options bounds what a Parser takes from a body. Zero values mean the defaults.
type Options struct {
	Agent       string // the crawler's token in robots meta elements and X-Robots-Tag; default "freshet"
	MaxLinks    int    // references read of a page, links kept; default DefaultMaxLinks
	MaxUnpacked int64  // bytes read of a gzipped sitemap; default DefaultMaxUnpacked
	MaxDocument int64  // bytes of a document that is converted to UTF-8; default DefaultMaxDocument
	// MaxLinkBytes bounds the memory of one page's links, in bytes; default DefaultMaxLinkBytes.
	MaxLinkBytes int64
	// Room is called before the parser takes this many more bytes of memory, beyond the first 64 KiB. It may wait.
	// After an error the parser reads no further. If Room is nil, all memory is granted.
	Room    func(bytes int64) error
	Repeats bool // keep repeated links and links to the page itself, for studies
}

func (opt Options) orDefault() Options {
	if opt.Agent == "" {
		opt.Agent = "freshet"
	}
	if opt.MaxLinks <= 0 {
		opt.MaxLinks = DefaultMaxLinks
	}
	if opt.MaxUnpacked <= 0 {
		opt.MaxUnpacked = DefaultMaxUnpacked
	}
	if opt.MaxDocument <= 0 {
		opt.MaxDocument = DefaultMaxDocument
	}
	if opt.MaxLinkBytes <= 0 {
		opt.MaxLinkBytes = DefaultMaxLinkBytes
	}
	if opt.Room == nil {
		opt.Room = func(int64) error { return nil }
	}
	return opt
}

// Parser reads bodies, one at a time, and reuses its buffers between them. It is not safe for
// concurrent use: each worker has its own.
type Parser struct {
	opt     Options
	links   linkSet
	text    folded
	tokens  tokenizer
	decoded []byte
	written []byte
	waiting []reference
}

// NewParser returns a Parser with the bounds of opt.
func NewParser(opt Options) *Parser {
	return &Parser{opt: opt.orDefault()}
}

// Extract reads a body. Its kind comes from the header and its first bytes. body has no transfer or content encoding
// any more; own is the URL that answered; header may be nil. Extract never fails: it leaves out what it cannot read.
// It takes time and memory linear in the body's length, apart from the URLs, which are bounded. It keeps no reference
// to the body.
func (p *Parser) Extract(header http.Header, body []byte, own weburl.URL) Page {
	contentType := header.Get("Content-Type")
	page := Page{Kind: KindOf(contentType, body)}
	p.links.reset(own, &p.opt)
	page.obeyHeader(header.Values("X-Robots-Tag"), p.opt.Agent)
	page.readSignals(header, own)
	canonical := p.links.addHeader(header.Values("Link"), own)
	if ref := refreshTarget(header.Get("Refresh")); ref != "" {
		p.links.resolve(own, ref, Link{Rel: weburl.RelRefresh})
	}
	switch page.Kind {
	case KindHTML:
		document, name := decode(contentType, body, &p.opt)
		page.Charset = name
		p.html(&page, document, MediaType(contentType) == "application/xhtml+xml", own)
	case KindSitemap, KindSitemapIndex:
		sitemap, _ := ParseSitemap(contentType, body, own, p.opt)
		p.entries(sitemap.Entries, weburl.RelSitemap)
		page.LinksDropped += sitemap.Dropped
	case KindFeed:
		entries, _ := ParseFeed(contentType, body, own, p.opt)
		p.entries(entries, weburl.RelFeed)
	case KindSheet:
		p.links.sheet(body)
	}
	if page.Canonical.IsZero() {
		page.Canonical = canonical
	}
	page.Links = p.links.links
	page.LinksDropped += p.links.dropped
	p.links.links = nil
	return page
}

// entries adds the entries of a sitemap or feed.
func (p *Parser) entries(entries []Entry, rel weburl.Rel) {
	for _, e := range entries {
		p.links.add(Link{URL: e.URL, Rel: rel, LastMod: e.LastMod})
	}
}
