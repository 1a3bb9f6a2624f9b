package index

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"

	"freshet/clock"
)

// TestPhrases holds that phrases are found on the same pages as Bleve finds them, with the same scores, also beside
// other terms. The pages have few words, in several segments.
func TestPhrases(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 45))
		x, err := Open(Options{Dir: filepath.Join(t.TempDir(), "index"), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		said := func(n int) string {
			all := make([]string, n)
			for i := range all {
				all[i] = string(rune('a' + min(rng.IntN(8), rng.IntN(8))))
			}
			return strings.Join(all, " ")
		}
		for n := range 4 {
			batch := x.bleve.NewBatch()
			for page := range 100 {
				id := fmt.Sprintf("http://h.test/%d", n*80+page) // some replace those before
				if err := batch.Index(id, &entry{Title: said(1 + rng.IntN(4)), Text: said(1 + rng.IntN(30))}); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.bleve.Batch(batch); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(q query.Query) string {
			found, err := x.bleve.Search(bleve.NewSearchRequestOptions(q, 500, 0, false))
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, hit := range found.Hits {
				all = append(all, fmt.Sprintf("%s %.6f", hit.ID, hit.Score))
			}
			slices.Sort(all)
			return strings.Join(all, "\n")
		}
		for range 200 {
			words, other, field := said(2+rng.IntN(4)), said(1), []string{"text", "title"}[rng.IntN(2)]
			with := func(p query.Query, as int) string { // alone, or one of several clauses
				only := bleve.NewTermQuery(other)
				only.SetField("text")
				both := bleve.NewBooleanQuery()
				switch as {
				case 0:
					return ask(p)
				case 1:
					both.AddMust(p, only)
				case 2:
					both.AddMust(only)
					both.AddShould(p)
				case 3:
					both.AddMust(only)
					both.AddMustNot(p)
				}
				return ask(both)
			}
			for as := range 4 {
				theirs := bleve.NewMatchPhraseQuery(words)
				theirs.SetField(field)
				theirs.SetBoost(map[string]float64{"text": 1, "title": titleCounts}[field])
				if got, want := with(term{words: words, phrase: true}.in(field), as), with(theirs, as); got != want {
					t.Fatalf("seed %d: %q in %s, %d with %s:\n%s\nwant\n%s", seed, words, field, as, other, got, want)
				}
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
