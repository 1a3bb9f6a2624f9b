package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// search shows the pages that are about some words.
func (s *server) search(r *http.Request) (any, error) {
	shown := struct {
		Words, Site string
		NoIndex     bool
		Hits        []shownHit
		Later       string
		Found       Found
	}{Words: strings.TrimSpace(r.FormValue("q")), Site: r.FormValue("site")}
	if s.corpus == nil {
		shown.NoIndex = true
		return shown, nil
	}
	if shown.Words == "" {
		return shown, nil
	}
	q, err := parseSearch(r.URL.Query())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	found, err := s.searched(r.Context(), q, fromHere(r) == nil)
	if errors.Is(err, ErrNotFound) {
		shown.NoIndex = true
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	shown.Found = found
	for _, h := range found.Hits {
		shown.Hits = append(shown.Hits, shownHit{h, marked(h.Snippet)})
	}
	if len(found.Hits) == q.Limit {
		values := r.URL.Query()
		values.Set("from", fmt.Sprint(q.From+q.Limit))
		shown.Later = "/search?" + values.Encode()
	}
	return shown, nil
}

// shownHit is a hit and its snippet in pieces.
type shownHit struct {
	Hit
	Pieces []piece
}

// piece is a part of a snippet.
type piece struct {
	Text  string
	Found bool // one of the words
}

// marked splits a snippet into pieces; matches are between « and ».
func marked(snippet string) (pieces []piece) {
	for snippet != "" {
		before, rest, ok := strings.Cut(snippet, "«")
		if before != "" {
			pieces = append(pieces, piece{Text: before})
		}
		if !ok {
			break
		}
		found, after, _ := strings.Cut(rest, "»")
		pieces = append(pieces, piece{found, true})
		snippet = after
	}
	return pieces
}
