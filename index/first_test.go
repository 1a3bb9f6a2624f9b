package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/blevesearch/bleve/v2"

	"freshet/clock"
)

// TestCommonWord holds that a page with a common word in its title is found first, also where more pages have the word
// than are scored, and that no more are.
func TestCommonWord(t *testing.T) {
	x, err := Open(Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const titled = "http://h.test/titled"
	add := func(batch *bleve.Batch) {
		t.Helper()
		if err := x.bleve.Batch(batch); err != nil {
			t.Fatal(err)
		}
	}
	batch := x.bleve.NewBatch()
	for i := range mostScored + 10 {
		if err := batch.Index(fmt.Sprintf("http://h.test/%d", i), &entry{Title: "page", Text: "common"}); err != nil {
			t.Fatal(err)
		}
	}
	add(batch)
	batch = x.bleve.NewBatch()
	if err := batch.Index(titled, &entry{Title: "the common one", Text: "common"}); err != nil {
		t.Fatal(err)
	}
	add(batch)
	terms, err := x.terms("common")
	if err != nil {
		t.Fatal(err)
	}
	found, err := x.ask(t.Context(), Query{}.build(terms), 2*mostScored, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != mostScored+1 || found[0].ID != titled {
		t.Errorf("%d pages are found, the first of them %s", len(found), found[0].ID)
	}
}

// TestCommonPhrase holds that a phrase of common words is found on all pages that have it if they are few, and that a
// phrase on many pages is looked for only until enough are found. A phrase that is excluded leaves out each page that
// has it.
func TestCommonPhrase(t *testing.T) {
	x, err := Open(Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const often, late = 3 * enoughFound, 20
	added := 0
	add := func(text string, pages int) {
		batch := x.bleve.NewBatch() // has no order
		for range pages {
			if err := batch.Index(fmt.Sprintf("http://h.test/%d", added), &entry{Text: text}); err != nil {
				t.Fatal(err)
			}
			added++
		}
		if err := x.bleve.Batch(batch); err != nil {
			t.Fatal(err)
		}
	}
	add("up down and", often)
	add("up and down", mostScored-often)
	add("up down, down and up", late)
	for words, want := range map[string]int{
		`"up down"`:      often,
		`"down up"`:      0,
		`"and up"`:       late,
		`"down and up"`:  late,
		`up -"up and"`:   often + late,
		`up -"down and"`: mostScored - often,
	} {
		terms, err := x.terms(words)
		if err != nil {
			t.Fatal(err)
		}
		found, err := x.ask(t.Context(), Query{Limit: 10}.build(terms), 2*mostScored, 0)
		if err != nil || len(found) != want {
			t.Errorf("%s: %d pages, %v, want %d", words, len(found), err, want)
		}
	}
}

type inBleve = bleve.Index // the interface has a method of its name

// asked counts what Bleve is asked.
type asked struct {
	inBleve
	n int
}

// SearchInContext implements bleve.Index.
func (a *asked) SearchInContext(ctx context.Context, r *bleve.SearchRequest) (*bleve.SearchResult, error) {
	a.n++
	return a.inBleve.SearchInContext(ctx, r)
}

// TestAskedOnce holds that a search with fewer hits than are wanted looks through the index once: a phrase of common
// words takes long to look for.
func TestAskedOnce(t *testing.T) {
	x, err := Open(Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	counted := &asked{inBleve: x.bleve}
	x.bleve = counted
	hits, err := x.Search(t.Context(), Query{Words: `"on the"`, Limit: 10})
	if err != nil || len(hits) > 0 || counted.n != 1 {
		t.Errorf("%d hits, %v, the index is asked %d times: want once", len(hits), err, counted.n)
	}
}

// TestOtherFormat holds that an index of another version is not searched.
func TestOtherFormat(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(x.bleve.SetInternal(formatKey, []byte("1")), x.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenToSearch(o); !errors.Is(err, ErrNone) {
		t.Errorf("opened: %v", err)
	}
}
