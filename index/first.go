package index

import (
	"context"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleve "github.com/blevesearch/bleve_index_api"
)

const (
	// mostScored is how many of the pages with all words are scored, in the order of indexing. Common words are on
	// nearly all pages, and to score a million takes a large part of a second.
	mostScored = 20_000

	// enoughFound is how many pages with a phrase are enough, once mostScored pages with its words were looked at. A
	// phrase that few pages have is looked for in all of them.
	enoughFound = 100
)

// first is a query that finds only the first pages of another query.
type first struct {
	query.Query
	enough int // pages, once the phrases in the query were looked for in mostScored pages
}

// Searcher implements query.Query.
func (f first) Searcher(ctx context.Context, i bleve.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	s := &firstSearcher{left: mostScored, enough: f.enough}
	all, err := f.Query.Searcher(context.WithValue(ctx, firstKey{}, s), i, m, o)
	if err != nil {
		return nil, err
	}
	s.Searcher = all
	return s, nil
}

// firstSearcher ends after a number of pages. The searchers of phrases in it count the pages that they look at, and end
// with it.
type firstSearcher struct {
	search.Searcher
	left          int
	found, enough int
	looked        int
}

// firstKey is the key of a context under which a firstSearcher is.
type firstKey struct{}

// firstOf returns the searcher that one for the context is a part of; nil if there is none.
func firstOf(ctx context.Context) *firstSearcher {
	s, _ := ctx.Value(firstKey{}).(*firstSearcher)
	return s
}

// look reports whether the searcher of a phrase should look at one more page. A nil searcher wants all.
func (s *firstSearcher) look() bool {
	if s == nil {
		return true
	}
	s.looked++
	return s.looked <= mostScored || s.found < s.enough
}

func (s *firstSearcher) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	if s.left--; s.left < 0 {
		return nil, nil
	}
	return s.count(s.Searcher.Next(ctx))
}

func (s *firstSearcher) Advance(ctx *search.SearchContext, to bleve.IndexInternalID) (*search.DocumentMatch, error) {
	if s.left--; s.left < 0 {
		return nil, nil
	}
	return s.count(s.Searcher.Advance(ctx, to))
}

func (s *firstSearcher) count(match *search.DocumentMatch, err error) (*search.DocumentMatch, error) {
	if match != nil {
		s.found++
	}
	return match, err
}
