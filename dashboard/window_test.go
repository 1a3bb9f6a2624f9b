package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTextOf(t *testing.T) {
	page := `<title>T</title><script>no()</script><h1>Two <b>words</b></h1><p>A &amp; B<br>C</p><style>p{}</style><ul><li>1<li>2</ul>`
	for kind, want := range map[string][]string{
		"text/html":                 {"T", "Two words", "A & B", "C", "1", "2"},
		"text/plain; charset=utf-8": {page},
		"image/png":                 nil,
	} {
		lines, ok, err := textOf(kind, strings.NewReader(page))
		if err != nil || ok != (want != nil) {
			t.Errorf("%s: ok %v, error %v", kind, ok, err)
		}
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "&amp;", "&")
		}
		if kind == "text/html" && !slices.Equal(lines, want) {
			t.Errorf("%s: %q, want %q", kind, lines, want)
		}
	}
	if lines, ok, err := textOf("text/html", strings.NewReader("")); len(lines) > 0 || !ok || err != nil {
		t.Errorf("of nothing: %q, %v, %v", lines, ok, err)
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"a b c", "a b c", "=a =b =c"},
		{"a b c", "a x c", "=a b>x =c"},
		{"a c", "a b c", "=a +b =c"},
		{"a b c", "a c", "=a -b =c"},
		{"a b c d", "x b y z d", "a>x =b c>y +z =d"},
		{"", "a", "+a"},
		{"b a", "a b", "-b =a +b"},
	} {
		var got []string
		for _, c := range compare(strings.Fields(tt.old), strings.Fields(tt.new)) {
			got = append(got, map[string]string{"same": "=" + c.New, "changed": c.Old + ">" + c.New, "gone": "-" + c.Old, "added": "+" + c.New}[c.Kind])
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%q to %q: %q, want %q", tt.old, tt.new, text, tt.want)
		}
	}
	many := make([]string, maxDiffed+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if all := compare(many, nil); len(all) != len(many) || all[0].Kind != "gone" {
		t.Errorf("%d lines against none: %d changes", len(many), len(all))
	}
}

// twice is a Reader of a page with two versions. Strangers wrote its words.
type twice struct{ fake }

func (twice) Find(part, after string) (Finding, error) {
	if part == "nowhere" {
		return Finding{Looked: 7}, nil
	}
	return Finding{Sites: []string{"http://a.test"}, Pages: []Page{{URL: "http://a.test/?<b>=" + after, State: "live", Version: 2}}, Looked: 5, Next: "0-1"}, nil
}

func (twice) History(u string) (History, error) {
	day := time.Date(2026, 2, 27, 10, 0, 0, 0, time.UTC)
	h := History{Page: Page{URL: u, State: "live", Reason: "<script>alert(1)</script>"}, Model: &Model{RatePerDay: 0.25, Visits: 9, Changed: 2}}
	for i := range 2 {
		at := day.AddDate(0, 0, 3*i)
		h.Versions = append(h.Versions, Version{Version: uint32(i + 1), At: at, WARC: "f", SizeBytes: 12345})
		h.Visits = append(h.Visits, Visit{At: at, Changed: true, Outcome: "stored", Status: 200}, Visit{At: at.Add(48 * time.Hour), Outcome: "not-modified"})
	}
	return h, nil
}

func (p twice) Content(u string, version uint32, _ time.Time) (Content, error) {
	if version > 2 {
		return Content{}, fmt.Errorf("%w: no such version", ErrNotFound)
	}
	body := fmt.Sprintf("<p>one</p><p>number %d</p><script>alert(1)</script>&lt;img src=x>", version)
	h, _ := p.History(u)
	return Content{Version: h.Versions[version-1], Header: http.Header{"Content-Type": {"text/html"}}, Body: bodyOf(body)}, nil
}

