// Package stored reads the text of stored versions.
//
// A Reader decodes a version and reads its text, with a text.Site for the version's site. It learns a site from a
// sample of its stored pages when it first reads one of them, and again when the site has twice as many pages. The
// sites that it knows are bounded in bytes; it forgets the one used longest ago first. It stores nothing on disk.
package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/fetch"
	"freshet/store"
	"freshet/text"
	"freshet/text/pdf"
	"freshet/weburl"
)

const (
	samplePages = 48     // that a site is learned from
	sampleRows  = 20_000 // read to find them
	libraryTime = 2 * time.Second
	pdfTime     = 10 * time.Second // for a PDF
	pdfBytes    = 32 << 20
	siteBudget  = 64 << 20 // bytes of the known sites
)

// ErrNoText matches the errors of versions without text: neither HTML, plain text nor PDF, unreadable, or without a
// body.
var ErrNoText = errors.New("stored: no text")

// ErrNotNow matches the errors of versions whose captures cannot be read now, but may be later: an object store does
// not answer.
var ErrNotNow = errors.New("stored: its capture cannot be read now")

// A Reader reads the text of stored versions. Not for concurrent use. Close waits for a running call of the text
// library.
type Reader struct {
	store     *store.Store
	limits    text.Limits
	extractor *text.Extractor
	sites     map[weburl.Site]*known
	held      int // bytes of sites
	uses      int // of sites so far
}

// known is a site that the Reader has learned.
type known struct {
	site  text.Site
	pages int64 // that it had then
	used  int
}

// NewReader returns a reader of the versions of a store.
func NewReader(s *store.Store, limits text.Limits) *Reader {
	return &Reader{store: s, limits: limits, extractor: text.NewExtractor(limits), sites: map[weburl.Site]*known{}}
}

// Close frees the resources of NewReader.
func (r *Reader) Close() { r.extractor.Close() }

// Document returns the text of a version of the page at u, with markdown also as Markdown. Its errors are ErrNoText,
// ErrNotNow and those of ctx, the store and the content codings.
func (r *Reader) Document(ctx context.Context, u weburl.URL, v *store.Version, markdown bool) (text.Document, error) {
	return r.read(ctx, u, v, func(ctx context.Context, p *text.Page, site *text.Site) text.Document {
		return r.extractor.Read(ctx, p, u, site, markdown)
	})
}

// Brief is Document without author and date. It is fast enough for many pages.
func (r *Reader) Brief(ctx context.Context, u weburl.URL, v *store.Version) (text.Document, error) {
	return r.read(ctx, u, v, func(ctx context.Context, p *text.Page, site *text.Site) text.Document {
		return r.extractor.Brief(ctx, p, u, site)
	})
}

// read decodes a version. It calls how for a page with markup.
func (r *Reader) read(ctx context.Context, u weburl.URL, v *store.Version, how func(context.Context, *text.Page, *text.Site) text.Document) (text.Document, error) {
	body, err := r.body(u, v)
	if err != nil {
		return text.Document{}, err
	}
	if said, ok, err := unmarked(ctx, v.ContentType, body); ok {
		return said, unread(u, err)
	}
	page, err := text.Parse(v.ContentType, body, r.limits)
	if err != nil {
		return text.Document{}, unread(u, err)
	}
	site, err := r.site(u.Site())
	if err != nil {
		return text.Document{}, err
	}
	within, cancel := context.WithTimeout(ctx, libraryTime)
	defer cancel()
	return how(within, page, site), ctx.Err()
}

// Main returns the main text of a version. It does not use the library, so it is fast enough for many pages.
func (r *Reader) Main(ctx context.Context, u weburl.URL, v *store.Version) (string, error) {
	body, err := r.body(u, v)
	if err != nil {
		return "", err
	}
	if said, ok, err := unmarked(ctx, v.ContentType, body); ok {
		return said.Text, unread(u, err)
	}
	page, err := text.Parse(v.ContentType, body, r.limits)
	if err != nil {
		return "", unread(u, err)
	}
	site, err := r.site(u.Site())
	if err != nil {
		return "", err
	}
	return page.Main(site), nil
}

// unread makes the error of a document that cannot be read one of a version without text.
func unread(u weburl.URL, err error) error {
	if errors.Is(err, text.ErrUnreadable) || errors.Is(err, pdf.ErrUnreadable) {
		return fmt.Errorf("%w: %s: %w (freshet cat writes its bytes)", ErrNoText, u, err)
	}
	return err
}

