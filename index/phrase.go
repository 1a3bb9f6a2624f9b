package index

import (
	"context"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleve "github.com/blevesearch/bleve_index_api"
)

// phrase is a query for a phrase that ends with its context. Bleve reads where the words stand in every page that has
// all of them, and checks the context only at pages with the phrase: if there are none, it would read all pages.
type phrase struct{ query.Query }

// Searcher implements query.Query.
func (p phrase) Searcher(ctx context.Context, i bleve.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	return p.Query.Searcher(ctx, endingReader{i}, m, o)
}

// endingReader reads terms until the context ends.
type endingReader struct{ bleve.IndexReader }

// TermFieldReader implements bleve.IndexReader.
func (r endingReader) TermFieldReader(ctx context.Context, term []byte, field string, freq, norm, vectors bool) (bleve.TermFieldReader, error) {
	pages, err := r.IndexReader.TermFieldReader(ctx, term, field, freq, norm, vectors)
	if err != nil {
		return nil, err
	}
	return &endingTerm{TermFieldReader: pages, ctx: ctx}, nil
}

// endingTerm iterates over the pages of a term until the context ends.
type endingTerm struct {
	bleve.TermFieldReader
	ctx  context.Context
	read int
}

// checkedEvery is how many pages are read between two looks at the context.
const checkedEvery = 64

// ended returns the context's error, now and then.
func (t *endingTerm) ended() error {
	if t.read++; t.read%checkedEvery != 0 {
		return nil
	}
	return t.ctx.Err()
}

// Next implements bleve.TermFieldReader.
func (t *endingTerm) Next(d *bleve.TermFieldDoc) (*bleve.TermFieldDoc, error) {
	if err := t.ended(); err != nil {
		return nil, err
	}
	return t.TermFieldReader.Next(d)
}

// Advance implements bleve.TermFieldReader.
func (t *endingTerm) Advance(to bleve.IndexInternalID, d *bleve.TermFieldDoc) (*bleve.TermFieldDoc, error) {
	if err := t.ended(); err != nil {
		return nil, err
	}
	return t.TermFieldReader.Advance(to, d)
}

// Optimize implements bleve.Optimizable: Bleve joins the sets of pages of the words before it reads a page.
func (t *endingTerm) Optimize(kind string, ctx bleve.OptimizableContext) (bleve.OptimizableContext, error) {
	if o, ok := t.TermFieldReader.(bleve.Optimizable); ok {
		return o.Optimize(kind, ctx)
	}
	return nil, nil
}
