package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/weburl"
)

// PageStates are the states of pages.
var PageStates = []string{"pending", "live", "redirect", "moved", "missing", "gone", "error", "unreached", "denied", "withdrawn", "purged"}

// Filter selects rows of the page table. A zero field selects all.
type Filter struct {
	Site, State   string
	Status        int       // of the last visit; 0: any
	ChangedSince  time.Time // last changed then or later
	FetchedBefore time.Time // last fetched before that, or never
	DueBefore     time.Time // due before that
}

// filterParameters are the fields of a Filter as query parameters.
func filterParameters() []parameter {
	return []parameter{
		{"site", "string", "only pages of this site, such as https://example.org", false},
		{"state", strings.Join(PageStates, "|"), "only pages in this state", false},
		{"status", "integer", "only pages whose last answer had this HTTP status", false},
		{"changed_since", "date-time", "only pages that changed at or after this time", false},
		{"fetched_before", "date-time", "only pages that were last fetched before this time, or never", false},
		{"due_before", "date-time", "only pages that are due before this time", false},
	}
}

// changeParameters are the parameters of the change feed.
func changeParameters() []parameter {
	return []parameter{
		{"since", "string", "cursor to continue from; start: the oldest change that is kept; none: from now", false},
		{"site", "string", "only pages of this site, such as https://example.org", false},
		{"follow", "true|false", "false: end with the newest change", false},
	}
}

// parseFilter reads the filter of a query.
func parseFilter(query url.Values) (f Filter, err error) {
	f = Filter{Site: query.Get("site"), State: query.Get("state")}
	if f.Site != "" {
		u, err := weburl.Parse(f.Site)
		if err != nil {
			return f, fmt.Errorf("site %.100q: want one such as https://example.org", f.Site)
		}
		f.Site = string(u.Site())
	}
	if f.State != "" && !slices.Contains(PageStates, f.State) {
		return f, fmt.Errorf("state %.50q: want one of %s", f.State, strings.Join(PageStates, ", "))
	}
	if text := query.Get("status"); text != "" {
		if f.Status, err = strconv.Atoi(text); err != nil || f.Status < 0 || f.Status > 999 {
			return f, fmt.Errorf("status %q: want a number such as 404", text)
		}
	}
	for _, at := range []struct {
		name string
		time *time.Time
	}{{"changed_since", &f.ChangedSince}, {"fetched_before", &f.FetchedBefore}, {"due_before", &f.DueBefore}} {
		if text := query.Get(at.name); text != "" {
			if *at.time, err = time.Parse(time.RFC3339, text); err != nil {
				return f, fmt.Errorf("%s %q: want a time such as 2026-01-31T12:00:00Z", at.name, text)
			}
		}
	}
	return f, nil
}

// Wants reports whether the filter selects a row.
func (f Filter) Wants(p Page) bool {
	switch {
	case f.Site != "" && p.Site != f.Site,
		f.State != "" && p.State != f.State,
		f.Status != 0 && p.Status != f.Status,
		!f.ChangedSince.IsZero() && (p.LastChanged == nil || p.LastChanged.Before(f.ChangedSince)),
		!f.FetchedBefore.IsZero() && p.LastFetched != nil && !p.LastFetched.Before(f.FetchedBefore),
		!f.DueBefore.IsZero() && (p.NextDue == nil || !p.NextDue.Before(f.DueBefore)):
		return false
	}
	return true
}

// Skipped is a part of what was not fetched or not kept. The sums over all parts are the whole.
type Skipped struct {
	// Pages are the pages that a gate refused when they were due, or whose answers had no content to keep.
	Pages []SkippedPages `json:"pages"` // by reason
	// Refused counts what a gate refused, by the gate's reason: links, which have no rows, and Pages among them.
	// `freshet explain` says more about such a URL.
	Refused map[string]int64 `json:"refused"`
	Looked  int64            `json:"looked"`         // pages that were read, skipped or not
	Next    string           `json:"next,omitempty"` // where the next part begins; empty: this is the last one
}

// SkippedPages are pages that were skipped for one reason.
type SkippedPages struct {
	Reason string   `json:"reason"` // of a gate, a page's state and status, or a failure's class
	Count  int64    `json:"count"`
	URLs   []string `json:"urls"` // some of them
}
