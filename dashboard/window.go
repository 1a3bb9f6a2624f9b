package dashboard

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/dashboard/units"
	"freshet/weburl"
)

// The window shows people what is stored and what the crawl does: panes (see pane.go), pages found by a part of
// their URL, a page's past, and two versions side by side. The server renders its pages. Its one script keeps panes
// current and sends orders.

//go:embed window
var windowFiles embed.FS

var windowPages = template.Must(template.New("window").Funcs(template.FuncMap{
	"time": showTimeOf, "count": units.Count, "span": seconds, "short": short, "breaks": breaks, "title": titleOf, "amount": amount, "percent": percent, "bytes": units.Bytes,
	"mediaType": func(header string) string {
		kind, _, _ := strings.Cut(header, ";")
		return short(strings.TrimSpace(kind))
	},
	"when": func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return showTimeOf(*t)
	},
	"counted": units.Plural,
	"plural":  func(n int, thing string) string { return units.Plural(int64(n), thing) },
	"times":   func(x, by float64) float64 { return x * by },
	"sum": func(of map[string]int64) (sum int64) {
		for _, n := range of {
			sum += n
		}
		return sum
	},
	"about": func(key, value string) (string, error) {
		text, err := json.Marshal(map[string]string{key: value})
		return string(text), err
	},
}).ParseFS(windowFiles, "window/*.html"))

func showTimeOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// longestShown is how many characters are shown of a text from a page, such as a title.
const longestShown = 300

// short cuts a text to longestShown.
func short(text string) string {
	if len(text) <= longestShown {
		return text
	}
	n := 0
	for i := range text {
		if n++; n > longestShown {
			return text[:i] + "…"
		}
	}
	return text
}

// breakable are the characters after which an address may go on in the next line.
const breakable = "/.-_?&="

// breaks cuts an address as short does. It may go on in the next line after a breakable character, so that a narrow
// screen does not break it in a word.
func breaks(address string) template.HTML {
	var b strings.Builder
	for part := range strings.SplitSeq(short(address), "") {
		b.WriteString(template.HTMLEscapeString(part))
		if strings.Contains(breakable, part) {
			b.WriteString("<wbr>")
		}
	}
	return template.HTML(b.String())
}

// windows adds the window's pages.
func (s *server) windows(mux *http.ServeMux) {
	for _, file := range []string{"window.css", "window.js"} {
		mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, windowFiles, "window/"+file)
		})
	}
	for _, p := range s.panes() {
		at := p.path
		if at == "/" {
			at = "/{$}"
		}
		mux.HandleFunc("GET "+at, func(w http.ResponseWriter, r *http.Request) { s.serve(p, w, r) })
	}
	for path, show := range map[string]func(*http.Request) (string, any, error){"find": s.find, "page": s.past, "diff": s.diff} {
		mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, r *http.Request) {
			title, shown, err := show(r)
			if err != nil {
				s.fault(w, r, err)
				return
			}
			s.showWindow(w, r, path, title, "", shown)
		})
	}
}

// frame is what every page of the window has around its content.
type frame struct {
	Title, Query string
	Here         string // path of the pane; empty: it is none
	Live         bool   // it is kept current
	Panes        []pane
	Steers       bool // the viewer may steer
	SignedIn     bool // the viewer has signed in
	Shown        any
	Main         template.HTML // the content, rendered by its template
}

func (s *server) frameOf(r *http.Request, title, path string, shown any) frame {
	f := frame{Title: title, Here: path, Live: path != "" && !pane{path: path}.still(), Panes: s.panes(), Steers: s.live && !looksOnly(r), SignedIn: signedIn(r), Shown: shown}
	if path == "" {
		f.Query = r.FormValue("q")
	}
	return f
}

// showWindow answers with one of the window's pages. Its content may come from stored pages, so no script in it
// runs.
func (s *server) showWindow(w http.ResponseWriter, r *http.Request, name, title, path string, shown any) {
	s.showPage(w, r, http.StatusOK, name, s.frameOf(r, title, path, shown))
}

// fault answers with a page that says what is wrong.
func (s *server) fault(w http.ResponseWriter, r *http.Request, err error) {
	code := codeOf(err)
	text := sentence(capital(strings.TrimPrefix(err.Error(), ErrOrder.Error()+": ")))
	if u := r.FormValue("url"); u != "" && errors.Is(err, ErrNotFound) {
		text = strings.TrimSpace(sentence(short(u)+" is not known here") + " " + s.why(u))
	}
	s.showPage(w, r, code, "fault", s.frameOf(r, capital(strings.ToLower(http.StatusText(code))), "", text))
}

func (s *server) showPage(w http.ResponseWriter, r *http.Request, code int, name string, f frame) {
	from, err := originOf(r)
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	var main, page bytes.Buffer
	if err := windowPages.ExecuteTemplate(&main, name, f); err != nil {
		fail(w, err)
		return
	}
	f.Main = template.HTML(main.String())
	if err := windowPages.ExecuteTemplate(&page, "page of the window", f); err != nil {
		fail(w, err)
		return
	}
	confineWindow(w.Header(), from)
	w.WriteHeader(code)
	w.Write(page.Bytes())
}

