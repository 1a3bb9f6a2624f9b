package dashboard

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/clock"
)

// A pane is a page of the window that shows the present state. Unless it is still, it stays current while it is
// open: a browser requests the same address as a stream of events, and gets the main part again whenever it has
// changed.
type pane struct {
	path, title string
	show        func(*http.Request) (any, error) // returns the data of its template, which has the path as its name
}

// Path and Title are for templates.
func (p pane) Path() string { return p.path }

// Title is what the pane is called.
func (p pane) Title() string { return p.title }

// still reports whether the pane is not updated. Every request for such a pane is logged as a search.
func (p pane) still() bool { return p.path == "/search" }

const (
	maxWatchers = 16              // streams of panes at once
	paneEvery   = 2 * time.Second // least time between two updates of a stream
	paneShare   = 200             // at most one part in this many of a stream's time is spent making a pane
	paneSilence = time.Minute     // at most: then the stream says that it is still there, for proxies
	paneLife    = time.Hour       // of a stream: a browser begins another
)

// panes are the panes of the window, in the order of its menu.
func (s *server) panes() []pane {
	all := []pane{
		{"/", "Overview", s.overview},
		{"/freshness", "Freshness", s.freshness},
		{"/sites", "Sites", s.sites},
		{"/changes", "Changes", s.changes},
		{"/trouble", "Skipped and failed", s.trouble},
		{"/fleet", "Fetchers", s.fleet},
		{"/feed", "Feed", s.feed},
		{"/search", "Search", s.search},
	}
	if s.nodes != nil {
		all = slices.Insert(all, 1, pane{"/nodes", "Nodes", s.nodesNow})
	}
	return all
}

// serve answers with the pane, or with a stream of it.
func (s *server) serve(p pane, w http.ResponseWriter, r *http.Request) {
	begun := clock.Real().Now()
	shown, err := p.show(r)
	if err != nil {
		s.fault(w, r, err)
		return
	}
	if p.still() || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.showWindow(w, r, p.name(), p.title, p.path, shown)
		return
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		http.Error(w, fmt.Sprintf("%d windows are open already: this one is not live", maxWatchers), http.StatusServiceUnavailable)
		return
	}
	s.stream(p, shown, begun, w, r)
}

// name is the name of the pane's template.
func (p pane) name() string {
	if p.path == "/" {
		return "overview"
	}
	return strings.TrimPrefix(p.path, "/")
}

// restAfter returns how long a stream rests after it took that long to make its pane, so that open windows do not
// slow the crawl.
func restAfter(took time.Duration) time.Duration {
	return max(paneEvery, (paneShare-1)*took)
}

// stream sends the main part of a pane whenever it has changed. shown is what the pane shows first, and begun is when
// the server began to make it.
func (s *server) stream(p pane, shown any, begun time.Time, w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not buffer events
	control := http.NewResponseController(w)
	send := func(text string, content ...any) bool {
		_ = control.SetWriteDeadline(clock.Real().Deadline(2 * paneSilence))
		_, err := fmt.Fprintf(w, text, content...)
		return err == nil && control.Flush() == nil
	}
	here := func() bool { return send(": still here\n\n") }
	var last []byte
	for end := clock.Real().Deadline(paneLife); clock.Real().Now().Before(end); {
		var main bytes.Buffer
		if err := windowPages.ExecuteTemplate(&main, p.name(), s.frameOf(r, p.title, p.path, shown)); err != nil {
			return
		}
		pause := restAfter(clock.Real().Now().Sub(begun))
		var open bool
		if bytes.Equal(main.Bytes(), last) {
			open = here()
		} else {
			last = main.Bytes()
			open = send("data: %s\n\n", bytes.ReplaceAll(last, []byte("\n"), []byte("\ndata: ")))
		}
		for open && pause > 0 {
			if clock.Real().Sleep(r.Context(), min(pause, paneSilence)) != nil {
				return
			}
			if pause -= paneSilence; pause > 0 {
				open = here()
			}
		}
		if !open {
			return
		}
		var err error
		begun = clock.Real().Now()
		if shown, err = p.show(r); err != nil {
			return
		}
	}
}
