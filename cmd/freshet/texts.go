package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/consent"
	"freshet/feed"
	"freshet/feed/sink"
	"freshet/store"
)

// textExport exports the texts of the live pages of a store.
type textExport struct {
	store    *store.Store
	since    string        // a cursor; "": everything
	uses     []consent.Use // a page that disallows one of them is left out
	corpus   *corpus
	compared *comparison // nil with since
	names    []int32     // of each compared page, the page that names its group; -1: it is in none
	ranks    []float64   // of each

	pages, ended, reserved, textless int64
	lost                             int64 // pages whose captures are damaged or gone
	first                            error // why the first of them cannot be read
	next                             feed.Cursor
}

func newTextExport(s *store.Store, since string, uses []consent.Use) *textExport {
	return &textExport{store: s, since: since, uses: uses,
		corpus: newCorpus(newReader(s), clock.Real(), nil)}
}

func (t *textExport) close() { t.corpus.close() }

// textGroup is how many texts of a Parquet file are held in memory before they are written: some megabytes.
const textGroup = 1000

// lines returns a function that writes a document, in the format of the file's name, and one that ends the file.
func lines(w io.Writer, file string) (write func(sink.Document) error, end func() error, err error) {
	if strings.HasSuffix(file, ".parquet") {
		out := newParquet[sink.Document](w, textGroup)
		return func(line sink.Document) error { _, err := out.Write([]sink.Document{line}); return err }, out.Close, nil
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
	return func(line sink.Document) error { return out.Encode(line) }, end, nil
}

// write writes a line for each page that has changed after the cursor.
func (t *textExport) write(ctx context.Context, w io.Writer, file string, markdown bool) (err error) {
	write, end, err := lines(w, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	documents := sink.NewReader(t.store, t.uses, markdown)
	defer documents.Close()
	t.lost = 0
	changes, err := feed.NewReader(t.store, cmp.Or(t.since, feed.Start), "")
	if err != nil {
		if errors.Is(err, feed.ErrCursor) {
			return command.Usage(fmt.Errorf("--since: %w: want the last line that the export before printed", err))
		}
		return fmt.Errorf("--since: %w", err)
	}
	if t.since == "" && t.compared == nil {
		if err := t.compare(ctx); err != nil {
			return err
		}
	}
	for {
		entries, err := changes.Next(256)
		if err != nil || len(entries) == 0 {
			t.next, t.pages, t.ended = changes.Cursor(), documents.Pages, documents.Ended
			t.reserved, t.textless = documents.Reserved, documents.Textless
			return err
		}
		for _, e := range entries {
			line, err := documents.Document(ctx, e)
			if sink.OfPage(err) && ctx.Err() == nil { // it counts as ended
				t.lost, t.first, err = t.lost+1, cmp.Or(t.first, fmt.Errorf("%s: %w", line.URL, err)), nil
			}
			if err = cmp.Or(err, t.place(&line, e), ctx.Err()); err != nil {
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

// compare finds near-duplicates, and ranks all pages.
func (t *textExport) compare(ctx context.Context) (err error) {
	if t.compared, err = t.corpus.compare(ctx); err != nil {
		return err
	}
	t.names = slices.Repeat([]int32{-1}, len(t.compared.pages))
	for members := range t.compared.groups() {
		name, err := t.compared.name(members)
		if err != nil {
			return err
		}
		for _, page := range members {
			t.names[page] = name
		}
	}
	t.ranks, err = ranks(ctx, t.store, t.compared)
	return err
}

// place gives a document its group and its rank, if it was compared.
func (t *textExport) place(line *sink.Document, e feed.Entry) error {
	if t.compared == nil {
		return nil
	}
	page, ok := t.compared.find(e.Partition, e.Fingerprint)
	if !ok {
		return nil
	}
	line.Rank = t.ranks[page]
	if t.names[page] < 0 {
		return nil
	}
	row, err := t.compared.row(t.names[page])
	line.Cluster = row.URL.String()
	return err
}

// usesOf parses the uses of a copy.
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
