// Package stored reads the text of versions that a store keeps.
//
// A Reader decodes a version, takes it apart and has it read with what it has learned of the version's site (package
// text). It learns a site from a sample of its stored pages when it is first asked about one of them, and again when
// the site has twice as many pages. How many sites it knows at once is bounded in bytes; the one asked about longest
// ago goes first. Nothing that it knows is kept on disk.
package stored

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	sampleRows  = 20_000 // looked at to find them
	libraryTime = 2 * time.Second
	pdfTime     = 10 * time.Second // for a PDF
	pdfBytes    = 32 << 20
	siteBudget  = 64 << 20 // bytes of the sites that are known
	maxSites    = siteBudget / text.SiteBytes
)

// ErrNoText matches the errors of versions that hold no text: of another kind than HTML, plain text or PDF, or without
// a body.
var ErrNoText = errors.New("stored: no text")

// A Reader reads the text of stored versions. Not for concurrent use. Close waits for what it has begun.
type Reader struct {
	store     *store.Store
	limits    text.Limits
	extractor *text.Extractor
	sites     map[weburl.Site]*known
	uses      int // of sites so far
}

// known is a site with what was learned of it.
type known struct {
	site  text.Site
	pages int64 // that it had then
	used  int
}

// NewReader returns a reader of the versions of a store.
func NewReader(s *store.Store, limits text.Limits) *Reader {
	return &Reader{store: s, limits: limits, extractor: text.NewExtractor(limits), sites: map[weburl.Site]*known{}}
}

// Close gives back what NewReader took.
func (r *Reader) Close() { r.extractor.Close() }

// Document returns what a version of the page at u says, as Markdown too if that is asked for. Its errors are
// ErrNoText, text.ErrUnreadable and those of the store and of the content codings.
func (r *Reader) Document(ctx context.Context, u weburl.URL, v *store.Version, markdown bool) (text.Document, error) {
	return r.read(ctx, u, v, func(ctx context.Context, p *text.Page, site *text.Site) text.Document {
		return r.extractor.Read(ctx, p, u, site, markdown)
	})
}

// Brief returns what Document does, without author and date. It is for many pages.
func (r *Reader) Brief(ctx context.Context, u weburl.URL, v *store.Version) (text.Document, error) {
	return r.read(ctx, u, v, func(ctx context.Context, p *text.Page, site *text.Site) text.Document {
		return r.extractor.Brief(ctx, p, u, site)
	})
}

// read takes a version apart. What a page with markup says is how's answer.
func (r *Reader) read(ctx context.Context, u weburl.URL, v *store.Version, how func(context.Context, *text.Page, *text.Site) text.Document) (text.Document, error) {
	body, err := r.body(u, v)
	if err != nil {
		return text.Document{}, err
	}
	if said, ok, err := unmarked(ctx, v.ContentType, body); ok {
		return said, err
	}
	page, err := text.Parse(v.ContentType, body, r.limits)
	if err != nil {
		return text.Document{}, err
	}
	site, err := r.site(u.Site())
	if err != nil {
		return text.Document{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, libraryTime)
	defer cancel()
	return how(ctx, page, site), nil
}

// Signature returns the signature of what a version says, without the library: it is for many pages.
func (r *Reader) Signature(ctx context.Context, u weburl.URL, v *store.Version) (sig text.Signature, err error) {
	body, err := r.body(u, v)
	if err != nil {
		return sig, err
	}
	if said, ok, err := unmarked(ctx, v.ContentType, body); ok {
		return text.Sign(said.Text), err
	}
	page, err := text.Parse(v.ContentType, body, r.limits)
	if err != nil {
		return sig, err
	}
	site, err := r.site(u.Site())
	if err != nil {
		return sig, err
	}
	return text.Sign(page.Main(site)), nil
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
		most = pdfBytes // its index is at its end
	}
	body, err := io.ReadAll(io.LimitReader(stream, most))
	if err != nil && len(body) == 0 {
		return nil, err
	}
	return body, nil // what is cut off or damaged at its end says something all the same
}

// site returns what is known of a site, learned now if need be.
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
	if err := r.learn(&k.site, name); err != nil {
		return nil, err
	}
	if len(r.sites) >= maxSites {
		r.forget()
	}
	r.sites[name] = k
	return &k.site, nil
}

// forget drops the site that was asked about longest ago.
func (r *Reader) forget() {
	var oldest weburl.Site
	for name, k := range r.sites {
		if oldest == "" || k.used < r.sites[oldest].used {
			oldest = name
		}
	}
	delete(r.sites, oldest)
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
			continue // one page that cannot be read is no reason to read no other
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

// unmarked returns what a document without markup says; ok is false for one with markup.
func unmarked(ctx context.Context, contentType string, body []byte) (d text.Document, ok bool, err error) {
	switch {
	case isPlain(contentType):
		return text.Plain(body), true, nil
	case !isPDF(contentType):
		return d, false, nil
	}
	read, err := pdf.Read(ctx, body, pdfTime)
	if errors.Is(err, pdf.ErrUnreadable) {
		err = fmt.Errorf("%w: %w", text.ErrUnreadable, err)
	}
	return text.Plain([]byte(read.Text)).Called(read.Title, read.Author), true, err
}

func isPlain(contentType string) bool { return media(contentType) == "text/plain" }

func media(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
