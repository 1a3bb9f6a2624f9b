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

// A Query describes the pages to find. Zero values do not filter.
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
	longestQuery   = 32 // words, also in phrases
	titleCounts    = 3  // times the weight of the text
	snippetLength  = 320
	searchedBeyond = 4 // times the wanted number, because some may no longer be shown
)

// longestSearch is how long a search may take.
const longestSearch = 3 * time.Second

// ErrSlow matches the errors of searches that take too long: of phrases of common words.
var ErrSlow = errors.New("index: the search takes too long")

// Search returns the pages that match a query, the best first. Its error is ErrQuery or ErrSlow if the query is at
// fault.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	within, cancel := context.WithTimeout(ctx, x.patience)
	defer cancel()
	hits, err := x.search(within, q)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: more than %v: leave out the quotes, or add a word that few pages have", ErrSlow, x.patience)
	}
	return hits, err
}

func (x *Index) search(ctx context.Context, q Query) ([]Hit, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	terms, err := x.terms(q.Words)
	if err != nil {
		return nil, err
	}
	wants := q.build(terms)
	var hits []Hit
	var ids []string
	from := 0
	for skipped := 0; len(hits) < q.Limit && from < (q.From+q.Limit)*searchedBeyond; {
		size := q.Limit + q.From - skipped
		found, err := x.ask(ctx, wants, size, from)
		if err != nil {
			return nil, err
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
		if len(found) < size { // there are no more; to ask again would take as long
			break
		}
	}
	if len(hits) == 0 {
		return nil, nil
	}
	snippets, err := x.snippets(ctx, terms, ids)
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

// snippets returns what was found in the text of each page. It asks again for these pages alone: to highlight, Bleve
// reads where the words stand in every page that has them.
func (x *Index) snippets(ctx context.Context, terms []term, ids []string) (map[string]string, error) {
	wants := bleve.NewBooleanQuery()
	wants.AddMust(bleve.NewDocIDQuery(ids))
	for _, t := range terms {
		if !t.without {
			wants.AddShould(t.in("text"))
		}
	}
	request := bleve.NewSearchRequestOptions(wants, len(ids), 0, false)
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
	return wholeWords(text)
}

// longestCut is the most bytes of a word that wholeWords leaves out: other writing has no spaces between words.
const longestCut = 24

// wholeWords leaves out what a snippet has of a word at an end where the text goes on, unless it is found.
func wholeWords(text string) string {
	if rest, cut := strings.CutPrefix(text, "…"); cut {
		if i := strings.IndexByte(rest, ' '); 0 <= i && i <= longestCut && !strings.Contains(rest[:i], "«") {
			text = "…" + rest[i:]
		}
	}
	if rest, cut := strings.CutSuffix(text, "…"); cut {
		if i := strings.LastIndexByte(rest, ' '); i >= max(1, len(rest)-longestCut) && !strings.Contains(rest[i:], "»") {
			text = rest[:i+1] + "…"
		}
	}
	return text
}

// ErrQuery matches the errors of queries without a word or with too many.
var ErrQuery = errors.New("index: not a query")

// build makes what Bleve is asked: for the pages that have all terms, and for those that have them all in the title,
// which are looked at also where the others are too many.
func (q Query) build(terms []term) query.Query {
	enough := max(enoughFound, (q.From+q.Limit)*searchedBeyond)
	return bleve.NewDisjunctionQuery(first{q.in(terms, "text"), enough}, first{q.in(terms, "title"), enough})
}

// in asks for the pages that have each term in a field. The text has the words of the title too, but not its phrases.
func (q Query) in(terms []term, field string) query.Query {
	all := bleve.NewBooleanQuery()
	for _, t := range terms {
		switch {
		case t.without:
			all.AddMustNot(t.in("title"), t.in("text"))
		case field == "text" && t.phrase:
			all.AddMust(bleve.NewDisjunctionQuery(t.in("title"), t.in("text")))
		case field == "text":
			all.AddMust(t.in("text"))
			all.AddShould(t.in("title"))
		default:
			all.AddMust(t.in(field))
		}
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
	return all
}

// term is a word or phrase of a query. A word is as it is indexed: nothing in it is a pattern.
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
		return phrase{q, t.without}
	}
	q := bleve.NewTermQuery(t.words)
	q.SetField(field)
	q.SetBoost(boost)
	return q
}

// terms takes the words of a query apart. What is one word to a reader and several to the index, such as "a-b", is
// each of these; with a minus before it, it is a phrase.
func (x *Index) terms(words string) (terms []term, err error) {
	analyzer := x.bleve.Mapping().AnalyzerNamed(inWords)
	positive, asked := false, 0
	for rest := strings.TrimSpace(words); rest != ""; rest = strings.TrimSpace(rest) {
		t := term{}
		if after, ok := strings.CutPrefix(rest, "-"); ok {
			t.without, rest = true, after
		}
		if after, ok := strings.CutPrefix(rest, `"`); ok {
			t.phrase = true
			t.words, rest, _ = strings.Cut(after, `"`)
		} else {
			end := strings.IndexAny(rest, " \t\n")
			if end < 0 {
				end = len(rest)
			}
			t.words, rest = rest[:end], rest[end:]
		}
		parts := analyzer.Analyze([]byte(t.words))
		positive = positive || !t.without && len(parts) > 0
		asked += len(parts)
		if len(parts) > 1 && (t.phrase || t.without) {
			t.phrase = true
			terms = append(terms, t)
			continue
		}
		for _, part := range parts {
			terms = append(terms, term{words: string(part.Term), without: t.without})
		}
	}
	if asked > longestQuery {
		return nil, fmt.Errorf("%w: %d words: want at most %d", ErrQuery, asked, longestQuery)
	}
	if !positive {
		return nil, fmt.Errorf("%w: %q: want a word to find; words with a minus only leave pages out", ErrQuery, words)
	}
	return terms, nil
}
