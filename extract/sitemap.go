package extract

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"freshet/weburl"
)

// Entry is an entry of a sitemap or feed.
type Entry struct {
	URL        weburl.URL
	LastMod    time.Time // UTC; zero if unknown
	ChangeFreq string    // of a sitemap: always, hourly, daily, weekly, monthly, yearly, never, or ""
	Priority   float64   // of a sitemap, 0 to 1; 0.5 by default, and in a feed
}

// Sitemap is a list of a site's pages or, if Index is set, of its sitemaps.
type Sitemap struct {
	Index   bool
	Entries []Entry // in order; a URL may occur twice
	Dropped int     // entries beyond Options.MaxLinks
}

// defaultPriority is the priority of a page whose sitemap gives none.
const defaultPriority = 0.5

// ParseSitemap reads a sitemap: an XML urlset or sitemapindex, or plain text with one absolute URL per line. Each may
// be gzipped; then ParseSitemap reads opt.MaxUnpacked bytes of the content. Locations are resolved against base. They
// may be on any site: the caller decides which ones a sitemap may list. For a broken sitemap it returns the entries
// before the fault, with an error. It leaves out entries without a valid http or https URL.
func ParseSitemap(contentType string, body []byte, base weburl.URL, opt Options) (Sitemap, error) {
	opt = opt.orDefault()
	body, broken := unpack(body, opt.MaxUnpacked, opt.Room)
	document, _ := decodeXML(contentType, body, &opt)
	r := sitemapReader{base: base, room: newEntryRoom(&opt)}
	switch root := rootElement(document); root {
	case "urlset", "sitemapindex":
		r.sitemap.Index = root == "sitemapindex"
		if err := walk(document, &r); err != nil {
			broken = err
		}
	case "":
		r.lines(document)
	default:
		return Sitemap{}, fmt.Errorf("extract: a sitemap's root is %.40q, want urlset or sitemapindex", root)
	}
	return r.sitemap, broken
}

// entryRoom bounds the number and the memory of the entries of a list.
type entryRoom struct {
	entries int  // at most
	full    bool // Room has refused memory
	links   linkSet
}

func newEntryRoom(opt *Options) (r entryRoom) {
	r.entries = opt.MaxLinks
	r.links.reset(weburl.URL{}, opt)
	return r
}

// take reports whether there is room for an entry with that URL.
func (r *entryRoom) take(u weburl.URL) bool {
	r.full = r.full || !r.links.charge(len(u.String()))
	return !r.full
}

// sitemapReader collects entries. An entry is an element of the second level. Only its direct children count, because
// an image in it also has a location.
type sitemapReader struct {
	base    weburl.URL
	room    entryRoom
	sitemap Sitemap
	loc     string
	entry   Entry
}

func (r *sitemapReader) open(path []string, _ string, _ []attribute) {
	if len(path) == 2 {
		r.loc, r.entry = "", Entry{Priority: defaultPriority}
	}
}

func (r *sitemapReader) close(path []string, text string) bool {
	switch {
	case len(path) == 2 && (path[1] == "url" || path[1] == "sitemap"):
		r.add(r.loc)
	case len(path) == 3:
		r.field(path[2], text)
	}
	return true
}

// field handles a child of an entry.
func (r *sitemapReader) field(name, text string) {
	switch name {
	case "loc":
		if r.loc == "" {
			r.loc = text
		}
	case "lastmod":
		r.entry.LastMod = parseDate(text)
	case "changefreq":
		switch text = strings.ToLower(text); text {
		case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
			r.entry.ChangeFreq = text
		}
	case "priority":
		if p, err := strconv.ParseFloat(text, 64); err == nil && p >= 0 && p <= 1 {
			r.entry.Priority = p
		}
	}
}

// lines reads a sitemap in plain text.
func (r *sitemapReader) lines(text []byte) {
	for line := range bytes.Lines(text) {
		r.entry = Entry{Priority: defaultPriority}
		if line = bytes.TrimSpace(line); isAbsolute(line) {
			r.add(string(line))
		}
	}
}

// add completes an entry with its location.
func (r *sitemapReader) add(loc string) {
	if len(r.sitemap.Entries) >= r.room.entries || r.room.full {
		r.sitemap.Dropped++
		return
	}
	if loc == "" || len(loc) > maxReference {
		return
	}
	u, err := r.base.Parse(loc)
	if err != nil {
		return
	}
	if !r.room.take(u) {
		r.sitemap.Dropped++
		return
	}
	r.entry.URL = u
	r.sitemap.Entries = append(r.sitemap.Entries, r.entry)
}

// isAbsolute reports whether the text begins as an absolute http or https URL.
func isAbsolute[T string | []byte](text T) bool {
	scheme, _, found := strings.Cut(string(text[:min(len(text), len("https://"))]), "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isGzip reports whether the body begins as a gzip stream.
func isGzip(body []byte) bool { return bytes.HasPrefix(body, []byte("\x1f\x8b\x08")) }

// unpack returns a gzipped body's content, or the body itself if it is not gzipped. It reads at most max bytes of the
// content. It returns an error if there is more, or if the stream is broken after the returned bytes.
func unpack(body []byte, max int64, room func(bytes int64) error) ([]byte, error) {
	if !isGzip(body) {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	content, whole, err := readAll(z, 4*int64(len(body)), max, room)
	switch {
	case err != nil:
		return content, fmt.Errorf("extract: %w", err)
	case !whole:
		return content, fmt.Errorf("extract: unpacks to more than %d bytes", max)
	}
	return content, nil
}
