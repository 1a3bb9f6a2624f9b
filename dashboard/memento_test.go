package dashboard

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// past is a Reader of pages with some versions.
type past struct {
	fake
	state       string
	redirectsTo string
	versions    []Version
}

func (p past) History(u string) (History, error) {
	if strings.Contains(u, "unknown") {
		return History{}, ErrNotFound
	}
	return History{Page: Page{URL: u, State: p.state, RedirectsTo: p.redirectsTo}, Versions: p.versions}, nil
}

func (p past) Content(u string, n uint32, _ time.Time) (Content, error) {
	c := Content{
		Version: p.versions[n-1],
		Header:  http.Header{"Content-Type": {"text/html; charset=latin1"}, "Set-Cookie": {"a=b"}, "Refresh": {"0"}},
		Body:    bodyOf("<a href=/b>\xe9</a>"),
	}
	if strings.Contains(u, "untyped") {
		c.Header.Del("Content-Type")
	}
	return c, nil
}

// version returns the version n of January n.
func versionNumber(n uint32) Version {
	return Version{Version: n, At: time.Date(2026, 1, int(n), 12, 0, 0, 5e8, time.UTC), WARC: "x.warc.gz"}
}

func ask(t *testing.T, r Reader, method, target string, header http.Header) *http.Response {
	t.Helper()
	request := httptest.NewRequest(method, target, nil)
	request.Host = "127.0.0.1:8350"
	maps.Copy(request.Header, header)
	w := httptest.NewRecorder()
	Handler(Options{Reader: r}).ServeHTTP(w, request)
	return w.Result()
}

func TestReplay(t *testing.T) {
	three := past{state: "live", versions: []Version{versionNumber(1), versionNumber(2), versionNumber(3)}}
	unkept := three
	unkept.versions = []Version{{Version: 1, At: versionNumber(1).At}}
	tests := []struct {
		name, target string
		reader       past
		accept       string
		status       int
		location     string
	}{
		{"a version", "/web/20260102120000/http://a.test/", three, "", 200, ""},
		{"as it was sent", "/web/20260102120000id_/http://a.test/", three, "", 200, ""},
		{"an image's modifier", "/web/20260102120000im_/http://a.test/", three, "", 200, ""},
		{"slashes folded", "/web/20260102120000/http:/a.test/", three, "", 200, ""},
		{"the nearest", "/web/20260102235959id_/http://a.test/?q=1", three, "", 302, "/web/20260102120000id_/http://a.test/?q=1"},
		{"long before", "/web/1999/http://a.test/", three, "", 302, "/web/20260101120000/http://a.test/"},
		{"the last", "/web/http://a.test/", three, "", 302, "/web/20260103120000/http://a.test/"},
		{"gate", "/timegate/http://a.test/", three, "Fri, 02 Jan 2026 00:00:01 GMT", 302, "http://127.0.0.1:8350/web/20260102120000/http://a.test/"},
		{"gate without a time", "/timegate/http://a.test/", three, "", 302, "http://127.0.0.1:8350/web/20260103120000/http://a.test/"},
		{"gate at no time", "/timegate/http://a.test/", three, "yesterday", 400, ""},
		{"map", "/timemap/link/http://a.test/", three, "", 200, ""},
		{"a redirect", "/web/2026/http://a.test/", past{state: "redirect", redirectsTo: "http://b.test/"}, "", 302, "/web/20260101000000/http://b.test/"},
		{"purged", "/web/2026/http://a.test/", past{state: "purged", versions: three.versions}, "", 410, ""},
		{"withdrawn", "/web/20260102120000/http://a.test/", past{state: "withdrawn", versions: three.versions}, "", 403, ""},
		{"withdrawn, of the gate", "/timegate/http://a.test/", past{state: "withdrawn", versions: three.versions}, "", 403, ""},
		{"purged, as data", "/api/v1/content?url=http://a.test/&version=1", past{state: "purged", versions: three.versions}, "", 410, ""},
		{"withdrawn, as data", "/api/v1/content?url=http://a.test/&version=1", past{state: "withdrawn", versions: three.versions}, "", 403, ""},
		{"withdrawn, of the map", "/timemap/link/http://a.test/", past{state: "withdrawn", versions: three.versions}, "", 403, ""},
		{"not kept", "/web/2026/http://a.test/", unkept, "", 403, ""},
		{"never fetched", "/web/2026/http://a.test/", past{state: "pending"}, "", 404, ""},
		{"unknown", "/web/2026/http://unknown.test/", three, "", 404, ""},
		{"no URL", "/web/2026/", three, "", 400, ""},
		{"no such month", "/web/20261301000000/http://a.test/", three, "", 400, ""},
		{"another modifier", "/web/2026raw/http://a.test/", three, "", 400, ""},
		{"another scheme", "/web/2026/javascript:alert(1)", three, "", 400, ""},
	}
	for _, test := range tests {
		header := http.Header{}
		if test.accept != "" {
			header.Set("Accept-Datetime", test.accept)
		}
		response := ask(t, test.reader, http.MethodGet, test.target, header)
		if response.StatusCode != test.status || response.Header.Get("Location") != test.location {
			t.Errorf("%s: %d %s, want %d %s", test.name, response.StatusCode, response.Header.Get("Location"), test.status, test.location)
		}
	}
	if got := ask(t, three, http.MethodPost, "/web/2026/http://a.test/", nil).StatusCode; got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
}

