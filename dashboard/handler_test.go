package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// fake is a Reader of one page. Its table breaks off after that page.
type fake struct{ fault error }

func (f fake) Status() (any, error) {
	return struct {
		Pages  int              `json:"pages_stored"`
		Errors map[string]int64 `json:"errors"`
		Note   string           `json:"note"`
	}{3, map[string]int64{"5xx": 2, "<script>alert(1)</script>": 1}, ""}, f.fault
}

func (f fake) Pages(filter Filter) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		if yield(Page{URL: "http://a.test/?x=1&y=2", Site: filter.Site}, nil) && f.fault != nil {
			yield(Page{}, f.fault)
		}
	}
}

func (f fake) Skipped(string, int, int) (Skipped, error) {
	return Skipped{Refused: map[string]int64{"scope": 2}, Pages: []SkippedPages{{Reason: "missing 404", Count: 1, URLs: []string{"http://a.test/x"}}}}, f.fault
}

func (f fake) Sites(context.Context, SiteQuery) (Sites, error) {
	return Sites{Matching: 1, Sites: []Site{{Site: "http://a.test", Host: "a.test", Pages: 3, Refused: map[string]int64{"scope": 2}, Waits: []Wait{{For: "interval"}}}}}, f.fault
}

func (f fake) LastChanges(ChangeQuery) ([]Change, error) {
	return []Change{{URL: "http://a.test/<b>", Kind: "changed", Version: 2}}, f.fault
}

func (f fake) Find(part, _ string) (Finding, error) {
	return Finding{Sites: []string{"http://a.test"}, Pages: []Page{{URL: "http://a.test/?" + part}}, Looked: 5, Next: "0-1"}, f.fault
}

func (f fake) History(u string) (History, error) {
	return History{Page: Page{URL: u}}, f.fault
}

func (f fake) Content(_ string, version uint32, at time.Time) (Content, error) {
	return Content{Version: Version{Version: version, At: at}, Body: bodyOf("<b>body</b>")}, f.fault
}

func (f fake) Explain(url.Values) (any, error) {
	return map[string]string{"stopped_by": "scope"}, f.fault
}

