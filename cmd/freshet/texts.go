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
	URL       string     `json:"url"`
	Time      time.Time  `json:"time"` // of the visit that brought the version, or of the end
	Title     string     `json:"title,omitempty"`
	Byline    string     `json:"byline,omitempty"`
	Published *time.Time `json:"published,omitempty"`
	Language  string     `json:"language,omitempty"`
	Text      string     `json:"text,omitempty"`
	Markdown  string     `json:"markdown,omitempty"`
	Version   uint32     `json:"version,omitempty"`
	Digest    string     `json:"digest,omitempty"`   // SHA-1 of the body, hexadecimal
	Cluster   string     `json:"cluster,omitempty"`  // the URL of one of the pages that say nearly the same
	Licenses  []string   `json:"licenses,omitempty"` // targets of the page's links of rel=license
	Signals   []string   `json:"signals,omitempty"`  // what site and page say about the use of the page
	Deleted   bool       `json:"deleted,omitempty"`
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

// write writes a line for each page that has changed after the cursor, compressed if the file's name says so.
func (t *textExport) write(ctx context.Context, w io.Writer, file string, markdown bool) (err error) {
	if strings.HasSuffix(file, ".zst") {
		packed, fault := zstd.NewWriter(w)
		if fault != nil {
			return fault
		}
		defer func() { err = errors.Join(err, packed.Close()) }()
		w = packed
	}
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
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
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
			if err := out.Encode(line); err != nil {
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