func TestWindow(t *testing.T) {
	h := Handler(Options{Reader: twice{}})
	for _, tt := range []struct {
		target string
		code   int
		holds  []string
	}{
		{"/", 200, []string{"What is stored", `name="q"`}},
		{"/window.css", 200, []string{"color-scheme"}},
		{"/find?q=%3CB%3E&after=x", 200, []string{"&lt;b&gt;=x", "Search on", `href="/page?url=http%3a%2f%2fa.test%2f%3f%3cb%3e%3dx"`}},
		{"/sites", 200, []string{"http://a.test", "1 to 1 of 1", `aria-sort="ascending"`}},
		{"/sites?sort=colour", 400, []string{"want one of"}},
		{"/changes", 200, []string{"http://a.test/&lt;b&gt;", "What changed?"}},
		{"/changes?kind=odd", 400, nil},
		{"/trouble", 200, []string{"no such page (404)", "links to it are wrong"}},
		{"/freshness", 200, []string{"No crawl is running"}},
		{"/fleet", 200, nil}, {"/feed", 200, nil}, {"/search?q=a", 200, []string{"no index"}},
		{"/find?q=nowhere", 200, []string{"Nothing found."}},
		{"/page?url=http://a.test/", 200, []string{"2 of 9 visits found a change. By that, it changes about every 4.0 days, at any hour.", "February 2026", "March 2026",
			`href="/web/20260302100000/http://a.test/"`, "12 kB", "/diff?from=1&amp;to=2&amp;url=http%3A%2F%2Fa.test%2F", "&lt;script&gt;"}},
		{"/diff?url=http://a.test/&from=1&to=2", 200, []string{`<tr class="changed"><td>number 1</td><td>number 2</td></tr>`, `<iframe sandbox src="/web/20260227100000/http://a.test/"`, "&lt;img src=x&gt;"}},
		{"/diff?url=http://a.test/&from=1&to=3", 404, nil},
		{"/diff?url=http://a.test/&from=1&to=two", 400, nil},
	} {
		t.Run(tt.target, func(t *testing.T) {
			response, body := get(t, h, tt.target)
			if response.StatusCode != tt.code {
				t.Errorf("%d: want %d\n%s", response.StatusCode, tt.code, body)
			}
			body = strings.ReplaceAll(body, "<wbr>", "")
			for _, text := range tt.holds {
				if !strings.Contains(body, text) {
					t.Errorf("no %q in:\n%s", text, body)
				}
			}
			if strings.Contains(strings.Replace(body, `<script src="/window.js" defer>`, "", 1), "<script") || strings.Contains(body, "<b>=") {
				t.Errorf("what others wrote is not escaped:\n%s", body)
			}
		})
	}
	broken := Handler(Options{Reader: fake{fault: errors.New("disk on fire")}})
	for _, target := range []string{"/find", "/page?url=http://a.test/", "/diff?url=http://a.test/&from=1&to=2"} {
		if response, _ := get(t, broken, target); response.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s: %d", target, response.StatusCode)
		}
	}
}

// TestSaysWhyUnkept holds that a version without its content comes with the possible reasons.
// tallied counts how often the sites are read.
type tallied struct {
	twice
	reads *int
}

func (c tallied) Sites(ctx context.Context, q SiteQuery) (Sites, error) {
	*c.reads++
	return c.twice.Sites(ctx, q)
}

// leaver is a browser that goes away after the first event.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Write(b []byte) (int, error) { l.leave(); return l.ResponseRecorder.Write(b) }

// TestStreamReadsOnce holds that the first event of a stream costs one look at what it shows.
func TestStreamReadsOnce(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	reads := 0
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/sites", nil)
	request.Header.Set("Accept", "text/event-stream")
	answer := leaver{httptest.NewRecorder(), leave}
	Handler(Options{Reader: tallied{reads: &reads}}).ServeHTTP(answer, request)
	if text := answer.Body.String(); reads != 1 || !strings.Contains(text, "data: ") || !strings.Contains(text, "1 to 1 of 1") {
		t.Errorf("%d reads, want 1, for:\n%s", reads, text)
	}
}

func TestSaysWhyUnkept(t *testing.T) {
	kept, unkept := past{versions: []Version{versionNumber(1)}}, past{versions: []Version{{Version: 1, At: versionNumber(1).At}}}
	for reader, want := range map[*past]bool{&kept: false, &unkept: true} {
		_, body := get(t, Handler(Options{Reader: reader}), "/page?url=http://a.test/")
		if strings.Contains(body, "(noarchive)") != want {
			t.Errorf("it says why: %v, want %v\n%s", !want, want, body)
		}
	}
}

