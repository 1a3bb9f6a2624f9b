package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Finding is the result of a search of URLs so far. The page with exactly that URL comes first. Then come sites and
// pages whose name or URL contains the text, ignoring case. Pages are not ordered by URL, so one look reads a
// bounded number of them.
type Finding struct {
	Sites  []string
	Pages  []Page
	Looked int64  // pages that were read
	Next   string // where the next look continues; empty: all pages were read
}

// find shows the pages found by a URL or a part of it.
func (s *server) find(r *http.Request) (title string, shown any, err error) {
	part := strings.TrimSpace(r.FormValue("q"))
	if len(part) > longestFind {
		return "", nil, fmt.Errorf("%w: q: "+moreThanThat, ErrOrder, longestFind)
	}
	found, err := s.reader.Find(part, r.FormValue("after"))
	if err != nil {
		return "", nil, err
	}
	further := ""
	if found.Next != "" {
		further = "/find?" + url.Values{"q": {part}, "after": {found.Next}}.Encode()
	}
	return "Find", struct {
		Part, Further string
		WholeURL      bool
		Found         Finding
	}{part, further, strings.Contains(part, "://"), found}, nil
}
