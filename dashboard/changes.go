package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// ChangeQuery selects among the last changes.
type ChangeQuery struct {
	Site   string
	Kind   string    // one of ChangeKinds; empty: all
	Before time.Time // zero: up to now
	Limit  int
}

// ChangeKinds are the kinds of changes of a page.
var ChangeKinds = []string{"new", "changed", "moved", "gone", "withdrawn", "purged"}

// Change is the last change of a page.
type Change struct {
	URL     string
	Kind    string
	At      time.Time
	Version uint32
	MovedTo string
}

// changesAtOnce is how many changes are shown at once.
const changesAtOnce = 50

// changes shows the last changes, the newest first.
func (s *server) changes(r *http.Request) (any, error) {
	query := r.URL.Query()
	q := ChangeQuery{Site: query.Get("site"), Kind: query.Get("kind"), Limit: changesAtOnce}
	if q.Kind != "" && !slices.Contains(ChangeKinds, q.Kind) {
		return nil, fmt.Errorf("%w: kind %.50q: want one of %v", ErrOrder, q.Kind, ChangeKinds)
	}
	var err error
	if q.Before, err = timeOf(query, "before"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	all, err := s.reader.LastChanges(q)
	if err != nil {
		return nil, err
	}
	shown := struct {
		Query         ChangeQuery
		Kinds         []string
		Changes       []shownChange
		Later, Stream string
	}{Query: q, Kinds: ChangeKinds}
	if s.streams {
		shown.Stream = "/api/v1/changes?" + url.Values{"since": {"start"}, "site": {q.Site}}.Encode()
	}
	for _, c := range all {
		one := shownChange{Change: c}
		if c.Kind == "changed" && c.Version > 1 {
			one.Diff = "/diff?" + url.Values{"url": {c.URL}, "from": {fmt.Sprint(c.Version - 1)}, "to": {fmt.Sprint(c.Version)}}.Encode()
		}
		shown.Changes = append(shown.Changes, one)
	}
	if len(all) == q.Limit {
		shown.Later = "/changes?" + url.Values{"site": {q.Site}, "kind": {q.Kind}, "before": {all[len(all)-1].At.Format(time.RFC3339Nano)}}.Encode()
	}
	return shown, nil
}

// shownChange is a change in the list.
type shownChange struct {
	Change
	Diff string // address; empty: there is none
}
