package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Text is the text of a version of a page.
type Text struct {
	URL         string     `json:"url"`
	Version     uint32     `json:"version"`
	At          time.Time  `json:"at"`
	Title       string     `json:"title"`
	Byline      string     `json:"byline,omitempty"`
	Date        *time.Time `json:"date,omitempty"` // of publication
	Language    string     `json:"language,omitempty"`
	Text        string     `json:"text"`
	Markdown    string     `json:"markdown,omitempty"`
	SiteLearned bool       `json:"site_learned"` // repeated blocks of the site were left out
	// Signals are as in Version.
	Signals []string `json:"signals,omitempty"`
}

// Duplicates are pages whose last versions say nearly the same.
type Duplicates struct {
	Cluster string   `json:"cluster"` // the URL of one of them
	Pages   int      `json:"pages"`
	Exact   bool     `json:"exact"` // the bodies are the same, byte by byte
	URLs    []string `json:"urls"`
}

// Hit is a page that a search found. Freshness is the believed probability that it has not changed since it was
// fetched; absent if too little is known.
type Hit struct {
	URL         string     `json:"url"`
	Title       string     `json:"title"`
	Snippet     string     `json:"snippet"` // matches are between « and »
	Score       float64    `json:"score"`
	Site        string     `json:"site"`
	Language    string     `json:"language,omitempty"`
	Date        *time.Time `json:"date,omitempty"`
	LastFetched *time.Time `json:"last_fetched"`
	Freshness   *float64   `json:"freshness,omitempty"`
	Version     uint32     `json:"version"`           // the last one that is stored
	Query       string     `json:"query,omitempty"`   // name of the search for a click; empty if clicks are not logged
	Partial     bool       `json:"partial,omitempty"` // the results are partial, see Found
}

// Found is what a search has found.
type Found struct {
	Hits []Hit // the best first

	// Partial says that not every page that may match was looked at: a page may be missing, also a better one.
	Partial bool

	// Looked counts the pages that were looked at. If the results are partial, no more than Most pages match.
	Looked, Most int64
}

// PartialHeader is a header of partial results, also of those without a hit: looked=N, most=N, as in Found.
const PartialHeader = "Freshet-Partial"

// Search is a search. Zero values are no filters.
type Search struct {
	Words         string
	Site          string
	Language      string
	Since, Before time.Time // of the last change
	From, Limit   int
}

// The bounds of a search.
const (
	longestSearch = 1 << 10 // bytes of its words
	defaultHits   = 10
	maxHits       = 100
	deepestHit    = 10_000
)

// Corpus reads the texts of a data directory. All methods are safe for concurrent use.
type Corpus interface {
	// Text returns what a version says: its number, or 0 for the last one at time at (zero: now). It returns
	// ErrNotFound if there is none.
	Text(ctx context.Context, url string, version uint32, at time.Time, markdown bool) (Text, error)
	// Duplicates iterates over the groups of near-duplicate pages, the largest first.
	Duplicates(ctx context.Context) iter.Seq2[Duplicates, error]
	// Search returns pages. It returns ErrNotFound if there is no index.
	Search(ctx context.Context, s Search) (Found, error)
}

// corpusEndpoints are the endpoints that read texts.
func (s *server) corpusEndpoints(c Corpus) []endpoint {
	get := http.MethodGet
	return []endpoint{
		{get, "/api/v1/text", "The main text of a stored version, without what repeats across its site.", []parameter{
			{"url", "string", "a page", true},
			{"version", "integer", "number of the version; the newest if none is given", false},
			{"at", "date-time", "the version that was current at this time", false},
			{"markdown", "true|false", "true: as Markdown too", false}}, nil, typeJSON, Text{}, s.textOf(c)},
		{get, "/api/v1/duplicates", "Groups of pages with nearly the same text, one group per line.", nil, nil, typeLines, Duplicates{}, duplicatesOf(c)},
		{get, "/api/v1/search", "Pages that have some words, the best first, one hit per line. If not every page that may match was looked at, each hit is marked as partial, and the header " + PartialHeader + " says how many were.", []parameter{
			{"q", "string", "the words; \"in quotes\" a phrase, -word without it", true},
			{"site", "string", "only pages of this site, such as https://example.org", false},
			{"language", "string", "only pages in this language, such as en", false},
			{"since", "date-time", "only pages that changed then or later", false},
			{"before", "date-time", "only pages that last changed before", false},
			{"from", "integer", "number of hits to skip", false},
			{"limit", "integer", "hits, at most 100; 10 if none is given", false},
			{"noted", "true|false", "false: the search does not go into the log of queries", false}}, nil, typeLines, Hit{}, s.searchAPI},
		{get, "/api/v1/click", "Note that somebody has clicked on a hit of a search. /click takes the same, and leads to the page's own view.", []parameter{
			{"query", "string", "of the hit", true},
			{"url", "string", "of the hit", true}}, nil, typeJSON, Click{}, s.clickAPI},
	}
}

