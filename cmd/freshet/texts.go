package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"freshet/clock"
	"freshet/consent"
	"freshet/feed"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

// textLine is a line of an export of texts: what the last version of a page says, or that the page is not part of the
// export any more.
type textLine struct {
	URL       string     `json:"url" parquet:"url"`
	Time      time.Time  `json:"time" parquet:"time,timestamp(microsecond)"` // of the visit that brought the version, or of the end
	Title     string     `json:"title,omitempty" parquet:"title"`
	Byline    string     `json:"byline,omitempty" parquet:"byline"`
	Published *time.Time `json:"published,omitempty" parquet:"published,optional,timestamp(microsecond)"`
	Language  string     `json:"language,omitempty" parquet:"language,dict"`
	Text      string     `json:"text,omitempty" parquet:"text"`
	Markdown  string     `json:"markdown,omitempty" parquet:"markdown"`
	Version   uint32     `json:"version,omitempty" parquet:"version"`
	Digest    string     `json:"digest,omitempty" parquet:"digest"`          // SHA-1 of the body, hexadecimal
	Cluster   string     `json:"cluster,omitempty" parquet:"cluster"`        // the URL of one of the pages that say nearly the same
	Licenses  []string   `json:"licenses,omitempty" parquet:"licenses,list"` // targets of the page's links of rel=license
	Signals   []string   `json:"signals,omitempty" parquet:"signals,list"`   // what site and page say about the use of the page
	Deleted   bool       `json:"deleted,omitempty" parquet:"deleted"`
}

// textExport writes what the live pages of a store say.
type textExport struct {
	store    *store.Store
	since    string        // a cursor; "": all there is
	uses     []consent.Use // a page that disallows one of them is left out
	corpus   *corpus
	reader   *stored.Reader
	clusters map[weburl.Fingerprint]string // of pages that say nearly the same as others

	pages, ended, reserved, textless int64
	next                             feed.Cursor
}

func newTextExport(s *store.Store, since string, uses []consent.Use) *textExport {
	return &textExport{store: s, since: since, uses: uses, reader: stored.NewReader(s, text.Limits{}),
		corpus: newCorpus(reader{store: s}, clock.Real(), nil)}
}

func (t *textExport) close() {
	t.reader.Close()
	t.corpus.close()
}

// textGroup is how many texts of a Parquet file are held in memory before they are written: some megabytes.
const textGroup = 1000

// lines returns what writes a line, in the form that the file's name asks for, and what ends the file.
func lines(w io.Writer, file string) (write func(textLine) error, end func() error, err error) {
	if strings.HasSuffix(file, ".parquet") {
		out := newParquet[textLine](w, textGroup)
		return func(line textLine) error { _, err := out.Write([]textLine{line}); return err }, out.Close, nil
	}
	end = func() error { return nil }
	if strings.HasSuffix(file, ".zst") {
		packed, err := zstd.NewWriter(w)
		if err != nil {
			return nil, nil, err
		}
		w, end = packed, packed.Close
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return func(line textLine) error { return out.Encode(line) }, end, nil
}

// write writes a line for each page that has changed after the cursor.
func (t *textExport) write(ctx context.Context, w io.Writer, file string, markdown bool) (err error) {
	write, end, err := lines(w, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	t.pages, t.ended, t.reserved, t.textless = 0, 0, 0, 0
	changes, err := feed.NewReader(t.store, cmp.Or(t.since, feed.Start), "")
	if err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if t.since == "" && t.clusters == nil {
		if err := t.compare(ctx); err != nil {
			return err
		}
	}
	for {
		entries, err := changes.Next(256)
		if err != nil || len(entries) == 0 {
			t.next = changes.Cursor()
			return err
		}
		for _, e := range entries {
			line, err := t.line(ctx, e, markdown)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			if line.Deleted && t.since == "" {
				continue
			}
			if err := write(line); err != nil {
				return err
			}
		}
	}
}

// compare finds the pages that say nearly the same.
func (t *textExport) compare(ctx context.Context) error {
	pages, groups, err := t.corpus.clusters(ctx)
	if err != nil {
		return err
	}
	t.clusters = map[weburl.Fingerprint]string{}
	for _, members := range groups {
		group, err := t.corpus.group(pages, members)
		if err != nil {
			return err
		}
		for _, i := range members {
			t.clusters[pages[i].fingerprint] = group.Cluster
		}
	}
	return nil
}

// line returns the line of a page that has changed.
func (t *textExport) line(ctx context.Context, e feed.Entry, markdown bool) (textLine, error) {
	ended := textLine{URL: e.URL.String(), Time: time.Unix(0, e.At).UTC(), Deleted: true}
	row, err := t.store.Page(e.Partition, e.Fingerprint)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.State != store.StateLive || row.Versions == 0) {
		t.ended++
		return ended, nil
	}
	if err != nil {
		return ended, err
	}
	signals := signalsOf(row.SiteSignals, row.PageSignals)
	if signals.Reserved(t.uses) {
		t.reserved++
		return ended, nil
	}
	version, err := t.store.Version(e.Partition, e.Fingerprint, row.Versions)
	if err != nil {
		return ended, err
	}
	said, err := t.reader.Document(ctx, row.URL, &version, markdown)
	if errors.Is(err, stored.ErrNoText) || errors.Is(err, text.ErrUnreadable) {
		t.textless++
		return ended, nil
	}
	if err != nil {
		return ended, err
	}
	t.pages++
	line := textLine{
		URL: row.URL.String(), Time: time.Unix(0, version.At).UTC(), Title: said.Title, Byline: said.Byline, Published: when(said.Date),
		Language: said.Language, Text: said.Text, Version: version.Number, Digest: fmt.Sprintf("%x", version.BodyDigest[:]),
		Cluster: t.clusters[e.Fingerprint], Licenses: signals.Licenses(), Signals: signals.Lines(),
	}
	if markdown {
		line.Text, line.Markdown = "", said.Markdown
	}
	return line, nil
}

// signalsOf returns what is said about the use of a page by its site's robots.txt and by its answer.
func signalsOf(site, page string) consent.Signals {
	return append(consent.Parse(site), consent.Parse(page)...)
}

// usesOf reads the uses that a copy is for.
func usesOf(names []string) (uses []consent.Use, err error) {
	for _, name := range names {
		use, err := consent.ParseUse(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		uses = append(uses, use)
	}
	return uses, nil
}
