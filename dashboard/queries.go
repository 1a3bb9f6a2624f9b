package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// A QueryLog notes what people search and click. All methods are safe for concurrent use. They do not learn which
// person asks.
type QueryLog interface {
	// Asked notes that a search has shown some pages. It returns the name by which Clicked knows it, empty if it is not
	// noted.
	Asked(s Search, shown []Hit) (query string)
	// Clicked notes a click on a page that a search has shown, and reports whether it did.
	Clicked(query, url string) (noted bool)
}

// Click is what became of a click.
type Click struct {
	Noted bool `json:"noted"` // it counts: the search has shown the page, and nobody had clicked there before
}

// searched returns what a search finds, and notes it if it shall.
func (s *server) searched(ctx context.Context, q Search, note bool) ([]Hit, error) {
	hits, err := s.corpus.Search(ctx, q)
	if err != nil || s.queries == nil || !note {
		return hits, err
	}
	query := s.queries.Asked(q, hits)
	for i := range hits {
		hits[i].Query = query
	}
	return hits, nil
}

// clickPath is what the hits of a search lead to, where clicks are noted.
const clickPath = "/click"

// click notes a click and leads on to the view of the page that was clicked. Nothing else is led to: the page must be a
// stored one, and the address is its own here.
func (s *server) click(w http.ResponseWriter, r *http.Request) {
	page, _, err := s.clicked(r)
	if err != nil {
		s.fault(w, r, err)
		return
	}
	w.Header().Set("Location", "/page?"+url.Values{"url": {page}}.Encode())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

func (s *server) clickAPI(w http.ResponseWriter, r *http.Request) {
	_, noted, err := s.clicked(r)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, Click{noted})
}

// clicked notes a click, and returns the URL of the page that was clicked.
func (s *server) clicked(r *http.Request) (page string, noted bool, err error) {
	query, u := r.FormValue("query"), r.FormValue("url")
	if query == "" || u == "" {
		return "", false, fmt.Errorf("%w: query, url: want those of a hit", ErrOrder)
	}
	history, err := s.shown(u)
	if err != nil {
		return "", false, err
	}
	return history.Page.URL, s.queries != nil && s.queries.Clicked(query, history.Page.URL), nil
}
