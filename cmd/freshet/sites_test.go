package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/dashboard"
	"freshet/node"
	"freshet/store"
)

// manySites returns a reader of a directory with that many sites. A site has one page more than its last digit says.
func manySites(t *testing.T, sites int) reader {
	t.Helper()
	list, data := filepath.Join(t.TempDir(), "urls"), filepath.Join(t.TempDir(), "data")
	var urls strings.Builder
	for site := range sites {
		for page := range site%10 + 1 {
			fmt.Fprintf(&urls, "http://site-%d.test/page-%d.html\n", site, page)
		}
	}
	put(t, list, urls.String())
	freshet(t, 0, "import", "--data", data, list)
	s, err := openStore(data, store.Options{Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return newReader(s)
}

// TestSitesInParts holds that the parts of a table of sites make up the whole table, in its order.
func TestSitesInParts(t *testing.T) {
	r := manySites(t, 100)
	names := func(q dashboard.SiteQuery) (all []string, matching int64) {
		t.Helper()
		table, err := r.Sites(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, site := range table.Sites {
			all = append(all, fmt.Sprint(site.Site, " ", site.Pages))
		}
		return all, table.Matching
	}
	for _, sort := range []string{"site", "pages"} {
		for _, backward := range []bool{false, true} {
			for part, want := range map[string]int64{"": 100, "TE-7": 11} {
				q := dashboard.SiteQuery{Part: part, Sort: sort, Backward: backward, Limit: 1000}
				whole, matching := names(q)
				if int64(len(whole)) != want || matching != want {
					t.Errorf("%+v: %d sites, %d matching, want %d", q, len(whole), matching, want)
				}
				if sort == "site" && slices.IsSorted(whole) == backward {
					t.Errorf("%+v: not in order: %v", q, whole)
				}
				var parts []string
				for q.Limit = 7; q.From < len(whole); q.From += q.Limit {
					some, matching := names(q)
					if parts = append(parts, some...); matching != want {
						t.Errorf("%+v: %d matching, want %d", q, matching, want)
					}
				}
				if !slices.Equal(parts, whole) {
					t.Errorf("%+v: in parts %v, in one %v", q, parts, whole)
				}
			}
		}
	}
}

// TestSitesReadsWhatItShows holds that the first sites by name cost the same, however many there are.
func TestSitesReadsWhatItShows(t *testing.T) {
	r := manySites(t, 5000)
	for _, backward := range []bool{false, true} {
		if allocated := testing.AllocsPerRun(3, func() {
			if _, err := r.Sites(t.Context(), dashboard.SiteQuery{Sort: "site", Backward: backward, Limit: 10}); err != nil {
				t.Fatal(err)
			}
		}); allocated > 2500 {
			t.Errorf("backward %t: %.0f allocations for ten of 5,000 sites", backward, allocated)
		}
	}
}

// TestPagesOfSite holds that the pages of a site are found in its partition.
func TestPagesOfSite(t *testing.T) {
	r := manySites(t, 100)
	for site, want := range map[string]int{"http://site-17.test": 8, "http://site-99.test": 10, "http://none.test": 0} {
		n := 0
		for _, err := range r.Pages(dashboard.Filter{Site: site}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != want {
			t.Errorf("%s: %d pages, want %d", site, n, want)
		}
	}
}

// TestFindInParts holds that a search that is continued finds each page once.
func TestFindInParts(t *testing.T) {
	r := manySites(t, 100)
	found := map[string]int{}
	for after := "."; after != ""; {
		f, err := r.Find("PAGE-3", strings.TrimPrefix(after, "."))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range f.Pages {
			found[page.URL]++
		}
		after = f.Next
	}
	for url, n := range found {
		if n != 1 || !strings.Contains(url, "page-3") {
			t.Errorf("%s is found %d times", url, n)
		}
	}
	if len(found) != 70 {
		t.Errorf("%d pages, want 70", len(found))
	}
}

// TestSkippedInParts holds that the parts of what was skipped make up the whole, however many rows a part reads, that
// no part reads more, and that what is no cursor is refused.
func TestSkippedInParts(t *testing.T) {
	web, data := httptest.NewServer(takeDownWeb()), filepath.Join(t.TempDir(), "data")
	t.Cleanup(web.Close)
	at := strings.TrimPrefix(web.URL, "http://")
	freshet(t, 0, "crawl", "--data", data, "--quiet", "--listen", "", "--delay", "0s", "--retries", "0", "--allow-private", "--contact", "mailto:a@b.test",
		"--resolve", "site.test="+at, "--resolve", "forbids.test="+at, "--resolve", "locked.test="+at, "http://site.test/", "http://forbids.test/", "http://locked.test/")
	s, err := openStore(data, store.Options{Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := newReader(s)
	count := func(rows int) (all map[string]int64, parts int) {
		all = map[string]int64{}
		for after, more := "", true; more; parts++ {
			part, err := r.Skipped(after, 1, rows)
			if err != nil || part.Looked > int64(rows) || parts > 100 {
				t.Fatalf("%d rows after %q: %d pages, %v", rows, after, part.Looked, err)
			}
			all["looked"] += part.Looked
			for _, of := range part.Pages {
				all["pages "+of.Reason] += of.Count
			}
			for reason, n := range part.Refused {
				all["refused "+reason] += n
			}
			after, more = part.Next, part.Next != ""
		}
		return all, parts
	}
	whole, parts := count(1000)
	if parts != 1 || whole["pages robots"] != 1 || whole["pages missing 404"] == 0 || whole["pages error 403"] != 1 || whole["refused scope"] == 0 {
		t.Errorf("%d parts, %v", parts, whole)
	}
	for _, rows := range []int{1, 2, 3, 7} {
		if all, parts := count(rows); !maps.Equal(all, whole) || parts < 2 {
			t.Errorf("in %d parts of %d rows: %v, want %v", parts, rows, all, whole)
		}
	}
	for _, after := range []string{"x", "-1", "1/", "16/http://site.test", "-1/", "x/y", "11112222333344445"} {
		if _, err := r.Skipped(after, 1, 10); after != "1/" && err == nil {
			t.Errorf("after %q is accepted", after)
		}
	}
}

// TestPageStates holds that the window and the store have the same states, and that the API refuses any other.
func TestPageStates(t *testing.T) {
	var states []string
	for s := store.State(0); s.Known(); s++ {
		states = append(states, s.String())
	}
	if !slices.Equal(states, dashboard.PageStates) {
		t.Errorf("%v, and in the store %v", dashboard.PageStates, states)
	}
	answer := httptest.NewRecorder()
	dashboard.Handler(apiOptions(manySites(t, 1), nil)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/pages?state=alive", nil))
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "want one of pending, live, ") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestSitesAreKept holds that sorts and searches of sites are answered from one look at all of them, which says its
// time, and that what is shown of a site is true now.
func TestSitesAreKept(t *testing.T) {
	r := manySites(t, 100)
	looks, read := 0, r.sites.make
	r.sites.make = func() ([]siteNumbers, error) { looks++; return read() }
	if _, _, err := r.sites.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.sites.rest = r.sites.rest.AddDate(1, 0, 0) // as after a look that took long
	for _, query := range []string{"sort=pages", "sort=refused&backward=true", "q=te-7", "from=1000000&limit=1000", "sort=due&q=nowhere", "backward=true&limit=1000&from=90"} {
		answer := httptest.NewRecorder()
		dashboard.Handler(apiOptions(r, nil)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/sites?"+query, nil))
		if text := answer.Body.String(); answer.Code != http.StatusOK || looks != 1 || strings.Contains(text, `"as_of":null`) {
			t.Errorf("%s: %d after %d looks at all sites: %.200s", query, answer.Code, looks, text)
		}
	}
	if now, err := r.Sites(t.Context(), dashboard.SiteQuery{Sort: "site", Limit: 50}); err != nil || now.AsOf != nil || looks != 1 {
		t.Errorf("the first by name are as of %v, %v", now.AsOf, err)
	}
}

// TestOddQuestions holds that a question that makes no sense is refused with what is wrong with it, and that a table
// beyond its end does not say that there is nothing.
func TestOddQuestions(t *testing.T) {
	window := dashboard.Handler(apiOptions(manySites(t, 10), nil))
	for _, tt := range []struct {
		target, says string
		code         int
	}{
		{"/api/v1/history", `parameter \"url\": /api/v1/history needs it`, 400},
		{"/api/v1/history?url=nope", "not a valid URL", 400},
		{"/api/v1/content?url=%00", "not a valid URL", 400},
		{"/api/v1/history?url=http://none.test/", "freshet pages lists what is known", 404},
		{"/page", "not a valid URL", 400},
		{"/page?url=%FF%FE", "not a valid URL", 400},
		{"/sites?limit=-1", "Limit &#34;-1&#34;: want a number up to 1000.", 400},
		{"/sites?from=500", "it has 10 sites.", 200},
		{"/sites?sort=pages&q=site-1&limit=0", "it has 1 site.", 200},
		{"/sites?q=nowhere", "No site has", 200},
		{"/changes?before=2020-01-01T00:00:00Z", "does not search the whole log.</p>", 200},
	} {
		answer := httptest.NewRecorder()
		window.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, tt.target, nil))
		if text := answer.Body.String(); answer.Code != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("%s: %d, want %d and %q: %s", tt.target, answer.Code, tt.code, tt.says, text)
		}
	}
}

// TestAsStored holds that a site is found by its name as people read and type it.
func TestAsStored(t *testing.T) {
	for part, want := range map[string]string{
		"": "", "TE-7": "te-7", "[2001:DB8": "[2001:db8", "://": "://", "a/Ü": "a/ü", "BÜCHER": "xn--bcher-kva", "\xff": "\xff",
		"http://bücher.example:81/Ü": "http://xn--bcher-kva.example:81/ü", "xn--bcher-kva.ex": "xn--bcher-kva.ex", "a.example/it's\"": "a.example/it's\"",
	} {
		if got := asStored(part); got != want {
			t.Errorf("%q: %q, want %q", part, got, want)
		}
	}
}

// TestPagesOfSiblings holds that the pages of a site are those of the table that have it, though other sites share its
// partition and their URLs name it.
func TestPagesOfSiblings(t *testing.T) {
	list, data := filepath.Join(t.TempDir(), "urls"), filepath.Join(t.TempDir(), "data")
	put(t, list, "http://a.site.test/1\nhttp://a.site.test/2\nhttp://b.site.test/?u=http://a.site.test\nhttp://a.site.test:81/3\nhttps://a.site.test/4\n")
	freshet(t, 0, "import", "--data", data, list)
	s, err := openStore(data, store.Options{Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var urls []string
	for page, err := range newReader(s).Pages(dashboard.Filter{Site: "http://a.site.test"}) {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, page.URL)
	}
	slices.Sort(urls)
	if want := []string{"http://a.site.test/1", "http://a.site.test/2"}; !slices.Equal(urls, want) {
		t.Errorf("pages %q, want %q", urls, want)
	}
}

// TestExplainInAMoment holds that a search for links that is cut short says so, and a whole one says what it found.
func TestExplainInAMoment(t *testing.T) {
	r := manySites(t, 10)
	for most, want := range map[time.Duration]string{
		1: "A part of the stored pages was looked at", node.Unhurried: "No stored page links to it", 0: "freshet explain does that",
	} {
		x, err := explainStopped(r.store, url.Values{"scope": {"any"}}, "http://site-1.test/none", most)
		if err != nil || !strings.Contains(x.Why, want) {
			t.Errorf("within %v: %q, %v: want %q", most, x.Why, err, want)
		}
	}
}
