package index

import (
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
