package index

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleve "github.com/blevesearch/bleve_index_api"
)

// phrase is a query for the pages that have words one after the other in a field. Bleve's own query reads the positions
// of the words in every page that has them all, and scores each of these pages. For common words that is nearly every
// page. This one finds the next page with the phrase by itself, the rarest words first, and has Bleve score that page
// alone. It ends with its context and, if it is not excluded, with the query first that it is a part of.
type phrase struct {
	*query.MatchPhraseQuery
	without bool // it is excluded: each page that has it counts
}

// Searcher implements query.Query.
func (p phrase) Searcher(ctx context.Context, i bleve.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	found, err := p.MatchPhraseQuery.Searcher(ctx, i, m, o)
	if err != nil {
		return nil, err
	}
	s := &phraseSearcher{Searcher: found, ctx: ctx}
	if !p.without {
		s.first = firstOf(ctx)
	}
	for _, token := range m.AnalyzerNamed(inWords).Analyze([]byte(p.MatchPhrase)) {
		if err := s.add(i, p.Field(), token); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	slices.SortStableFunc(s.words, func(a, b *placed) int { return cmp.Compare(a.pages.Count(), b.pages.Count()) })
	return s, nil
}

// phraseSearcher finds the pages with a phrase. Bleve's searcher scores them.
type phraseSearcher struct {
	search.Searcher
	ctx    context.Context
	first  *firstSearcher // may be nil
	words  []*placed      // the rarest first
	starts []uint64       // of the phrase in the page, so far as the words are read
	read   int
}

// placed is a word of a phrase, with its place there, and the pages that have it.
type placed struct {
	pages bleve.TermFieldReader
	at    uint64
	page  *bleve.TermFieldDoc // the one that is read; nil: none is yet
}

func (s *phraseSearcher) add(i bleve.IndexReader, field string, token *analysis.Token) error {
	pages, err := i.TermFieldReader(s.ctx, token.Term, field, false, false, true)
	if err == nil {
		s.words = append(s.words, &placed{pages: pages, at: uint64(token.Position)})
	}
	return err
}

// next reads the next page of a word. It reports whether there is one.
func (w *placed) next() (ok bool, err error) {
	if w.page == nil {
		w.page = &bleve.TermFieldDoc{}
	}
	page, err := w.pages.Next(w.page)
	return page != nil, err
}

// reach reads the first page of a word from the given one on, unless it has been read.
func (w *placed) reach(to bleve.IndexInternalID) (ok bool, err error) {
	if w.page != nil && w.page.ID.Compare(to) >= 0 {
		return true, nil
	}
	if w.page == nil {
		w.page = &bleve.TermFieldDoc{}
	}
	page, err := w.pages.Advance(to, w.page)
	return page != nil, err
}

// checkedEvery is how many pages are read between two looks at the context.
const checkedEvery = 64

// find returns the first page with the phrase, from the page on that its rarest word has reached; nil if there is none,
// or enough were found.
func (s *phraseSearcher) find() (bleve.IndexInternalID, error) {
	rarest := s.words[0]
page:
	for {
		if s.read++; s.read%checkedEvery == 0 && s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		s.starts = s.starts[:0]
		for _, place := range rarest.page.Vectors {
			s.starts = append(s.starts, place.Pos-rarest.at)
		}
		for _, w := range s.words[1:] {
			if ok, err := w.reach(rarest.page.ID); !ok {
				return nil, err
			}
			if w.page.ID.Compare(rarest.page.ID) > 0 {
				if ok, err := rarest.reach(w.page.ID); !ok {
					return nil, err
				}
				continue page
			}
			if s.keep(w); len(s.starts) == 0 {
				break
			}
		}
		if !s.first.look() {
			return nil, nil
		}
		if len(s.starts) > 0 {
			return rarest.page.ID, nil
		}
		if ok, err := rarest.next(); !ok {
			return nil, err
		}
	}
}

// keep keeps the starts of the phrase at which a word is in its place.
func (s *phraseSearcher) keep(w *placed) {
	s.starts = slices.DeleteFunc(s.starts, func(start uint64) bool {
		for _, place := range w.page.Vectors {
			if place.Pos-w.at == start {
				return false
			}
		}
		return true
	})
}

// Next implements search.Searcher.
func (s *phraseSearcher) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	if len(s.words) == 0 {
		return nil, nil
	}
	if ok, err := s.words[0].next(); !ok {
		return nil, err
	}
	return s.found(ctx)
}

// Advance implements search.Searcher.
func (s *phraseSearcher) Advance(ctx *search.SearchContext, to bleve.IndexInternalID) (*search.DocumentMatch, error) {
	if len(s.words) == 0 {
		return nil, nil
	}
	if ok, err := s.words[0].reach(to); !ok {
		return nil, err
	}
	return s.found(ctx)
}

// found has Bleve score the next page with the phrase.
func (s *phraseSearcher) found(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	id, err := s.find()
	if id == nil || err != nil {
		return nil, err
	}
	return s.Searcher.Advance(ctx, id)
}

// Close implements search.Searcher.
func (s *phraseSearcher) Close() error {
	err := s.Searcher.Close()
	for _, w := range s.words {
		err = errors.Join(err, w.pages.Close())
	}
	return err
}
