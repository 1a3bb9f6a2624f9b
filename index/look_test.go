package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"

	"freshet/clock"
	"freshet/weburl"
)

// TestCommonWord holds that a page with a common word in its title is found first, also where more pages have the word
// than are scored, that no more are, and that the results are then partial.
func TestCommonWord(t *testing.T) {
	x := openEmpty(t)
	defer x.Close()
	x.bounds.scored = 20
	const titled = "http://h.test/titled"
	if err := put(t, x, "common", x.bounds.scored+10); err != nil {
		t.Fatal(err)
	}
	if err := x.bleve.Index(titled, &entry{Title: "the common one", Text: "common"}); err != nil {
		t.Fatal(err)
	}
	found := Found{}
	matches, err := x.ask(t.Context(), Query{}, []term{{words: []string{"common"}}}, 100, 0, &found)
	if err != nil || len(matches) != x.bounds.scored+1 || matches[0].ID != titled {
		t.Fatalf("%v, %v, want %s first", matches, err, titled)
	}
	if want := (Found{Partial: true, Looked: 20, Most: 31}); !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, want %+v", found, want)
	}
}

// TestLooks holds that a search finds the pages that it would find by reading them all, in several segments and beside
// pages that were replaced. If it does not look at all of them it says so, has no wrong page, and holds its bounds.
func TestLooks(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 45))
		x := openEmpty(t)
		said := func(n int) string {
			all := make([]string, n)
			for i := range all {
				all[i] = string(rune('a' + min(rng.IntN(8), rng.IntN(8))))
			}
			return strings.Join(all, " ")
		}
		sites, languages := []string{"", "http://a.test", "http://b.test"}, []string{"", "de", "en"}
		pages := map[string]entry{}
		for n := range 4 {
			batch := x.bleve.NewBatch()
			for page := range 100 {
				id := fmt.Sprintf("http://h.test/%d", n*80+page) // some replace those before
				pages[id] = entry{Title: said(1 + rng.IntN(4)), Text: said(1 + rng.IntN(30)),
					Site: sites[1+rng.IntN(2)], Language: languages[1+rng.IntN(2)], Changed: time.Unix(rng.Int64N(100), 0)}
				if err := batch.Index(id, pages[id]); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.bleve.Batch(batch); err != nil {
				t.Fatal(err)
			}
		}
		partial := 0
		for range 1000 {
			q := Query{Site: weburl.Site(sites[rng.IntN(3)]), Language: languages[rng.IntN(3)]}
			var parts []part
			for n := range 1 + rng.IntN(3) {
				p := part{said(1 + rng.IntN(3)), n > 0 && rng.IntN(2) == 0}
				parts = append(parts, p)
				q.Words += map[bool]string{true: " -"}[p.without] + ` "` + p.words + `"`
			}
			q.Words = strings.ReplaceAll(q.Words, "- ", "-")
			if rng.IntN(3) == 0 {
				q.Since, q.Before = time.Unix(rng.Int64N(50), 0), time.Unix(50+rng.Int64N(50), 0)
			}
			x.bounds = bounds{scored: 1 + rng.IntN(100), read: 1 + rng.IntN(5000)}
			terms, err := x.terms(q.Words)
			if err != nil {
				t.Fatal(err)
			}
			found := Found{}
			matches, err := x.ask(t.Context(), q, terms, 500, 0, &found)
			if err != nil {
				t.Fatal(err)
			}
			wanted, candidates := 0, 0 // pages that match; and those that have the words
			for _, page := range pages {
				if fits(page, q, parts) {
					wanted++
				}
				if fits(page, q, wordsOf(parts)) {
					candidates++
				}
			}
			where := fmt.Sprintf("seed %d: %+v within %+v: %d pages of %d: partial %v, %d of %d", seed, q, x.bounds, len(matches), wanted, found.Partial, found.Looked, found.Most)
			for _, match := range matches {
				if !fits(pages[match.ID], q, parts) {
					t.Errorf("%s: %s does not match: %+v", where, match.ID, pages[match.ID])
				}
			}
			most := 2 * x.bounds.scored // with those that have it in the title
			switch {
			case !found.Partial && len(matches) != wanted, len(matches) > min(wanted, most), found.Looked > candidates:
				t.Error(where)
			case found.Partial && (found.Most < candidates || found.Looked == candidates || found.Looked > max(x.bounds.scored, x.bounds.read/turning+1)):
				t.Error(where)
			case found.Partial:
				partial++
			}
		}
		if partial < 100 || partial > 900 {
			t.Errorf("%d of 1000 searches are partial", partial)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// part is a word or phrase of a query.
type part struct {
	words   string
	without bool
}

// fits reports whether a page has the parts of a query, by reading it.
func fits(page entry, q Query, parts []part) bool {
	has := func(words string) bool {
		return strings.Contains(" "+page.Text+" ", " "+words+" ") || strings.Contains(" "+page.Title+" ", " "+words+" ")
	}
	return (q.Site == "" || page.Site == string(q.Site)) && (q.Language == "" || page.Language == q.Language) &&
		!page.Changed.Before(q.Since) && (q.Before.IsZero() || page.Changed.Before(q.Before)) &&
		!slices.ContainsFunc(parts, func(p part) bool { return has(p.words) == p.without })
}

// wordsOf parts phrases into their words, and leaves out the phrases that are excluded.
func wordsOf(parts []part) (words []part) {
	for _, p := range parts {
		all := strings.Fields(p.words)
		if p.without && len(all) > 1 {
			continue
		}
		for _, word := range all {
			words = append(words, part{word, p.without})
		}
	}
	return words
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
	found, err := x.Search(t.Context(), Query{Words: `"on the"`, Limit: 10})
	if err != nil || len(found.Hits) > 0 || counted.n != 1 {
		t.Errorf("%d hits, %v, the index is asked %d times: want once", len(found.Hits), err, counted.n)
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
