package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pmezard/go-difflib/difflib"

	"freshet/consent"
	"freshet/feed"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

// A Document holds the text of a page's last version, or reports that the page has ended for these uses.
type Document struct {
	URL  string `json:"url" parquet:"url"`
	Site string `json:"site" parquet:"site,dict"`
	// of the visit that found the version, or of the end
	Time      time.Time  `json:"time" parquet:"time,timestamp(microsecond)"`
	Title     string     `json:"title,omitempty" parquet:"title"`
	Byline    string     `json:"byline,omitempty" parquet:"byline"`
	Published *time.Time `json:"published,omitempty" parquet:"published,optional,timestamp(microsecond)"`
	Language  string     `json:"language,omitempty" parquet:"language,dict"`
	Text      string     `json:"text,omitempty" parquet:"text"`
	Markdown  string     `json:"markdown,omitempty" parquet:"markdown"`
	// unified diff of the text's lines from the version before to this one
	Diff    string `json:"diff,omitempty" parquet:"-"`
	Version uint32 `json:"version,omitempty" parquet:"version"`
	Digest  string `json:"digest,omitempty" parquet:"digest"` // SHA-1 of the body, hexadecimal
	// the URL of one of the pages with nearly the same text
	Cluster string `json:"cluster,omitempty" parquet:"cluster"`
	// PageRank among the pages of an export, 1 on average
	Rank float64 `json:"rank,omitempty" parquet:"rank"`
	// targets of the page's links with rel=license
	Licenses []string `json:"licenses,omitempty" parquet:"licenses,list"`
	// signals of site and page about the use of the page
	Signals []string `json:"signals,omitempty" parquet:"signals,list"`
	Deleted bool     `json:"deleted,omitempty" parquet:"deleted"`

	Kind     string `json:"-" parquet:"-"` // of the change: new, changed, moved, gone, withdrawn or purged
	Position uint64 `json:"-" parquet:"-"` // grows with each change of the page, and is never 0
}

// A Reader reads documents from a store. Not for concurrent use. Close waits for calls of the text library that are
// still running.
type Reader struct {
	store    *store.Store
	uses     []consent.Use
	markdown bool
	texts    *stored.Reader

	Pages, Ended, Reserved, Textless int64 // entries so far, by result
}

// NewReader returns a reader of documents for some uses. If a page's site or author disallows one of them, its
// document says that it has ended. With markdown, documents have Markdown instead of text.
func NewReader(s *store.Store, uses []consent.Use, markdown bool) *Reader {
	return &Reader{store: s, uses: uses, markdown: markdown, texts: stored.NewReader(s, text.Limits{})}
}

// Close frees the resources of NewReader.
func (r *Reader) Close() { r.texts.Close() }

// Document returns the document of an entry of the change log, without a diff. Its errors are those of the store and
// of ctx. A page with damaged bytes counts as ended.
func (r *Reader) Document(ctx context.Context, e feed.Entry) (Document, error) {
	d, _, err := r.document(ctx, e)
	return d, err
}

// ended returns the document of a page that has ended.
func ended(e feed.Entry) Document {
	return Document{URL: e.URL.String(), Site: string(e.URL.Site()), Time: time.Unix(0, e.At).UTC(), Deleted: true, Kind: e.Kind.String(), Position: e.Record}
}

// errContent matches the errors of versions whose bytes cannot be read.
var errContent = errors.New("sink: the version cannot be read")

// document also returns the row of a page that has not ended.
func (r *Reader) document(ctx context.Context, e feed.Entry) (Document, *store.Page, error) {
	row, err := r.store.Page(e.Partition, e.Fingerprint)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.State != store.StateLive || row.Versions == 0) {
		r.Ended++
		return ended(e), nil, nil
	}
	if err != nil {
		return ended(e), nil, err
	}
	signals := consent.Of(row.SiteSignals, row.PageSignals)
	if signals.Reserved(r.uses) {
		r.Reserved++
		return ended(e), nil, nil
	}
	version, err := r.store.Version(e.Partition, e.Fingerprint, row.Versions)
	if err != nil {
		return ended(e), nil, err
	}
	said, err := r.texts.Document(ctx, row.URL, &version, r.markdown)
	if errors.Is(err, stored.ErrNoText) {
		r.Textless++
		return ended(e), nil, nil
	}
	if err != nil {
		return ended(e), nil, fmt.Errorf("%w: %w", errContent, err)
	}
	r.Pages++
	d := Document{
		URL: row.URL.String(), Site: string(row.URL.Site()), Time: time.Unix(0, version.At).UTC(), Title: said.Title, Byline: said.Byline,
		Language: said.Language, Text: said.Text, Version: version.Number, Digest: fmt.Sprintf("%x", version.BodyDigest[:]),
		Licenses: signals.Licenses(), Signals: signals.Lines(), Kind: e.Kind.String(), Position: e.Record,
	}
	if !said.Date.IsZero() {
		d.Published = &said.Date
	}
	if r.markdown {
		d.Text, d.Markdown = "", said.Markdown
	}
	return d, &row, nil
}

// Changed is Document with a diff from the version before, if that is kept and both are short. A page that asks not
// to be indexed counts as ended, whatever the uses.
func (r *Reader) Changed(ctx context.Context, e feed.Entry) (Document, error) {
	d, row, err := r.document(ctx, e)
	if err == nil && row != nil && row.NoIndex {
		return ended(e), nil
	}
	if err != nil || row == nil || row.Versions < 2 {
		return d, err
	}
	before, err := r.store.Version(e.Partition, e.Fingerprint, row.Versions-1)
	if err != nil {
		return d, nil // it is no longer kept
	}
	d.Diff = r.difference(ctx, row.URL, &before, d.Text)
	return d, ctx.Err()
}

const (
	longestCompared = 256 << 10 // bytes of a text for a diff
	linesCompared   = 2000
	longestDiff     = 64 << 10
)

// difference returns the diff between the text of a version and another text, or "" if it would be long.
func (r *Reader) difference(ctx context.Context, u weburl.URL, before *store.Version, after string) string {
	said, err := r.texts.Document(ctx, u, before, false)
	if err != nil || max(len(said.Text), len(after)) > longestCompared {
		return ""
	}
	old, now := difflib.SplitLines(said.Text), difflib.SplitLines(after)
	if max(len(old), len(now)) > linesCompared {
		return ""
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: old, B: now, Context: 1})
	if err != nil || len(diff) > longestDiff {
		return ""
	}
	return diff
}
