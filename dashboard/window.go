package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"freshet/dashboard/units"
	"freshet/weburl"
)

// The window shows people what is stored, in pages without scripts: what is found by a part of its URL, a page's past
// as a calendar, its versions and its visits, and two versions side by side.

//go:embed window
var windowFiles embed.FS

var windowPages = template.Must(template.New("window").Funcs(template.FuncMap{
	"time": showTimeOf, "count": units.Count,
	"when": func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return showTimeOf(*t)
	},
	"plural": func(n int, thing string) string { return units.Plural(int64(n), thing) },
}).ParseFS(windowFiles, "window/window.html"))

func showTimeOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// windows adds the window's pages.
func (s server) windows(mux *http.ServeMux) {
	mux.HandleFunc("GET /window.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, windowFiles, "window/window.css")
	})
	mux.HandleFunc("GET /find", s.find)
	mux.HandleFunc("GET /page", s.past)
	mux.HandleFunc("GET /diff", s.diff)
}

// showWindow answers with one of the window's pages. What is shown in it was written by others: nothing of it runs.
func showWindow(w http.ResponseWriter, name string, data any) {
	var page bytes.Buffer
	if err := windowPages.ExecuteTemplate(&page, name, data); err != nil {
		fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.Write(page.Bytes())
}

// found is how many pages a search shows at most.
const found = 200

// find shows the pages in whose URL a text is, in any case of its letters. O(pages).
func (s server) find(w http.ResponseWriter, r *http.Request) {
	data := struct {
		Title, Query string
		Pages        []Page
		More         bool
	}{Title: "Find", Query: strings.TrimSpace(r.FormValue("q"))}
	part := strings.ToLower(data.Query)
	for page, err := range s.reader.Pages(Filter{}) {
		if err != nil {
			fail(w, err)
			return
		}
		if !strings.Contains(strings.ToLower(page.URL), part) {
			continue
		}
		if data.More = len(data.Pages) == found; data.More {
			break
		}
		data.Pages = append(data.Pages, page)
	}
	showWindow(w, "find", data)
}

// shownVersion is a version in a page's list.
type shownVersion struct {
	Version               Version
	Replay, Scripts, Diff string // addresses; empty: there is none
}

// months is how many months a calendar shows at most.
const months = 24

// past shows a page's versions and visits.
func (s server) past(w http.ResponseWriter, r *http.Request) {
	history, err := s.shown(r.FormValue("url"))
	if err != nil {
		fail(w, err)
		return
	}
	u, err := weburl.Parse(history.Page.URL)
	if err != nil {
		fail(w, err)
		return
	}
	replay := func(v Version) string { return address{at: v.At, url: u}.String() }
	var versions []shownVersion
	for i, v := range history.Versions {
		one := shownVersion{Version: v}
		if v.WARC != "" {
			one.Replay, one.Scripts = replay(v), address{at: v.At, modifier: withScripts, url: u}.String()
			if i > 0 && history.Versions[i-1].WARC != "" {
				one.Diff = "/diff?" + url.Values{"url": {u.String()}, "from": {fmt.Sprint(history.Versions[i-1].Version)}, "to": {fmt.Sprint(v.Version)}}.Encode()
			}
		}
		versions = append([]shownVersion{one}, versions...)
	}
	visits := make([]Visit, len(history.Visits))
	for i, v := range history.Visits {
		visits[len(visits)-1-i] = v
	}
	showWindow(w, "page", struct {
		Title, Query, Model string
		Page                Page
		Weekdays            []string
		Months              []month
		Versions            []shownVersion
		Visits              []Visit
	}{u.String(), "", inWords(history.Model), history.Page, []string{"M", "T", "W", "T", "F", "S", "S"}, calendar(history, replay, months), versions, visits})
}

// inWords says how a page changes.
func inWords(m *Model) string {
	if m == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d visits found a change. ", m.Changed, m.Visits)
	switch {
	case m.RatePerDay <= 0:
		return text + "It is not known to change."
	case m.RatePerDay >= 1:
		text += fmt.Sprintf("It changes about %.1f times a day", m.RatePerDay)
	default:
		text += fmt.Sprintf("It changes about every %.1f days", 1/m.RatePerDay)
	}
	if m.PeriodS > 0 {
		return text + fmt.Sprintf(", around %s UTC.", time.Unix(int64(m.PhaseS), 0).UTC().Format("15:04"))
	}
	return text + ", at no hour of its own."
}

// unchanged is how many lines that are the same are shown around a change.
const unchanged = 3

// diff shows two versions of a page side by side.
func (s server) diff(w http.ResponseWriter, r *http.Request) {
	raw := r.FormValue("url")
	if _, err := s.shown(raw); err != nil {
		fail(w, err)
		return
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	done, err := s.shows.begin(w, r)
	if err != nil {
		fail(w, err)
		return
	}
	defer done()
	var sides [2]struct {
		version Version
		lines   []string
		isText  bool
	}
	for i, name := range []string{"from", "to"} {
		number, err := strconv.ParseUint(r.FormValue(name), 10, 32)
		if err != nil || number == 0 {
			refuse(w, http.StatusBadRequest, fmt.Errorf("%s %q: want the number of a version", name, r.FormValue(name)))
			return
		}
		content, err := s.reader.Content(u.String(), uint32(number), time.Time{})
		if err != nil {
			fail(w, err)
			return
		}
		side := &sides[i]
		side.version = content.Version
		side.lines, side.isText, err = textOf(content.Header.Get("Content-Type"), content.Body)
		content.Body.Close()
		if err != nil {
			fail(w, err)
			return
		}
	}
	old, new := sides[0], sides[1]
	frame := func(v Version) string { return address{at: v.At, url: u}.String() }
	changes := compare(old.lines, new.lines)
	lines := around(changes, unchanged)
	if len(lines) == 1 && lines[0].Kind == "left out" {
		lines = nil
	}
	showWindow(w, "diff", struct {
		Title, Query, URL  string
		Old, New           Version
		OldFrame, NewFrame string
		NoText             bool
		Lines              []change
	}{u.String(), "", u.String(), old.version, new.version, frame(old.version), frame(new.version), !old.isText || !new.isText, lines})
}
