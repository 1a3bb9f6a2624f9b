package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ErrNotFound says that there is no such page, version or crawl. A Reader returns it.
var ErrNotFound = errors.New("not found")

// Page is a row of the page table, as `freshet pages --json` prints it. Times are RFC 3339, absent for
// never.
type Page struct {
	URL         string     `json:"url"`
	Site        string     `json:"site"`
	State       string     `json:"state"`
	Status      int        `json:"status"`
	ContentType string     `json:"content_type"`
	Digest      string     `json:"digest"`  // SHA-1 of the body, hexadecimal; empty without a version
	Version     uint32     `json:"version"` // number of the last version, 0 for none
	FirstSeen   *time.Time `json:"first_seen"`
	LastFetched *time.Time `json:"last_fetched"`
	LastChanged *time.Time `json:"last_changed"`
	NextDue     *time.Time `json:"next_due"`
	Depth       int        `json:"depth"`
	// Importance is the cash that links brought the page; a seed begins with 1. It is set if the ordering uses
	// cash.
	Importance *float64 `json:"importance,omitempty"`
	// The following fields are set for a page that is kept fresh: its change process, the changes expected per day,
	// the worth of a second of its freshness, and the visits per interval that it is worth now.
	Process       string   `json:"process,omitempty"` // poisson or quasi
	RatePerDay    *float64 `json:"rate_per_day,omitempty"`
	Weight        *float64 `json:"weight,omitempty"`
	CrawlsPlanned *float64 `json:"crawls_planned,omitempty"`
	Reason        string   `json:"reason,omitempty"`       // why the last visit failed or the page was refused
	RedirectsTo   string   `json:"redirects_to,omitempty"` // target of the last visit's redirect
}

// History is the kept past of a page.
type History struct {
	Page     Page      `json:"page"`
	Visits   []Visit   `json:"visits"`   // oldest first; the last 64
	Versions []Version `json:"versions"` // oldest first
	Model    *Model    `json:"model,omitempty"`
}

// Model is the change process that fits a page's visits: "poisson" is at random, "quasi" is at most once a day,
// around a fixed hour.
type Model struct {
	Process    string  `json:"process"`
	RatePerDay float64 `json:"rate_per_day"`
	Visits     int     `json:"visits"`  // that showed whether it had changed
	Changed    int     `json:"changed"` // of these, that found a change
	PeriodS    float64 `json:"period_s,omitempty"`
	PhaseS     float64 `json:"phase_s,omitempty"` // of the UTC day: by then it has changed
	Chance     float64 `json:"chance,omitempty"`  // the probability that it has no fixed hour
}