func (s *server) textOf(c Corpus) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		version, at, err := versionAsked(query)
		if err != nil {
			Refuse(w, http.StatusBadRequest, err)
			return
		}
		if _, err := s.shown(query.Get("url")); err != nil {
			fail(w, err)
			return
		}
		said, err := c.Text(r.Context(), query.Get("url"), version, at, query.Get("markdown") == "true")
		if err != nil {
			fail(w, err)
			return
		}
		writeJSON(w, said)
	}
}

func duplicatesOf(c Corpus) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { sendLines(w, c.Duplicates(r.Context())) }
}

func (s *server) searchAPI(w http.ResponseWriter, r *http.Request) {
	q, err := parseSearch(r.URL.Query())
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	found, err := s.searched(r.Context(), q, r.FormValue("noted") != "false" && fromHere(r) == nil)
	if err != nil {
		fail(w, err)
		return
	}
	if found.Partial {
		w.Header().Set(PartialHeader, fmt.Sprintf("looked=%d, most=%d", found.Looked, found.Most))
	}
	sendLines(w, func(yield func(Hit, error) bool) {
		for _, hit := range found.Hits {
			hit.Partial = found.Partial
			if !yield(hit, nil) {
				return
			}
		}
	})
}

// parseSearch reads the query of a search.
func parseSearch(query url.Values) (s Search, err error) {
	s = Search{Words: query.Get("q"), Site: query.Get("site"), Language: query.Get("language")}
	if s.Words == "" || len(s.Words) > longestSearch {
		return s, fmt.Errorf("q: want some words, at most %d bytes", longestSearch)
	}
	var faults [4]error
	s.Since, faults[0] = timeOf(query, "since")
	s.Before, faults[1] = timeOf(query, "before")
	s.From, faults[2] = number(query, "from", 0, deepestHit)
	s.Limit, faults[3] = number(query, "limit", defaultHits, maxHits)
	return s, errors.Join(faults[:]...)
}

// versionAsked reads which version of a page a query asks for: its number, or 0, and the time at which it was held, or
// zero.
func versionAsked(query url.Values) (version uint32, at time.Time, err error) {
	n, wrong := number(query, "version", 0, math.MaxUint32)
	at, err = timeOf(query, "at")
	return uint32(n), at, errors.Join(wrong, err)
}

// number reads a number of a query that lies between 0 and most.
func number(query url.Values, name string, without, most int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s %q: want a number up to %d", name, text, most)
	}
	return n, nil
}

// timeOf reads a time of a query, zero if it has none.
func timeOf(query url.Values, name string) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s %q: want a time such as 2026-01-31T12:00:00Z", name, text)
	}
	return at, nil
}

// sendLines answers with one line of JSON each. An error before the first line is the answer; a later error is the
// last line: {"error":…}.
func sendLines[T any](w http.ResponseWriter, lines iter.Seq2[T, error]) {
	out := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	begun := false
	for line, err := range lines {
		switch {
		case err != nil && !begun:
			fail(w, err)
			return
		case err != nil:
			_ = encoder.Encode(map[string]string{"error": err.Error()})
			out.Flush()
			return
		case !begun:
			w.Header().Set("Content-Type", typeLines)
			begun = true
		}
		if encoder.Encode(line) != nil {
			return // the client has gone
		}
	}
	if !begun {
		w.Header().Set("Content-Type", typeLines)
		w.WriteHeader(http.StatusOK)
	}
	out.Flush()
}
