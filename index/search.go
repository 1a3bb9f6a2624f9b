package index

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"freshet/store"
	"freshet/weburl"
)

// A Query says which pages to find. Zero values do not filter.
type Query struct {
	Words         string // all of them; "in quotes" a phrase, -word excludes a word
	Site          weburl.Site
	Language      string
	Since, Before time.Time // of the last change
	From, Limit   int
}

// A Hit is a page that was found.
type Hit struct {
	Page     store.PageAt
	Title    string
	Snippet  string // of the text, with the words found between « and »
	Score    float64
	Language string
}

const (
	longestQuery   = 32 // words and phrases
	titleCounts    = 3  // times the weight of the text
	snippetLength  = 320
	searchedBeyond = 4 // times the wanted number, because some may no longer be shown
)

// Search returns the pages that match a query, the best first.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	wants, err := q.build()
	if err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var hits []Hit
	var ids []string
	from := 0
	for skipped := 0; len(hits) < q.Limit && from < (q.From+q.Limit)*searchedBeyond; {
		found, err := x.ask(ctx, wants, q.Limit+q.From-skipped, from)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			break
		}
		from += len(found)
		for _, match := range found {
			hit, ok, err := x.hit(match)
			switch {
			case err != nil:
				return nil, err
			case !ok || len(hits) >= q.Limit:
			case skipped < q.From:
				skipped++
			default:
				hits, ids = append(hits, hit), append(ids, match.ID)
			}
		}
	}
	snippets, err := x.snippets(ctx, wants, ids)
	if err != nil {
		return nil, err
	}
	for i := range hits {
		hits[i].Snippet = snippets[ids[i]]
	}
	return hits, nil
}

// ask returns the matches in Bleve, including pages that may not be shown.
func (x *Index) ask(ctx context.Context, wants query.Query, size, from int) (search.DocumentMatchCollection, error) {
	request := bleve.NewSearchRequestOptions(wants, size, from, false)
	request.Fields = []string{"title", "language"}
	found, err := x.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return found.Hits, nil
}

// snippets returns a snippet of each page. It searches again among these pages only, because to highlight, Bleve
// reads the positions of the words in every page that has them.
func (x *Index) snippets(ctx context.Context, wants query.Query, ids []string) (map[string]string, error) {
	request := bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(bleve.NewDocIDQuery(ids), wants), len(ids), 0, false)
	request.Highlight = bleve.NewHighlightWithStyle("html")
	request.Highlight.AddField("text")
	found, err := x.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	snippets := make(map[string]string, len(ids))
	for _, match := range found.Hits {
		snippets[match.ID] = snippet(match.Fragments["text"])
	}
	return snippets, nil
}

// hit reads a found page from the store. ok is false if it may not be shown.
func (x *Index) hit(match *search.DocumentMatch) (hit Hit, ok bool, err error) {
	u, err := weburl.Parse(match.ID)
	if err != nil {
		return hit, false, nil
	}
	row, fingerprint, err := x.o.Store.PageOf(u)
	if errors.Is(err, store.ErrNotFound) {
		return hit, false, nil
	}
	if err != nil || !wanted(&row) {
		return hit, false, err
	}
	hit = Hit{Page: store.PageAt{Fingerprint: fingerprint, Page: row}, Score: match.Score}
	hit.Title, _ = match.Fields["title"].(string)
	hit.Language, _ = match.Fields["language"].(string)
	return hit, true, nil
}

// snippet turns a fragment of HTML into plain text.
func snippet(fragments []string) string {
	if len(fragments) == 0 {
		return ""
	}
	text := strings.NewReplacer("<mark>", "«", "</mark>", "»").Replace(fragments[0])
	text = strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	if len(text) > snippetLength {
		text = strings.ToValidUTF8(text[:snippetLength], "") + "…"
	}
	return text
}

// ErrQuery matches the errors of queries without a word or with too many.
var ErrQuery = errors.New("index: not a query")

// build makes the query for Bleve: pages with all words, and pages with all words in the title. The latter are
// searched even if there are too many of the former.
func (q Query) build() (query.Query, error) {
	anywhere, err := q.in("title", "text")
	if err != nil {
		return nil, err
	}
	titled, err := q.in("title")
	return bleve.NewDisjunctionQuery(first{anywhere}, first{titled}), err
}

// in returns a query for the pages with each word in one of the fields. Words are literal: they contain no patterns.
func (q Query) in(fields ...string) (query.Query, error) {
	terms := termsOf(q.Words)
	if len(terms) > longestQuery {
		return nil, fmt.Errorf("%w: %d words: want at most %d", ErrQuery, len(terms), longestQuery)
	}
	all := bleve.NewBooleanQuery()
	positive := false
	for _, t := range terms {
		if t.without {
			all.AddMustNot(t.in("title"), t.in("text"))
			continue
		}
		positive = true
		places := bleve.NewDisjunctionQuery()
		for _, field := range fields {
			places.AddQuery(t.in(field))
		}
		all.AddMust(places)
	}
	if !positive {
		return nil, fmt.Errorf("%w: %q: want a word", ErrQuery, q.Words)
	}
	filter := func(field, value string) {
		if value != "" {
			only := bleve.NewTermQuery(value)
			only.SetField(field)
			only.SetBoost(0)
			all.AddMust(only)
		}
	}
	filter("site", string(q.Site))
	filter("language", q.Language)
	if !q.Since.IsZero() || !q.Before.IsZero() {
		within := bleve.NewDateRangeQuery(q.Since, q.Before)
		within.SetField("changed")
		within.SetBoost(0)
		all.AddMust(within)
	}
	return all, nil
}

// term is a word or phrase of a query.
type term struct {
	words   string
	phrase  bool
	without bool
}

// in returns a query for the term in a field.
func (t term) in(field string) query.Query {
	boost := 1.0
	if field == "title" {
		boost = titleCounts
	}
	if t.phrase {
		q := bleve.NewMatchPhraseQuery(t.words)
		q.SetField(field)
		q.SetBoost(boost)
		return q
	}
	q := bleve.NewMatchQuery(t.words)
	q.SetField(field)
	q.SetBoost(boost)
	q.SetOperator(query.MatchQueryOperatorAnd)
	return q
}

// termsOf splits a query into words and phrases.
func termsOf(words string) (terms []term) {
	for words = strings.TrimSpace(words); words != ""; words = strings.TrimSpace(words) {
		t := term{}
		if rest, ok := strings.CutPrefix(words, "-"); ok {
			t.without, words = true, rest
		}
		if rest, ok := strings.CutPrefix(words, `"`); ok {
			t.phrase = true
			t.words, words, _ = strings.Cut(rest, `"`)
		} else {
			end := strings.IndexAny(words, " \t\n")
			if end < 0 {
				end = len(words)
			}
			t.words, words = words[:end], words[end:]
		}
		if strings.TrimSpace(t.words) != "" {
			terms = append(terms, t)
		}
	}
	return terms
}