// bodyOf returns a body of that text.
func bodyOf(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// get asks a handler and returns the answer.
func get(t *testing.T, h http.Handler, target string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestHandler(t *testing.T) {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "freshet_test_total", Help: "A test's."})
	h := Handler(Options{Reader: fake{}, ExplainSettings: []Setting{{"scope", "what to crawl"}}, Collectors: []prometheus.Collector{counter}})
	for _, tt := range []struct {
		target, contentType string
		code                int
		holds               []string
	}{
		{"/", "text/html", 200, []string{"What is stored", "5xx", "&lt;script&gt;"}},
		{"/healthz", "text/plain", 200, []string{"ok"}},
		{"/readyz", "text/plain", 200, []string{"ok"}},
		{"/metrics", "text/plain", 200, []string{"freshet_test_total 0"}},
		{"/api/v1/status", "application/json", 200, []string{`"pages_stored":3`}},
		{"/api/v1/pages?site=http://a.test", "application/x-ndjson", 200, []string{`"url":"http://a.test/?x=1&y=2"`, `"site":"http://a.test"`}},
		{"/api/v1/history?url=http://a.test/", "application/json", 200, []string{`"url":"http://a.test/"`}},
		{"/api/v1/content?url=http://a.test/&version=2", "application/octet-stream", 200, []string{"<b>body</b>"}},
		{"/api/v1/content?url=x&version=two", "application/json", 400, []string{`version \"two\"`}},
		{"/api/v1/content?url=x&at=yesterday", "application/json", 400, []string{`at \"yesterday\"`}},
		{"/api/v1/explain?url=http://a.test/", "application/json", 200, []string{`"stopped_by":"scope"`}},
		{"/api/v1/sites?sort=pages&backward=true", "application/json", 200, []string{`"site":"http://a.test"`}},
		{"/api/v1/sites?sort=colour", "application/json", 400, []string{"colour"}},
		{"/api/v1/skipped", "application/json", 200, []string{`"scope":2`, `"reason":"missing 404"`}},
		{"/api/v1/pages?status=many", "application/json", 400, []string{"status"}},
		{"/api/v1/pages?due_before=soon", "application/json", 400, []string{"due_before"}},
		{"/api/v1/pages?limit=10", "application/json", 400, []string{"limit", "has only site, state, status"}},
		{"/api/v1/pages?state=live&state=gone", "application/json", 400, []string{"want one value"}},
		{"/api/v1/pages?site=a.test", "application/json", 400, []string{"https://example.org"}},
		{"/api/v1/pages?site=HTTP://A.test/x", "application/x-ndjson", 200, []string{`"site":"http://a.test"`}},
		{"/api/v1/pages?status=404;state=live", "application/json", 400, []string{"semicolon"}},
		{"/api/v1/sites?backward=yes", "application/json", 400, []string{"want one of true, false"}},
		{"/api/v1/status?crawl=main", "application/json", 200, []string{`"pages_stored":3`}},
		{"/api/v1/skipped?site=http://a.test", "application/json", 400, []string{"has only after"}},
		{"/api/v1/explain?url=http://a.test/&colour=red", "application/json", 400, []string{"has only url, search, scope"}},
		{"/api/v1/explain?url=http://a.test/&scope=any", "application/json", 200, nil},
		{"/api/v1/status?site=http://a.test", "application/json", 400, []string{"has none"}},
		{"/nothing", "text/plain", 404, nil},
		{"/api/v1/nothing", "application/json", 404, []string{`{"error":"`, "openapi.json"}},
		{"/api/v1/", "application/json", 404, []string{`{"error":"`}},
		{"/api/v1/purge", "application/json", 404, []string{`{"error":"`}},
	} {
		t.Run(tt.target, func(t *testing.T) {
			response, body := get(t, h, tt.target)
			if got := response.Header.Get("Content-Type"); response.StatusCode != tt.code || !strings.HasPrefix(got, tt.contentType) {
				t.Errorf("%d %q: want %d %s\n%s", response.StatusCode, got, tt.code, tt.contentType, body)
			}
			for _, text := range tt.holds {
				if !strings.Contains(body, text) {
					t.Errorf("no %q in:\n%s", text, body)
				}
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	h := Handler(Options{Reader: fake{}, Ready: func() error { return errors.New("the disk is full") }})
	if response, body := get(t, h, "/readyz"); response.StatusCode != http.StatusServiceUnavailable || body != "the disk is full\n" {
		t.Errorf("%d %q", response.StatusCode, body)
	}
	if response, _ := get(t, h, "/healthz"); response.StatusCode != http.StatusOK {
		t.Errorf("healthz: %d", response.StatusCode)
	}
}

// TestHandlerFaults holds that a reader's errors are told, also in the middle of the table.
func TestHandlerFaults(t *testing.T) {
	h := Handler(Options{Reader: fake{fault: fmt.Errorf("%w: no such page", ErrNotFound)}})
	for _, target := range []string{"/api/v1/status", "/api/v1/history?url=x", "/api/v1/content?url=x", "/api/v1/explain?url=x"} {
		if response, body := get(t, h, target); response.StatusCode != http.StatusNotFound || !strings.Contains(body, `"error":`) {
			t.Errorf("%s: %d\n%s", target, response.StatusCode, body)
		}
	}
	h = Handler(Options{Reader: fake{fault: errors.New("disk on fire")}})
	if response, _ := get(t, h, "/api/v1/status"); response.StatusCode != http.StatusInternalServerError {
		t.Errorf("status: %d", response.StatusCode)
	}
	if _, body := get(t, h, "/api/v1/pages"); !strings.HasSuffix(body, `{"error":"disk on fire"}`+"\n") {
		t.Errorf("pages that break off end with:\n%s", body)
	}
}

// TestContentIsData holds that a stored page can do nothing in a browser that shows it.
func TestContentIsData(t *testing.T) {
	response, _ := get(t, Handler(Options{Reader: fake{}}), "/api/v1/content?url=http://a.test/")
	if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options %q", got)
	}
	response, _ = get(t, Handler(Options{Reader: fake{}}), "/")
	if got := response.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") {
		t.Errorf("Content-Security-Policy %q", got)
	}
}
