package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// A QueryLog logs searches and clicks, but not those that pages of other sites send. All methods are safe for
// concurrent use. They do not learn which person searches.
type QueryLog interface {
	// Asked logs that a search showed some pages. It returns the search's name for Clicked; empty if it is not
	// logged.
	Asked(s Search, shown []Hit) (query string)
	// Clicked logs a click on a page that a search showed, and reports whether it did.
	Clicked(query, url string) (noted bool)
}

// Click is the result of a click.
type Click struct {
	Noted bool `json:"noted"` // it counts: the search showed the page, and this is its first click
}

// searched returns what a search finds. It logs the search if note is set.
func (s *server) searched(ctx context.Context, q Search, note bool) (Found, error) {
	found, err := s.corpus.Search(ctx, q)
	if err != nil || s.queries == nil || !note {
		return found, err
	}
	query := s.queries.Asked(q, found.Hits)
	for i := range found.Hits {
		found.Hits[i].Query = query
	}
	return found, nil
}

// clickPath is the address that hits link to if clicks are logged.
const clickPath = "/click"

// click logs a click and redirects to the view of the clicked page. The page must be a stored one, so click
// redirects nowhere else.
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

// clicked logs a click, unless a page of another site sent it, and returns the URL of the clicked page.
func (s *server) clicked(r *http.Request) (page string, noted bool, err error) {
	query, u := r.FormValue("query"), r.FormValue("url")
	if query == "" || u == "" {
		return "", false, fmt.Errorf("%w: query, url: want those of a hit", ErrOrder)
	}
	history, err := s.shown(u)
	if err != nil {
		return "", false, err
	}
	return history.Page.URL, s.queries != nil && fromHere(r) == nil && s.queries.Clicked(query, history.Page.URL), nil
}
