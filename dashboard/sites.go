package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/dashboard/units"
)

// SiteQuery selects and orders sites.
type SiteQuery struct {
	Part     string // of the name; empty: all
	Sort     string // one of SiteOrders; empty: by name
	Backward bool
	From     int // sites to leave out at the beginning
	Limit    int
}

// SiteOrders are what sites can be sorted by.
var SiteOrders = []string{"site", "pages", "fetched", "pending", "due", "refused"}

// Sites is a part of the table of sites.
type Sites struct {
	Matching int64 `json:"matching"` // sites that match, shown here or not
	// AsOf is when the order and Matching were found, if that was not now. The sites themselves are those of now.
	AsOf  *time.Time `json:"as_of"`
	Sites []Site     `json:"sites"`
}

// Site is what is known about a site. If Waits is empty, only ranking decides when its next page is fetched.
type Site struct {
	Site         string           `json:"site"`
	Host         string           `json:"host"`
	Pages        int64            `json:"pages"`
	Fetched      int64            `json:"fetched"` // visited at least once
	Pending      int64            `json:"pending"` // to be visited for the first time
	Due          int64            `json:"due"`     // to be visited again, at present or later
	Refused      map[string]int64 `json:"refused"`
	Robots       string           `json:"robots"` // result of the last request for robots.txt
	DelayS       float64          `json:"delay_s"`
	OrderedS     float64          `json:"ordered_delay_s"` // by an operator: the delay is at least this; 0: no order
	OrderedMost  int64            `json:"ordered_budget"`  // by an operator: fetches a day at most; 0: no order
	Failures     int              `json:"failures_in_a_row"`
	NextRequest  *time.Time       `json:"next_request"` // no request to the host before this time
	NextDue      *time.Time       `json:"next_due"`     // of the pages to be visited again, the first
	PausedSince  *time.Time       `json:"paused_since"`
	Blocked      bool             `json:"blocked"`
	BlockedUntil *time.Time       `json:"blocked_until"` // nil: for ever
	Purged       bool             `json:"purged"`
	Waits        []Wait           `json:"waits"` // what delays its pages
}

// Wait is one reason why a site's pages are delayed. Until is nil if the end is not known.
type Wait struct {
	For   string     `json:"for"`
	Until *time.Time `json:"until"`
}

// waitsFor has the words for each reason.
var waitsFor = map[string]string{
	"busy": "the answer that is under way", "interval": "its delay to pass", "back-off": "the pause after failures", "blocked": "the end of a block",
	"paused": "the end of a pause", "hours": "its visiting hours", "address": "another host at its address", "robots": "its robots.txt",
	"robots-unreachable": "its robots.txt, which could not be fetched",
	"robots-elsewhere":   "its robots.txt, which redirects to another host", "due": "its next page to be due", "empty": "new links, because no page is pending",
}

// InWords says what the site's pages wait for; empty if nothing is known, or no page waits.
func (s Site) InWords() string {
	var all []string
	for _, w := range s.Waits {
		one := cmp.Or(waitsFor[w.For], w.For)
		if w.Until != nil {
			one += " (until " + showTimeOf(*w.Until) + ")"
		}
		all = append(all, one)
	}
	switch n := len(all); {
	case s.Pending+s.Due == 0:
		return "None of its pages waits for a visit."
	case n == 0:
		return ""
	case n == 1:
		return "It waits for " + all[0] + "."
	default:
		return "It waits for " + strings.Join(all[:n-1], ", ") + " and " + all[n-1] + "."
	}
}

// PaceInWords says how fast an operator allows requests to the site; empty if no order says so.
func (s Site) PaceInWords() string {
	var all []string
	if s.OrderedS > 0 {
		all = append(all, "at least "+units.Span(time.Duration(s.OrderedS*float64(time.Second))))
	}
	if s.OrderedMost > 0 {
		all = append(all, "at most "+units.Count(s.OrderedMost)+" a day")
	}
	return strings.Join(all, ", ")
}

// waitsOn reports whether the site's pages wait for that.
func (s Site) waitsOn(what string) bool {
	return slices.ContainsFunc(s.Waits, func(w Wait) bool { return w.For == what })
}

// The bounds of a page of sites.
const (
	sitesAtOnce  = 50
	mostSites    = 1000
	deepestSite  = 1 << 30
	longestFind  = 2 << 10 // bytes of the text to find
	moreThanThat = "want at most %d bytes"
)

