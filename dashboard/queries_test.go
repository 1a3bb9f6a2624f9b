package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// found is a Corpus in which every search finds two pages, and a QueryLog of them.
type found struct {
	Corpus
	asked, clicked []string
}

func (f *found) Search(_ context.Context, s Search) (Found, error) {
	fetched := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	if s.Words == "rare" {
		return Found{Partial: true, Looked: 20_000, Most: 812_000}, nil
	}
	hits := []Hit{{URL: "http://a.test/?x=1&y=<2>", Title: "A", LastFetched: &fetched}, {URL: "http://b.test/", LastFetched: &fetched}}
	return Found{Hits: hits, Partial: s.Words == "common", Looked: 20_000, Most: 812_000}, nil
}

func (f *found) Asked(s Search, shown []Hit) string {
	f.asked = append(f.asked, s.Words+" "+shown[0].URL)
	return "id"
}

func (f *found) Clicked(query, url string) bool {
	f.clicked = append(f.clicked, query+" "+url)
	return true
}

// TestSearchIsNoted searches through the API and in the window, and follows the hits.
func TestSearchIsNoted(t *testing.T) {
	f := &found{}
	h := Handler(Options{Reader: fake{}, Corpus: f, Queries: f})
	const page = "http://a.test/?x=1&y=<2>"
	_, body := get(t, h, "/api/v1/search?q=words")
	var hit Hit
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&hit); err != nil || hit.Query != "id" {
		t.Errorf("%v, hit %+v", err, hit)
	}
	if _, body = get(t, h, "/api/v1/search?q=words&noted=false"); strings.Contains(body, `"query"`) {
		t.Errorf("noted against the wish: %s", body)
	}
	for _, target := range []string{"/api/v1/search?q=spam", "/search?q=spam", "/click?query=id&url=" + url.QueryEscape(page)} {
		request := httptest.NewRequest(http.MethodGet, target, nil)
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		h.ServeHTTP(httptest.NewRecorder(), request)
	}
	if len(f.clicked) > 0 {
		t.Errorf("a page of another site clicks: %q", f.clicked)
	}
	const link = `<a href="/click?query=id&amp;url=http%3a%2f%2fa.test%2f%3fx%3d1%26y%3d%3c2%3e" rel="nofollow">A</a>`
	response, body := get(t, h, "/search?q=words")
	if !strings.Contains(body, link) || strings.Contains(body, "data-live") {
		t.Errorf("no %s, or it does not stay as it was:\n%s", link, body)
	}
	if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("policy %q", policy)
	}
	if want := []string{"words " + page, "words " + page}; strings.Join(f.asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("noted %q, want %q", f.asked, want)
	}
	response, _ = get(t, h, "/click?query=id&url="+url.QueryEscape(page))
	if to := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || to != "/page?url="+url.QueryEscape(page) {
		t.Errorf("%d, leads to %q", response.StatusCode, to)
	}
	if response, body = get(t, h, "/api/v1/click?query=id&url="+url.QueryEscape(page)); response.StatusCode != http.StatusOK || body != "{\"noted\":true}\n" {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if want := "id " + page; len(f.clicked) != 2 || f.clicked[0] != want || f.clicked[1] != want {
		t.Errorf("clicks %q, want %q twice", f.clicked, want)
	}
	off := Handler(Options{Reader: fake{}, Corpus: f})
	if _, body = get(t, off, "/search?q=words"); !strings.Contains(body, `href="/page?url=`) || strings.Contains(body, "/click") {
		t.Errorf("where nothing is noted:\n%s", body)
	}
	if response, _ = get(t, off, "/click?query=id&url="+url.QueryEscape(page)); response.StatusCode != http.StatusSeeOther {
		t.Errorf("a click where none is noted: %d", response.StatusCode)
	}
}

// TestPartialResults holds that the API and the window say when a search has not looked at all pages, also where it has
// found none.
func TestPartialResults(t *testing.T) {
	h := Handler(Options{Reader: fake{}, Corpus: &found{}})
	for words, partial := range map[string]bool{"words": false, "common": true, "rare": true} {
		response, body := get(t, h, "/api/v1/search?q="+words)
		if said := response.Header.Get(PartialHeader); (said == "looked=20000, most=812000") != partial || strings.Count(body, `"partial":true`) != map[string]int{"common": 2}[words] {
			t.Errorf("%s: header %q, hits %s", words, said, body)
		}
		if _, body = get(t, h, "/search?q="+words); strings.Contains(body, "Partial results: 20,000 of at most 812,000 pages") != partial {
			t.Errorf("%s: partial %v is not in the window:\n%s", words, partial, body)
		}
	}
}

// onePage is a Reader of one page.
type onePage struct{ fake }

func (onePage) History(u string) (History, error) {
	if u != "http://a.test/" {
		return History{}, ErrNotFound
	}
	return History{Page: Page{URL: u}}, nil
}

// TestClickLeadsNowhereElse tries to have a click lead to another place than the own view of a stored page.
func TestClickLeadsNowhereElse(t *testing.T) {
	f := &found{}
	h := Handler(Options{Reader: onePage{}, Corpus: f, Queries: f})
	for _, u := range []string{"http://evil.test/", "//evil.test/", "/\\evil.test", "javascript:alert(1)", "http://a.test/\r\nLocation: http://evil.test/",
		"http://a.test@evil.test/", "", "/page", "http://a.test/#", " http://a.test/"} {
		for _, path := range []string{"/click", "/api/v1/click"} {
			response, _ := get(t, h, path+"?query=id&url="+url.QueryEscape(u))
			if to := response.Header.Get("Location"); response.StatusCode < 400 || to != "" {
				t.Errorf("%s to %q: %d, leads to %q", path, u, response.StatusCode, to)
			}
		}
	}
	if response, _ := get(t, h, "/click?url=http://a.test/"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("without a query: %d", response.StatusCode)
	}
	if len(f.clicked) > 0 {
		t.Errorf("clicks %q", f.clicked)
	}
	response, _ := get(t, h, "/click?query=id&url=http://a.test/&url=http://evil.test/")
	if to := response.Header.Get("Location"); to != "/page?url=http%3A%2F%2Fa.test%2F" {
		t.Errorf("leads to %q", to)
	}
}