// body returns the decoded body of a version, up to the limit.
func (r *Reader) body(u weburl.URL, v *store.Version) ([]byte, error) {
	if !isHTML(v.ContentType) && !isPlain(v.ContentType) && !isPDF(v.ContentType) {
		return nil, fmt.Errorf("%w: %s is %q", ErrNoText, u, v.ContentType)
	}
	if v.Capture.IsZero() {
		return nil, fmt.Errorf("%w: the body of version %d of %s is not kept", ErrNoText, v.Number, u)
	}
	captured, err := r.store.VersionBody(u, v)
	if err != nil && !store.IsLost(err) {
		err = fmt.Errorf("%w: %w", ErrNotNow, err)
	}
	if err != nil {
		return nil, err
	}
	stream, err := fetch.Reader(captured.Header, captured.Payload)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	most := r.limits.MaxBytes()
	if isPDF(v.ContentType) {
		most = pdfBytes // a PDF's index is at its end
	}
	body, err := io.ReadAll(io.LimitReader(stream, most))
	if err != nil && len(body) == 0 {
		return nil, err
	}
	return body, nil // a body that is cut or damaged at its end still has text
}

// site returns a site, and learns it first if necessary.
func (r *Reader) site(name weburl.Site) (*text.Site, error) {
	row, err := r.store.Site(name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	r.uses++
	if k := r.sites[name]; k != nil && (row.Fetched < 2*k.pages || k.site.Pages() == samplePages && row.Fetched < 8*k.pages) {
		k.used = r.uses
		return &k.site, nil
	}
	k := &known{pages: max(1, row.Fetched), used: r.uses}
	if row.Fetched >= text.RipePages { // else it cannot be known
		if err := r.learn(&k.site, name); err != nil {
			return nil, err
		}
	}
	k.site.Settle()
	r.remember(name, k)
	return &k.site, nil
}

// remember keeps a site. If the sites take too much memory, it forgets those that were not used for longest, enough
// of them that some time passes before the next time.
func (r *Reader) remember(name weburl.Site, k *known) {
	if before := r.sites[name]; before != nil {
		r.held -= before.site.Bytes()
	}
	r.sites[name] = k
	if r.held += k.site.Bytes(); r.held <= siteBudget {
		return
	}
	names := slices.SortedFunc(maps.Keys(r.sites), func(a, b weburl.Site) int { return cmp.Compare(r.sites[a].used, r.sites[b].used) })
	for _, name := range names {
		if r.held <= siteBudget*3/4 {
			break
		}
		r.held -= r.sites[name].site.Bytes()
		delete(r.sites, name)
	}
}

// learn shows a site some of its pages: the rows are ordered by a hash, so the first ones are a sample.
func (r *Reader) learn(site *text.Site, name weburl.Site) error {
	rows := 0
	home := r.store.Home(name)
	for row, err := range r.store.Pages(home) {
		if err != nil {
			return err
		}
		if rows++; rows > sampleRows || site.Pages() >= samplePages {
			break
		}
		if row.URL.Site() != name || row.State != store.StateLive || row.Versions == 0 || !isHTML(row.ContentType) {
			continue
		}
		v, err := r.store.Version(home, row.Fingerprint, row.Versions)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		body, err := r.body(row.URL, &v)
		if err != nil {
			continue // skip a page that cannot be read
		}
		if page, err := text.Parse(v.ContentType, body, r.limits); err == nil {
			site.Learn(page)
		}
	}
	return nil
}

func isHTML(contentType string) bool {
	return media(contentType) == "text/html" || media(contentType) == "application/xhtml+xml"
}

func isPDF(contentType string) bool { return media(contentType) == "application/pdf" }

// unmarked returns the text of a document without markup. ok is false for one with markup.
func unmarked(ctx context.Context, contentType string, body []byte) (d text.Document, ok bool, err error) {
	switch {
	case isPlain(contentType):
		return text.Plain(contentType, body), true, nil
	case !isPDF(contentType):
		return d, false, nil
	}
	read, err := pdf.Read(ctx, body, pdfTime)
	return text.Plain("text/plain; charset=utf-8", []byte(read.Text)).Called(read.Title, read.Author), true, err
}

func isPlain(contentType string) bool { return media(contentType) == "text/plain" }

func media(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
