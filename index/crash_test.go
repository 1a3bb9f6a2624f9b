package index

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/registry"

	"freshet/clock"
	"freshet/internal/crawled"
	"freshet/store"
	"freshet/text"
	"freshet/text/stored"
	"freshet/weburl"
)

// crashing is a reader that panics at one page.
type crashing struct {
	*stored.Reader
	at string
}

func (c crashing) Brief(ctx context.Context, u weburl.URL, v *store.Version) (text.Document, error) {
	if u.String() == c.at {
		panic("a table of 2^60 columns")
	}
	return c.Reader.Brief(ctx, u, v)
}

// TestCrash holds that a page whose text makes its reader panic is left out, and named in the log, while the pages
// beside it are indexed. A panic elsewhere ends the index with an error, and not the process.
func TestCrash(t *testing.T) {
	w := crawled.New(t, 1, 3)
	var log bytes.Buffer
	o := Options{
		Dir: filepath.Join(t.TempDir(), "index"), Store: w.Store(), Bell: &w.Bell, Clock: clock.Real(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Rest: func(context.Context, time.Duration, uint64) { panic("elsewhere") },
	}
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	texts := crashing{stored.NewReader(w.Store(), text.Limits{}), crawled.URL(0, 1)}
	defer texts.Close()
	if err := x.follow(t.Context(), texts, false); err != nil {
		t.Fatal(err)
	}
	found, err := x.Search(t.Context(), Query{Words: "first text", Limit: 9})
	if err != nil || len(found.Hits) != 2 {
		t.Errorf("%d hits (%v), want the two other pages", len(found.Hits), err)
	}
	if said := log.String(); !strings.Contains(said, "url="+texts.at) || !strings.Contains(said, "2^60 columns") || !strings.Contains(said, "please report it") {
		t.Errorf("the log says %q", said)
	}
	w.Set(crawled.URL(0, 2), "another text")
	w.Visit(crawled.URL(0, 2))
	if err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "crash: elsewhere") {
		t.Errorf("Run returned %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// fragile is a tokenizer that panics at the text of one page.
type fragile struct{}

func (fragile) Tokenize(text []byte) analysis.TokenStream {
	if bytes.Contains(text, []byte("page 1")) {
		panic("a word of 2^60 letters")
	}
	return unicode.NewUnicodeTokenizer().Tokenize(text)
}

// TestCrashInWords holds that a page whose text makes Bleve panic, while it parts the text into words, is left out too.
func TestCrashInWords(t *testing.T) {
	err := registry.RegisterTokenizer("fragile", func(map[string]any, *registry.Cache) (analysis.Tokenizer, error) { return fragile{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	fields := bleve.NewIndexMapping()
	if err := fields.AddCustomAnalyzer("fragile", map[string]any{"type": custom.Name, "tokenizer": "fragile"}); err != nil {
		t.Fatal(err)
	}
	fields.DefaultAnalyzer = "fragile"
	dir := filepath.Join(t.TempDir(), "index")
	made, err := bleve.NewUsing(dir, fields, scorch.Name, scorch.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := crawled.New(t, 1, 3)
	var log bytes.Buffer
	o := Options{Dir: dir, Store: w.Store(), Bell: &w.Bell, Clock: clock.Real(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	x := &Index{o: o, bleve: made, watch: watchOf(dir)}
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pages, err := made.DocCount(); err != nil || pages != 2 {
		t.Errorf("%d pages (%v), want the two others", pages, err)
	}
	if said := log.String(); !strings.Contains(said, "url="+crawled.URL(0, 1)) || !strings.Contains(said, "2^60 letters") {
		t.Errorf("the log says %q", said)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
