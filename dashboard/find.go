package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Finding is what a search of URLs has come to so far. The page of that URL comes first. Then come sites whose names
// have the text, and pages in whose URL it is, in any case of its letters, as far as one look went: pages lie in no
// order of their URLs, so a look goes through so many of them and no more.
type Finding struct {
	Sites  []string
	Pages  []Page
	Looked int64  // pages that were looked at for it
	Next   string // where the next look goes on; empty: all has been looked at
}

// find shows what is found by a URL or a part of it.
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
