package index

import (
	"context"
	"errors"
	"math"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	api "github.com/blevesearch/bleve_index_api"
)

// bounds are the most that one look does. Its time does not matter: the same search finds the same pages.
type bounds struct {
	scored int // pages; to score a million takes a large part of a second
	read   int // places of the words of phrases, or what costs as much
}

var usual = bounds{scored: 20_000, read: 1_500_000}

// look is a query for the pages that match in a field. Bleve joins the sets of pages of the words and of the filters.
// Then each page that is left is looked at, in the order of indexing: if it has the phrases it is scored. The look ends
// at its bounds. Bleve's own query for a phrase looks for the next page that has it, whatever else is asked of that
// page.
type look struct {
	Query
	terms []term
	field string
	bounds
	went *course
}

// course says how a look went.
type course struct {
	pages, scored int
	read          int  // as in bounds
	cut           bool // it ended before the last page
	most          int  // if it was cut: no more pages than these match
}

// Searcher implements query.Query.
func (l look) Searcher(ctx context.Context, i api.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	all, scored := bleve.NewBooleanQuery(), bleve.NewBooleanQuery()
	for field, value := range l.whole() {
		all.AddMust(wordIn(field, value))
	}
	if !l.Since.IsZero() || !l.Before.IsZero() {
		within := bleve.NewDateRangeQuery(l.Since, l.Before)
		within.SetField("changed")
		all.AddMust(within)
	}
	for _, word := range positive(l.terms) {
		all.AddMust(wordIn(l.field, word))
		scored.AddMust(wordIn(l.field, word))
		if l.field != "title" {
			scored.AddShould(wordIn("title", word))
		}
	}
	for _, t := range l.terms {
		if t.without && len(t.words) == 1 {
			all.AddMustNot(wordIn("text", t.words[0])) // it has the title's words too
		}
	}
	pages, err := all.Searcher(ctx, i, m, search.SearcherOptions{Score: "none"})
	if err != nil {
		return nil, err
	}
	s := &looker{look: l, ctx: ctx, index: i, pages: pages}
	s.Searcher, err = scored.Searcher(ctx, i, m, o)
	if err != nil {
		return nil, errors.Join(err, pages.Close())
	}
	for _, t := range l.terms {
		if len(t.words) > 1 {
			err = errors.Join(err, s.add(t))
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// whole returns the fields that must have a value, with it.
func (q *Query) whole() map[string]string {
	fields := map[string]string{}
	if q.Site != "" {
		fields["site"] = string(q.Site)
	}
	if q.Language != "" {
		fields["language"] = q.Language
	}
	return fields
}

// wordIn is a query for a word in a field.
func wordIn(field, word string) query.Query {
	q := bleve.NewTermQuery(word)
	q.SetField(field)
	if field == "title" {
		q.SetBoost(titleCounts)
	}
	return q
}

// looker is a look under way. The searcher in it scores a page.
type looker struct {
	search.Searcher
	look
	ctx     context.Context
	index   api.IndexReader
	pages   search.Searcher // that are looked at
	phrases []choice
}

// choice is a phrase that a page must have in one of some fields, or in none of them.
type choice struct {
	without bool
	in      []*phrase
}

func (s *looker) add(t term) error {
	c := choice{without: t.without}
	for _, field := range []string{"text", "title"} {
		if field == "text" && s.field == "title" && !t.without {
			continue
		}
		p, err := newPhrase(s.ctx, s.index, field, t.words)
		if err != nil {
			return err
		}
		c.in = append(c.in, p)
	}
	s.phrases = append(s.phrases, c)
	return nil
}

// Next implements search.Searcher.
func (s *looker) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	page, err := s.pages.Next(ctx)
	return s.from(ctx, page, err)
}

// Advance implements search.Searcher.
func (s *looker) Advance(ctx *search.SearchContext, to api.IndexInternalID) (*search.DocumentMatch, error) {
	page, err := s.pages.Advance(ctx, to)
	return s.from(ctx, page, err)
}

// from returns the first match from a page on.
func (s *looker) from(ctx *search.SearchContext, page *search.DocumentMatch, err error) (*search.DocumentMatch, error) {
	for page != nil && err == nil {
		if s.went.scored >= s.scored || s.went.read >= s.read {
			return nil, s.cut()
		}
		s.went.pages++
		var ok bool
		if ok, err = s.matches(page.IndexInternalID); err != nil {
			break
		}
		if ok {
			s.went.scored++
			scored, err := s.Searcher.Advance(ctx, page.IndexInternalID)
			ctx.DocumentMatchPool.Put(page)
			return scored, err
		}
		ctx.DocumentMatchPool.Put(page)
		page, err = s.pages.Next(ctx)
	}
	return nil, err
}

// matches reports whether a page has the phrases that it must have, and no other.
func (s *looker) matches(page api.IndexInternalID) (bool, error) {
	for _, c := range s.phrases {
		has := false
		for _, p := range c.in {
			cost, err := p.in(page)
			if err != nil {
				return false, err
			}
			if s.went.read += cost; len(p.starts) > 0 {
				has = true
				break
			}
		}
		if has == c.without {
			return false, nil
		}
	}
	return true, nil
}

// cut ends the look, and counts the pages that the rarest of its words and filters has.
func (s *looker) cut() error {
	s.went.cut, s.went.most = true, math.MaxInt
	count := func(field, word string) error {
		pages, err := s.index.TermFieldReader(s.ctx, []byte(word), field, false, false, false)
		if err != nil {
			return err
		}
		s.went.most = min(s.went.most, int(pages.Count()))
		return pages.Close()
	}
	var err error
	for _, word := range positive(s.terms) {
		err = errors.Join(err, count(s.field, word))
	}
	for field, value := range s.whole() {
		err = errors.Join(err, count(field, value))
	}
	return err
}

// Close implements search.Searcher.
func (s *looker) Close() error {
	err := errors.Join(s.Searcher.Close(), s.pages.Close())
	for _, c := range s.phrases {
		for _, p := range c.in {
			err = errors.Join(err, p.close())
		}
	}
	return err
}

// DocumentMatchPoolSize implements search.Searcher.
func (s *looker) DocumentMatchPoolSize() int {
	return s.Searcher.DocumentMatchPoolSize() + s.pages.DocumentMatchPoolSize()
}

// marks is a query for pages by their addresses. Each match says where the terms are in its text.
type marks struct {
	*query.DocIDQuery
	terms []term
}

// Searcher implements query.Query.
func (q marks) Searcher(ctx context.Context, i api.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	pages, err := q.DocIDQuery.Searcher(ctx, i, m, o)
	if err != nil {
		return nil, err
	}
	s := &marker{Searcher: pages}
	for _, t := range q.terms {
		if t.without {
			continue
		}
		p, err := newPhrase(ctx, i, "text", t.words)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.phrases = append(s.phrases, p)
	}
	return s, nil
}

// marker is the searcher of marks.
type marker struct {
	search.Searcher
	phrases []*phrase
}

// Next implements search.Searcher.
func (s *marker) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	page, err := s.Searcher.Next(ctx)
	if page == nil || err != nil {
		return nil, err
	}
	for _, p := range s.phrases {
		if _, err := p.in(page.IndexInternalID); err != nil {
			return nil, err
		}
		page.FieldTermLocations = p.locations(page.FieldTermLocations)
	}
	return page, nil
}

// Close implements search.Searcher.
func (s *marker) Close() error {
	err := s.Searcher.Close()
	for _, p := range s.phrases {
		err = errors.Join(err, p.close())
	}
	return err
}
