package index

import (
	"context"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"

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

// Found is what a search has found.
type Found struct {
	Hits []Hit // the best first

	// Partial says that not every page that may match was looked at: a page may be missing, also a better one.
	Partial bool

	// Looked counts the pages that were looked at. If the results are partial, no more than Most pages match.
	Looked, Most int
}

// Search returns the pages that match a query. Its error is ErrQuery if the query is at fault.
func (x *Index) Search(ctx context.Context, q Query) (found Found, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	terms, err := x.terms(q.Words)
	if err != nil {
		return found, err
	}
	var ids []string
	from := 0
	for skipped := 0; len(found.Hits) < q.Limit && from < (q.From+q.Limit)*searchedBeyond; {
		size := q.Limit + q.From - skipped
		matches, err := x.ask(ctx, q, terms, size, from, &found)
		if err != nil {
			return found, err
		}
		from += len(matches)
		for _, match := range matches {
			hit, ok, err := x.hit(match)
			switch {
			case err != nil:
				return found, err
			case !ok || len(found.Hits) >= q.Limit:
			case skipped < q.From:
				skipped++
			default:
				found.Hits, ids = append(found.Hits, hit), append(ids, match.ID)
			}
		}
		if len(matches) < size { // there are no more; to ask again would take as long
			break
		}
	}
	if len(found.Hits) == 0 {
		return found, nil
	}
	snippets, err := x.snippets(ctx, terms, ids)
	for i := range found.Hits {
		found.Hits[i].Snippet = snippets[ids[i]]
	}
	return found, err
}

// ask returns the matches in Bleve, including pages that may not be shown. It looks for the pages that have all terms,
// and for those that have them all in the title, which are looked at also where the others are too many. It notes in
// found how it went.
func (x *Index) ask(ctx context.Context, q Query, terms []term, size, from int, found *Found) (search.DocumentMatchCollection, error) {
	var text, title course
	both := bleve.NewDisjunctionQuery(look{q, terms, "text", x.bounds, &text}, look{q, terms, "title", x.bounds, &title})
	request := bleve.NewSearchRequestOptions(both, size, from, false)
	request.Fields = []string{"title", "language"}
	answer, err := x.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	found.Partial, found.Looked, found.Most = text.cut || title.cut, text.pages, max(text.most, title.most)
	return answer.Hits, nil
}

// snippets returns what was found in the text of each page. It asks again for these pages alone: to highlight, Bleve
// reads where the words stand in every page that has them.
func (x *Index) snippets(ctx context.Context, terms []term, ids []string) (map[string]string, error) {
	request := bleve.NewSearchRequestOptions(marks{bleve.NewDocIDQuery(ids), terms}, len(ids), 0, false)
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

// term is a word of a query, or the words of a phrase. A word is as it is indexed: nothing in it is a pattern.
type term struct {
	words   []string
	without bool
}

// positive returns the words that a page must have, each once.
func positive(terms []term) (words []string) {
	for _, t := range terms {
		if !t.without {
			words = append(words, t.words...)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// terms takes the words of a query apart. What is one word to a reader and several to the index, such as "a-b", is
// each of these; with a minus before it, it is a phrase.
func (x *Index) terms(words string) (terms []term, err error) {
	analyzer := x.bleve.Mapping().AnalyzerNamed(inWords)
	asked := 0
	for rest := strings.TrimSpace(words); rest != ""; rest = strings.TrimSpace(rest) {
		var without, quoted bool
		var said string
		rest, without = strings.CutPrefix(rest, "-")
		if rest, quoted = strings.CutPrefix(rest, `"`); quoted {
			said, rest, _ = strings.Cut(rest, `"`)
		} else {
			end := strings.IndexAny(rest, " \t\n")
			if end < 0 {
				end = len(rest)
			}
			said, rest = rest[:end], rest[end:]
		}
		var all []string
		for _, part := range analyzer.Analyze([]byte(said)) {
			all = append(all, string(part.Term))
		}
		asked += len(all)
		if len(all) > 0 && (quoted || without) {
			terms = append(terms, term{all, without})
			continue
		}
		for _, word := range all {
			terms = append(terms, term{words: []string{word}})
		}
	}
	if asked > longestQuery {
		return nil, fmt.Errorf("%w: %d words: want at most %d", ErrQuery, asked, longestQuery)
	}
	if len(positive(terms)) == 0 {
		return nil, fmt.Errorf("%w: %q: want a word to find; words with a minus only leave pages out", ErrQuery, words)
	}
	return terms, nil
}