// confineWindow sets the headers that keep text from stored pages from running anything in the window.
func confineWindow(h http.Header, from string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src %[1]s/window.js; style-src %[1]s/window.css; connect-src 'self'; frame-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'", from))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without it, a browser does not send the origin of a form
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// shownVersion is a version in a page's list.
type shownVersion struct {
	Version               Version
	Replay, Scripts, Diff string // addresses; empty: there is none
}

// months is how many months a calendar shows at most.
const months = 24

// past shows a page's versions and visits.
func (s *server) past(r *http.Request) (title string, shown any, err error) {
	history, err := s.shown(r.FormValue("url"))
	if err != nil {
		return "", nil, err
	}
	u, err := weburl.Parse(history.Page.URL)
	if err != nil {
		return "", nil, err
	}
	replay := func(v Version) string { return address{at: v.At, url: u}.String() }
	var versions []shownVersion
	unkept := false // a version's content is not kept
	for i, v := range history.Versions {
		one := shownVersion{Version: v}
		if v.WARC != "" {
			one.Replay, one.Scripts = replay(v), address{at: v.At, modifier: withScripts, url: u}.String()
			if i > 0 && history.Versions[i-1].WARC != "" {
				one.Diff = "/diff?" + url.Values{"url": {u.String()}, "from": {fmt.Sprint(history.Versions[i-1].Version)}, "to": {fmt.Sprint(v.Version)}}.Encode()
			}
		}
		unkept = unkept || v.WARC == ""
		versions = append(versions, one)
	}
	visits := slices.Clone(history.Visits)
	slices.Reverse(versions)
	slices.Reverse(visits)
	return short(u.String()), struct {
		Model    string
		Page     Page
		Why      string
		TimeLine *timeLine
		Weekdays []string
		Months   []month
		Versions []shownVersion
		Unkept   bool
		Visits   []Visit
	}{inWords(history.Model), history.Page, s.why(u.String()), lineOf(history), []string{"M", "T", "W", "T", "F", "S", "S"}, calendar(history, replay, months), versions, unkept, visits}, nil
}

// why says what happens to a page next; empty if that is not known.
func (s *server) why(u string) string {
	explanation, err := s.reader.Explain(url.Values{"url": {u}, "search": {"false"}})
	if err != nil {
		return ""
	}
	var said struct {
		Why string `json:"why"`
	}
	if text, err := json.Marshal(explanation); err != nil || json.Unmarshal(text, &said) != nil {
		return ""
	}
	return said.Why
}

// inWords says how a page changes.
func inWords(m *Model) string {
	if m == nil {
		return ""
	}
	text, about := fmt.Sprintf("%d of %d visits found a change. ", m.Changed, m.Visits), "about"
	if m.Changed == m.Visits { // so nobody knows how often it changes between them
		about = "at least"
	}
	switch {
	case m.RatePerDay <= 0:
		return text + "No change is known."
	case m.RatePerDay >= 1:
		text += fmt.Sprintf("By that, it changes %s %.1f times a day", about, m.RatePerDay)
	default:
		text += fmt.Sprintf("By that, it changes %s every %.1f days", about, 1/m.RatePerDay)
	}
	if m.PeriodS > 0 {
		return text + fmt.Sprintf(", around %s UTC.", time.Unix(int64(m.PhaseS), 0).UTC().Format("15:04"))
	}
	return text + ", at any hour."
}

// unchanged is how many equal lines are shown around a change.
const unchanged = 3

// diff shows two versions of a page side by side.
func (s *server) diff(r *http.Request) (title string, shown any, err error) {
	raw := r.FormValue("url")
	if _, err := s.shown(raw); err != nil {
		return "", nil, err
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	done, err := s.shows.take(r.Context())
	if err != nil {
		return "", nil, err
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
			return "", nil, fmt.Errorf("%w: %s %.50q: want the number of a version", ErrOrder, name, r.FormValue(name))
		}
		content, err := s.reader.Content(u.String(), uint32(number), time.Time{})
		if err != nil {
			return "", nil, err
		}
		side := &sides[i]
		side.version = content.Version
		side.lines, side.isText, err = textOf(content.Header.Get("Content-Type"), content.Body)
		content.Body.Close()
		if err != nil {
			return "", nil, err
		}
	}
	old, new := sides[0], sides[1]
	frame := func(v Version) string { return address{at: v.At, url: u}.String() }
	changes := compare(old.lines, new.lines)
	lines := around(changes, unchanged)
	if len(lines) == 1 && lines[0].Kind == "left out" {
		lines = nil
	}
	for i := range lines {
		lines[i] = lines[i].cut()
	}
	return short(u.String()), struct {
		URL                string
		Old, New           Version
		OldFrame, NewFrame string
		NoText             bool
		Lines              []change
	}{u.String(), old.version, new.version, frame(old.version), frame(new.version), !old.isText || !new.isText, lines}, nil
}
