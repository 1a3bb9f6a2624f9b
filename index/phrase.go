package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/blevesearch/bleve/v2/search"
	api "github.com/blevesearch/bleve_index_api"
)

// phrase tells where pages have words one after the other in a field. A single word is a phrase too. Pages are asked
// for in the order of the index.
type phrase struct {
	words  []*placed // the rarest first
	starts []uint64  // of the phrase in the page, so far as the words are read
}

// placed is a word of a phrase, with its place there, and the pages that have it.
type placed struct {
	word  string
	pages api.TermFieldReader
	at    uint64
	page  *api.TermFieldDoc // the one that is read; nil: none is yet
}

// newPhrase returns the phrase of some words. Call close at the end.
func newPhrase(ctx context.Context, i api.IndexReader, field string, words []string) (*phrase, error) {
	p := &phrase{}
	for at, word := range words {
		pages, err := i.TermFieldReader(ctx, []byte(word), field, false, false, true)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.words = append(p.words, &placed{word: word, pages: pages, at: uint64(at)})
	}
	slices.SortStableFunc(p.words, func(a, b *placed) int { return cmp.Compare(a.pages.Count(), b.pages.Count()) })
	return p, nil
}

func (p *phrase) close() (err error) {
	for _, w := range p.words {
		err = errors.Join(err, w.pages.Close())
	}
	return err
}

// turning is what it costs to turn to a word in a page, in places of the word to read there.
const turning = 8

// in finds where the phrase starts in a page, and returns what that has cost, in places of words to read.
func (p *phrase) in(page api.IndexInternalID) (cost int, err error) {
	p.starts = p.starts[:0]
	for n, w := range p.words {
		places, err := w.in(page)
		if err != nil {
			return cost, err
		}
		cost += turning + len(places)
		if n == 0 {
			for _, place := range places {
				if place.Pos > w.at {
					p.starts = append(p.starts, place.Pos-w.at)
				}
			}
		} else {
			p.keep(places, w.at)
		}
		if len(p.starts) == 0 {
			break
		}
	}
	return cost, nil
}

// keep keeps the starts of the phrase at which a word is in its place. Both are in order.
func (p *phrase) keep(places []*api.TermFieldVector, at uint64) {
	next := 0
	p.starts = slices.DeleteFunc(p.starts, func(start uint64) bool {
		for next < len(places) && places[next].Pos < start+at {
			next++
		}
		return next == len(places) || places[next].Pos > start+at
	})
}

// in returns where a word is in a page.
func (w *placed) in(page api.IndexInternalID) ([]*api.TermFieldVector, error) {
	if w.page == nil || w.page.ID.Compare(page) < 0 {
		if w.page == nil {
			w.page = &api.TermFieldDoc{}
		}
		if read, err := w.pages.Advance(page, w.page); read == nil || err != nil {
			return nil, err
		}
	}
	if !w.page.ID.Equals(page) {
		return nil, nil
	}
	return w.page.Vectors, nil
}

// locations adds the places of all words of the phrase in the page that was read last.
func (p *phrase) locations(to []search.FieldTermLocation) []search.FieldTermLocation {
	for _, w := range p.words {
		next := 0
		for _, start := range p.starts {
			for w.page.Vectors[next].Pos < start+w.at {
				next++
			}
			place := w.page.Vectors[next]
			to = append(to, search.FieldTermLocation{Field: place.Field, Term: w.word, Location: search.Location{
				Pos: place.Pos, Start: place.Start, End: place.End, ArrayPositions: slices.Clone(place.ArrayPositions),
			}})
		}
	}
	return to
}