// Visit is one request for a page.
type Visit struct {
	At        time.Time `json:"at"`
	TookS     float64   `json:"took_s"`
	Outcome   string    `json:"outcome"`
	Status    int       `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	Changed   bool      `json:"changed"`
	Noise     bool      `json:"noise,omitempty"`
	Version   uint32    `json:"version"`
	WireBytes int64     `json:"wire_bytes"`
	Truncated string    `json:"truncated,omitempty"`
}

// Unchanged reports whether the visit brought the content of the visit before.
func (v Visit) Unchanged() bool {
	return !v.Changed && !v.Noise && v.Truncated == "" && (v.Outcome == "stored" || v.Outcome == "not-modified")
}

// Version is one content of a page.
type Version struct {
	Version     uint32    `json:"version"`
	At          time.Time `json:"at"`
	Noise       bool      `json:"noise,omitempty"` // differs from the one before in bytes alone
	Status      int       `json:"status"`
	ContentType string    `json:"content_type"`
	SizeBytes   int64     `json:"size_bytes"`
	Digest      string    `json:"digest"`
	WARC        string    `json:"warc,omitempty"` // file that holds the capture, if it is kept
	OffsetBytes int64     `json:"offset_bytes,omitempty"`
	LengthBytes int64     `json:"length_bytes,omitempty"`
	// Signals are what site and page said about its use; of the last version, what they say now.
	Signals []string `json:"signals,omitempty"`
}

// Content is the decoded body of a version.
type Content struct {
	Version Version
	Header  http.Header   // of the captured answer
	Body    io.ReadCloser // without its codings
}

// Reader is the read side of a data directory. All methods are safe for concurrent use.
type Reader interface {
	// Status returns the state of the running crawl, or of the directory if none runs, as a value
	// that encodes to JSON.
	Status() (any, error)
	// Pages iterates over the rows of the page table that the filter selects.
	Pages(Filter) iter.Seq2[Page, error]
	// Skipped returns a part of what was not fetched, with up to samples URLs of each reason. It reads at most that
	// many rows of pages and sites. after is the Next of the part before; empty: the first part, whose pages are a
	// random sample of all.
	Skipped(after string, samples, rows int) (Skipped, error)
	// Sites returns a part of the table of sites. Its cost does not grow with the requests for it: it may tell what
	// matched a while ago. ctx bounds how long it waits for what another request reads.
	Sites(ctx context.Context, q SiteQuery) (Sites, error)
	// LastChanges returns the last changes of pages, the newest first.
	LastChanges(ChangeQuery) ([]Change, error)
	// Find returns pages whose URL is or contains a text; see Finding. after is where an earlier look ended.
	Find(part, after string) (Finding, error)
	// History returns the kept past of a page, or ErrNotFound.
	History(url string) (History, error)
	// Content returns the body of a version: its number, or 0 for the last one at time at (zero: now).
	// It returns ErrNotFound if there is none.
	Content(url string, version uint32, at time.Time) (Content, error)
	// Explain returns how the gates of the crawl decide about a URL, the query's parameter url, as a value that
	// encodes to JSON. Unless its parameter search is false, it searches for a page that links to an unknown one.
	Explain(query url.Values) (any, error)
}

// Options configure a Handler.
type Options struct {
	Reader  Reader
	Steerer Steerer // nil: no orders are accepted
	// Ready returns why /readyz must fail, or nil. If Ready is nil, /readyz always succeeds.
	Ready func() error
	// Trend remembers past readings of the status; nil: there are none.
	Trend *Trend
	// Feed returns the state of the feed, as in /feed/status, and whether it runs; nil: there is none.
	Feed func() (any, bool)
	// Subscribers returns the readers of the feed; nil: there is none.
	Subscribers func(context.Context) (Subscribers, error)
	// HubSecret is the secret that hubs sign their notices with, see websub.go; empty: there is no callback.
	HubSecret string
	// Nodes returns the nodes of the cluster; nil: there is no cluster.
	Nodes func() Nodes
	// Statuses and Explanations are zero values of what the Reader's Status and Explain may return, for
	// the description of the API.
	Statuses, Explanations []any
	// ExplainSettings are the parameters of Explain apart from the URL.
	ExplainSettings []Setting
	// Changes serves the change feed, whose lines are like ChangeLine; nil: there is none.
	Changes    http.Handler
	ChangeLine any
	Corpus     Corpus                 // serves texts; nil: there are none
	Queries    QueryLog               // of searches and clicks; nil: they are not logged
	Version    string                 // of the program
	Collectors []prometheus.Collector // what /metrics shows
}

// Setting is a setting of a crawl as a parameter of the API.
type Setting struct{ Name, Help string }

// healthPath is the address of the health check. It says only that the process answers, and needs no token.
const healthPath = "/healthz"

// Handler serves the window (see window.go), /healthz, /readyz, /metrics, stored versions under /web/, /timegate/ and
// /timemap/link/ (see memento.go), and the API under /api/v1/, which describes itself at /api/v1/openapi.json.
func Handler(o Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(o.Collectors...)
	mux := http.NewServeMux()
	s := &server{reader: o.Reader, corpus: o.Corpus, queries: o.Queries, live: o.Steerer != nil, streams: o.Changes != nil, ready: o.Ready, trend: o.Trend, feedStatus: o.Feed, subscribers: o.Subscribers, nodes: o.Nodes,
		shows: make(shows, maxShows), watchers: make(chan struct{}, maxWatchers), key: newViewKey()}
	ok := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	s.windows(mux)
	mux.HandleFunc("GET "+healthPath, ok)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if o.Ready != nil {
			if err := o.Ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		ok(w, r)
	})
	mux.HandleFunc("GET "+clickPath, s.click)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	endpoints := s.endpoints(o)
	if o.Steerer != nil {
		endpoints = append(endpoints, orders(o.Steerer)...)
	}
	if o.Corpus != nil {
		endpoints = append(endpoints, s.corpusEndpoints(o.Corpus)...)
	}
	if o.Nodes != nil {
		endpoints = append(endpoints, endpoint{http.MethodGet, "/api/v1/nodes", "The nodes of the cluster, as this one knows them.", nil,
			nil, typeJSON, Nodes{}, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, o.Nodes()) }})
	}
	if o.Subscribers != nil {
		endpoints = append(endpoints, endpoint{http.MethodGet, "/api/v1/subscribers", "The readers of the feed, those furthest behind first.", nil,
			nil, typeJSON, Subscribers{}, s.listSubscribers})
	}
	if o.Changes != nil {
		endpoints = append(endpoints, endpoint{http.MethodGet, "/api/v1/changes", "Changes of pages, one per line, or as Server-Sent Events.", changeParameters(),
			nil, typeLines, o.ChangeLine, o.Changes.ServeHTTP})
	}
	if o.Steerer != nil && o.HubSecret != "" {
		hubs := callback{o.Reader, o.Steerer, []byte(o.HubSecret), s.shows}
		mux.HandleFunc("GET "+callbackPath, hubs.verify)
		mux.HandleFunc("POST "+callbackPath, hubs.notice)
	}
	description := describe(endpoints, o.Version)
	mux.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, description) })
	methods := map[string]string{"/api/v1/openapi.json": http.MethodGet}
	for _, e := range endpoints {
		methods[e.path] = e.method
		mux.HandleFunc(e.method+" "+e.path, e.checked)
	}
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) { unserved(w, r, methods[r.URL.Path]) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isMemento(r.URL.Path) {
			s.memento(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// unserved answers a request to a path of the API that takes no requests, or only those of another method.
func unserved(w http.ResponseWriter, r *http.Request, method string) {
	if method == "" {
		fail(w, fmt.Errorf("%w: %.100q is no path of this API: /api/v1/openapi.json lists them", ErrNotFound, r.URL.Path))
		return
	}
	w.Header().Set("Allow", method)
	Refuse(w, http.StatusMethodNotAllowed, fmt.Errorf("%s: want %s, not %.20q", r.URL.Path, method, r.Method))
}

// endpoints are the endpoints that read.
func (s *server) endpoints(o Options) []endpoint {
	url := parameter{"url", "string", "a page", true}
	after := parameter{"after", "string", "next of the part before; none: the first part", false}
	explaining := []parameter{url, {"search", "true|false", "whether to look for a page that links to an unknown URL: true in all pages, which can take a second; false in none; without it, in as many as a moment allows", false}}
	for _, s := range o.ExplainSettings {
		explaining = append(explaining, parameter{s.Name, "string", "if no crawl is running: " + s.Help, false})
	}
	get := http.MethodGet
	return []endpoint{
		{get, "/api/v1/status", "What the crawl does, or has done.", nil, nil, typeJSON, anyOf(o.Statuses), s.status},
		{get, "/api/v1/pages", "The pages, one object per line.", filterParameters(), nil, typeLines, Page{}, s.pages},
		{get, "/api/v1/sites", "The sites.", siteParameters(), nil, typeJSON, Sites{}, s.listSites},
		{get, "/api/v1/skipped", "A part of what was not fetched, by reason. The sums over all parts are the whole.", []parameter{after}, nil, typeJSON, Skipped{}, s.skipped},
		{get, "/api/v1/history", "A page's visits and versions.", []parameter{url}, nil, typeJSON, History{}, s.history},
		{get, "/api/v1/content", "The bytes of a stored version.", []parameter{url,
			{"version", "integer", "number of the version; the newest if none is given", false},
			{"at", "date-time", "the version that was current at this time", false}}, nil, typeBytes, nil, s.content},
		{get, "/api/v1/explain", "Why a URL was or was not fetched, and when it is due.", explaining, nil, typeJSON, anyOf(o.Explanations), s.explain},
	}
}

// orders are the endpoints that steer.
func orders(s Steerer) []endpoint {
	post := http.MethodPost
	return []endpoint{
		{post, "/api/v1/add", "Add seeds.", nil, AddOrder{}, typeJSON, Report{}, order(s.Add)},
		{post, "/api/v1/ping", "Report that pages have changed: known ones are visited soon, new ones are discovered.", nil, PingOrder{}, typeJSON, Report{}, order(s.Ping)},
		{post, "/api/v1/pause", "Make no more requests to a site, or to any.", nil, SiteOrder{}, typeJSON, Report{}, order(s.Pause)},
		{post, "/api/v1/resume", "End a pause.", nil, SiteOrder{}, typeJSON, Report{}, order(s.Resume)},
		{post, "/api/v1/pace", "Set the delay of a site at least, and its fetches a day at most. Zero ends what was set.", nil, PaceOrder{}, typeJSON, Report{}, order(s.Pace)},
		{post, "/api/v1/recrawl", "Visit a page, or the pages of a site, again now.", nil, PagesOrder{}, typeJSON, Report{}, order(s.Recrawl)},
		{post, "/api/v1/block", "Make no more requests to a host, or none until a time.", nil, BlockOrder{}, typeJSON, Report{}, order(s.Block)},
		{post, "/api/v1/unblock", "End a block.", nil, HostOrder{}, typeJSON, Report{}, order(s.Unblock)},
		{post, "/api/v1/purge", "Delete a page, or the pages of a site, permanently.", nil, PurgeOrder{}, typeJSON, Report{}, order(s.Purge)},
		{post, "/api/v1/reload", "Read the settings again.", nil, ReloadOrder{}, typeJSON, Report{}, order(s.Reload)},
	}
}

type server struct {
	reader      Reader
	corpus      Corpus // nil: there is none
	queries     QueryLog
	live        bool // a crawl runs
	streams     bool // there is the change feed
	ready       func() error
	trend       *Trend
	feedStatus  func() (any, bool)
	subscribers func(context.Context) (Subscribers, error)
	nodes       func() Nodes // nil: there is no cluster
	key         viewKey
	shows       shows
	watchers    chan struct{} // the streams of panes
}

// fail answers with an error as JSON.
func fail(w http.ResponseWriter, err error) {
	Refuse(w, codeOf(err), err)
}

// codeOf returns the status code of an error.
func codeOf(err error) int {
	switch {
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, errGone):
		return http.StatusGone
	case errors.Is(err, errRefused):
		return http.StatusForbidden
	case errors.Is(err, ErrOrder):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// Refuse answers a request to the API with a code and an error, as JSON.
func Refuse(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) {
	status, err := s.reader.Status()
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, status)
}

func (s *server) pages(w http.ResponseWriter, r *http.Request) {
	filter, err := parseFilter(r.URL.Query())
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	sendLines(w, s.reader.Pages(filter))
}

// samplesOfSkipped is how many URLs are shown of each reason.
const samplesOfSkipped = 5

func (s *server) skipped(w http.ResponseWriter, r *http.Request) {
	skipped, err := s.reader.Skipped(r.FormValue("after"), samplesOfSkipped, lookedThrough)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, skipped)
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	history, err := s.reader.History(r.FormValue("url"))
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, history)
}

func (s *server) explain(w http.ResponseWriter, r *http.Request) {
	explanation, err := s.reader.Explain(r.URL.Query())
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, explanation)
}

// content sends a version's bytes as data, never as a page, so that nothing stored runs here.
func (s *server) content(w http.ResponseWriter, r *http.Request) {
	version, at, err := versionAsked(r.URL.Query())
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	if _, err := s.shown(r.FormValue("url")); err != nil {
		fail(w, err)
		return
	}
	done, err := s.shows.begin(w, r)
	if err != nil {
		fail(w, err)
		return
	}
	defer done()
	content, err := s.reader.Content(r.FormValue("url"), version, at)
	if err != nil {
		fail(w, err)
		return
	}
	defer content.Body.Close()
	body := bufio.NewReaderSize(content.Body, showBuffer)
	if _, err := body.Peek(1); err != nil && err != io.EOF {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Freshet-Version", strconv.FormatUint(uint64(content.Version.Version), 10))
	sendBody(w, body)
}