// parseSites reads the query for sites.
func parseSites(query url.Values) (q SiteQuery, err error) {
	q = SiteQuery{Part: query.Get("q"), Sort: query.Get("sort"), Backward: query.Get("backward") == "true"}
	if len(q.Part) > longestFind {
		return q, fmt.Errorf("q: "+moreThanThat, longestFind)
	}
	if q.Sort == "" {
		q.Sort = SiteOrders[0]
	}
	if !slices.Contains(SiteOrders, q.Sort) {
		return q, fmt.Errorf("sort %.50q: want one of %s", q.Sort, strings.Join(SiteOrders, ", "))
	}
	if q.From, err = number(query, "from", 0, deepestSite); err != nil {
		return q, err
	}
	q.Limit, err = number(query, "limit", sitesAtOnce, mostSites)
	return q, err
}

func siteParameters() []parameter {
	return []parameter{
		{"q", "string", "only sites with this in their name", false},
		{"sort", strings.Join(SiteOrders, "|"), "what is sorted by", false},
		{"backward", "true|false", "true: the largest first", false},
		{"from", "integer", "number of sites to skip", false},
		{"limit", "integer", "sites, at most 1000; 50 if none is given", false},
	}
}

func (s *server) listSites(w http.ResponseWriter, r *http.Request) {
	q, err := parseSites(r.URL.Query())
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	sites, err := s.reader.Sites(r.Context(), q)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, sites)
}

// column is the head of a sortable column.
type column struct {
	Name, Link string
	Sorted     string // "ascending", "descending" or "none"
	Number     bool
}

// sites shows the table of sites.
func (s *server) sites(r *http.Request) (any, error) {
	q, err := parseSites(r.URL.Query())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	table, err := s.reader.Sites(r.Context(), q)
	if err != nil {
		return nil, err
	}
	link := func(sort string, backward bool, from int) string {
		values := url.Values{"sort": {sort}}
		if q.Part != "" {
			values.Set("q", q.Part)
		}
		if backward {
			values.Set("backward", "true")
		}
		if from > 0 {
			values.Set("from", strconv.Itoa(from))
		}
		return "/sites?" + values.Encode()
	}
	shown := struct {
		Query          SiteQuery
		Table          Sites
		Columns        []column
		First, Last    int
		Earlier, Later string
		OneSite        bool
		Running        bool
	}{Running: s.live, Query: q, Table: table, First: q.From + 1, Last: q.From + len(table.Sites), OneSite: len(table.Sites) == 1}
	for i, name := range SiteOrders {
		c := column{Name: name, Sorted: "none", Number: i > 0, Link: link(name, i > 0, 0)}
		if name == q.Sort {
			c.Sorted = map[bool]string{false: "ascending", true: "descending"}[q.Backward]
			c.Link = link(name, !q.Backward, 0)
		}
		shown.Columns = append(shown.Columns, c)
	}
	if q.From > 0 {
		shown.Earlier = link(q.Sort, q.Backward, max(0, q.From-q.Limit))
	}
	if int64(shown.Last) < table.Matching && len(table.Sites) > 0 {
		shown.Later = link(q.Sort, q.Backward, shown.Last)
	}
	return shown, nil
}

// Activity is the state of a site, in a word or two. Tone is a verdict: "well", "wait", "ill", or "" if there is
// nothing to do.
type Activity struct{ Word, Tone string }

// Doing returns the state of a site. running says whether a crawl runs.
func (s Site) Doing(running bool) Activity {
	switch {
	case s.Purged:
		return Activity{"purged", ""}
	case s.Blocked:
		return Activity{"blocked", "wait"}
	case s.PausedSince != nil:
		return Activity{"paused", "wait"}
	case s.Failures > 0:
		return Activity{"backing off", "ill"}
	case s.Pending+s.Due > 0 && s.waitsOn("robots-unreachable"):
		return Activity{"no robots.txt", "ill"}
	case s.Pending > 0 && running:
		return Activity{"crawling", "well"}
	case s.Due > 0 && running:
		return Activity{"kept fresh", "well"}
	case s.Pending > 0 || s.Due > 0:
		return Activity{"not finished", ""}
	}
	return Activity{"done", ""}
}
