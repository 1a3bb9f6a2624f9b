package index

import (
	"context"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleve "github.com/blevesearch/bleve_index_api"
)

// mostScored is how many of the pages with all words are scored, in the order of indexing. Common words are on nearly
// all pages, and to score a million takes a large part of a second.
const mostScored = 20_000

// first is a query that finds only the first pages of another query.
type first struct{ query.Query }

// Searcher implements query.Query.
func (f first) Searcher(ctx context.Context, i bleve.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	all, err := f.Query.Searcher(ctx, i, m, o)
	if err != nil {
		return nil, err
	}
	return &firstSearcher{all, mostScored}, nil
}

// firstSearcher ends after a number of pages.
type firstSearcher struct {
	search.Searcher
	left int
}

func (s *firstSearcher) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	if s.left--; s.left < 0 {
		return nil, nil
	}
	return s.Searcher.Next(ctx)
}

func (s *firstSearcher) Advance(ctx *search.SearchContext, to bleve.IndexInternalID) (*search.DocumentMatch, error) {
	if s.left--; s.left < 0 {
		return nil, nil
	}
	return s.Searcher.Advance(ctx, to)
}