func TestDoing(t *testing.T) {
	for _, tt := range []struct {
		site    Site
		running bool
		want    string
	}{
		{Site{Due: 3}, true, "kept fresh"}, {Site{Due: 3}, false, "not finished"}, {Site{Pending: 1, Due: 3}, true, "crawling"},
		{Site{Pending: 1}, false, "not finished"}, {Site{}, false, "done"},
		{Site{Pending: 1, Waits: []Wait{{For: "robots-unreachable"}}}, true, "no robots.txt"}, {Site{Waits: []Wait{{For: "robots-unreachable"}}}, true, "done"},
	} {
		if got := tt.site.Doing(tt.running).Word; got != tt.want {
			t.Errorf("%d pending, %d due, running %v: %q, want %q", tt.site.Pending, tt.site.Due, tt.running, got, tt.want)
		}
	}
}

// TestSiteInWords holds that a site is said to wait only if a page of it waits, and for all that it waits for.
func TestSiteInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := []Wait{{For: "busy"}, {For: "interval", Until: &at}, {For: "robots"}}
	for _, tt := range []struct {
		site Site
		want string
	}{
		{Site{Waits: waits}, "None of its pages waits for a visit."}, {Site{Pending: 1}, ""},
		{Site{Pending: 1, Waits: waits[:1]}, "It waits for the answer that is under way."},
		{Site{Due: 1, Waits: waits}, "It waits for the answer that is under way, its delay to pass (until 2026-01-02 03:04:05) and its robots.txt."},
	} {
		if got := tt.site.InWords(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.site, got, tt.want)
		}
	}
}

// TestTitleOf holds that each reason has words, and an error its status.
func TestTitleOf(t *testing.T) {
	for reason, want := range map[string]string{
		"error 500": "server error (500)", "error 503": "server error (503)", "error 418": "refused by the site (418)", "error 403": "refused by the site (403)",
		"error 429": "too many requests (429)", "robots-unreachable": "robots.txt cannot be fetched", "robots": "forbidden by robots.txt", "odd": "odd",
	} {
		if got := titleOf(reason); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// TestBreaks holds that an address may go on in the next line after a dot or a slash, and that no markup in it counts.
func TestBreaks(t *testing.T) {
	if got, want := string(breaks("http://a-b.test/<b>")), "http:/<wbr>/<wbr>a-<wbr>b.<wbr>test/<wbr>&lt;b&gt;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(breaks(strings.Repeat("é", 1<<20))); got != strings.Repeat("é", longestShown)+"…" {
		t.Errorf("a long address has %d bytes", len(got))
	}
}

// TestCut holds that of long lines the diff shows the part around their first difference.
func TestCut(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	c := change{long + "old" + long, long + "new" + long, "changed"}.cut()
	if !strings.Contains(c.Old, "éold") || !strings.Contains(c.New, "énew") || len(c.Old) > longestLine+10 || !utf8.ValidString(c.Old) {
		t.Errorf("%d bytes: %.300q", len(c.Old), c.Old)
	}
	if c := (change{long, long, "same"}).cut(); len(c.Old) > longestLine+10 {
		t.Errorf("a line that is the same has %d bytes", len(c.Old))
	}
	if c := (change{"old", "new", "changed"}).cut(); c != (change{"old", "new", "changed"}) {
		t.Errorf("short lines become %+v", c)
	}
}

// unknowing is a Reader that knows no page. It says what it is asked.
type unknowing struct{ fake }

func (unknowing) History(string) (History, error) { return History{}, ErrNotFound }

func (unknowing) Explain(query url.Values) (any, error) {
	return map[string]string{"why": query.Encode()}, nil
}

// TestUnknownPage holds that a page that is not known is explained without the search for links, which takes long.
func TestUnknownPage(t *testing.T) {
	response, body := get(t, Handler(Options{Reader: unknowing{}}), "/page?url=http://b.test/")
	if response.StatusCode != http.StatusNotFound || !strings.Contains(body, "http://b.test/ is not known here. search=false&amp;url=http%3A%2F%2Fb.test%2F") {
		t.Errorf("%d\n%s", response.StatusCode, body)
	}
}