// TestMementoHeaders holds the headers that a version comes with, and those that it does not.
func TestMementoHeaders(t *testing.T) {
	three := past{state: "live", versions: []Version{versionNumber(1), versionNumber(2), versionNumber(3)}}
	response := ask(t, three, http.MethodGet, "/web/20260102120000/http://a.test/", nil)
	h := response.Header
	for name, want := range map[string]string{
		"Content-Type":     "text/html; charset=latin1",
		"Memento-Datetime": "Fri, 02 Jan 2026 12:00:00 GMT",
		"Set-Cookie":       "", "Refresh": "", "Access-Control-Allow-Origin": "",
		"X-Content-Type-Options": "nosniff",
		"Link": `<http://a.test/>; rel="original", <http://127.0.0.1:8350/timegate/http://a.test/>; rel="timegate", ` +
			`<http://127.0.0.1:8350/timemap/link/http://a.test/>; rel="timemap"; type="application/link-format", ` +
			`<http://127.0.0.1:8350/web/20260101120000/http://a.test/>; rel="first prev memento"; datetime="Thu, 01 Jan 2026 12:00:00 GMT", ` +
			`<http://127.0.0.1:8350/web/20260102120000/http://a.test/>; rel="memento"; datetime="Fri, 02 Jan 2026 12:00:00 GMT", ` +
			`<http://127.0.0.1:8350/web/20260103120000/http://a.test/>; rel="last next memento"; datetime="Sat, 03 Jan 2026 12:00:00 GMT"`,
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	policy := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox; default-src http://127.0.0.1:8350/web/ ") || !strings.Contains(policy, "script-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	body := new(strings.Builder)
	if err := response.Write(body); err != nil || !strings.HasSuffix(body.String(), "<a href=\"/web/20260102120000/http://a.test/b\">\xe9</a>") {
		t.Errorf("body %q, %v", body, err)
	}
	h = ask(t, three, http.MethodGet, "/web/20260102120000id_/http://a.test/", nil).Header
	if h.Get("Content-Security-Policy") != policy {
		t.Error("what is sent as it was is not confined")
	}
	if got := ask(t, three, http.MethodGet, "/web/20260102120000/http://a.test/untyped", nil).Header.Get("Content-Type"); got != "text/html" {
		t.Errorf("without a type it is sent as %s", got)
	}
	if got := ask(t, three, http.MethodGet, "/timegate/http://a.test/", nil).Header.Get("Vary"); got != "Accept-Datetime" {
		t.Errorf("Vary: %s", got)
	}
}

// FuzzAddress holds that an address survives reading, writing and reading again.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"20260131120000id_/http://a.test/", "2026/https:/a.test/?q", "http://a.test/", "20260131/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err != nil {
			return
		}
		if again, err := parseAddress(strings.TrimPrefix(a.String(), replayPrefix)); err != nil || !a.at.IsZero() && a.modifier != again.modifier || !again.at.Equal(a.at) || again.url != a.url {
			t.Errorf("%q is %v, and then %v, %v", text, a, again, err)
		}
	})
}
