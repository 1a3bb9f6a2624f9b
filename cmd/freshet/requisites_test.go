package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needyWeb is a site whose pages have requisites on the site and on another host. The other host also has other pages.
// needyWeb records requests.
type needyWeb struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newNeedyWeb(t *testing.T) *needyWeb {
	files := map[string][2]string{
		"site.test/docs/": {"text/html", `<title>Docs</title><a href="one.html">one</a> <a href="two.html">two</a> <a href="/blog/">blog</a>
<a href="http://cdn.test/about.html">about</a><link rel=stylesheet href="/static/own.css"><img src="http://cdn.test/picture.png">`},
		"site.test/docs/one.html":  {"text/html", `<title>One</title><link rel=stylesheet href="http://cdn.test/style.css"><img src="http://barred.test/x.png">`},
		"site.test/docs/two.html":  {"text/html", `<title>Two</title>`},
		"site.test/blog/":          {"text/html", `<title>Blog</title>`},
		"site.test/static/own.css": {"text/css", `body{background:url(own.png)}`},
		"site.test/static/own.png": {"image/png", `own`},
		"cdn.test/picture.png":     {"text/html", `<title>No picture</title><img src="/tracker.gif"><a href="/about.html">about</a>`},
		"cdn.test/style.css":       {"text/css", `@import "more.css"`},
		"cdn.test/more.css":        {"text/css", `p{background:url(/more.png)}`},
		"cdn.test/more.png":        {"image/png", `more`},
		"cdn.test/tracker.gif":     {"image/gif", `tracker`},
		"cdn.test/about.html":      {"text/html", `<title>About</title>`},
		"barred.test/robots.txt":   {"text/plain", "User-agent: *\nDisallow: /\n"},
	}
	w := &needyWeb{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.Host+r.URL.Path)
		w.mu.Unlock()
		file, ok := files[r.Host+r.URL.Path]
		if !ok {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Type", file[0])
		fmt.Fprint(out, file[1])
	}))
	t.Cleanup(w.Close)
	return w
}

// since returns the requests since the last call.
func (w *needyWeb) since() (asked []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked, w.asked = w.asked, nil
	return asked
}

// TestRequisites crawls a folder of a site with each value of --requisites, and then continues with a wider one.
func TestRequisites(t *testing.T) {
	web := newNeedyWeb(t)
	dir := t.TempDir()
	config, rules := filepath.Join(dir, "freshet.yaml"), filepath.Join(dir, "rules.yaml")
	put(t, rules, "seeds: page\ninclude: [http://site.test/docs/]\n")
	address := strings.TrimPrefix(web.URL, "http://")
	put(t, config, fmt.Sprintf("resolve: [site.test=%s, cdn.test=%s, barred.test=%s]\nscope: %s\nallow-private: true\ndelay: 0s\nlisten: \"\"\ncontact: mailto:a@b.test\norder: depth\ntdmrep: false\n",
		address, address, address, rules))
	crawl := func(data string, args ...string) (pages, requisites int64, asked []string) {
		t.Helper()
		args = append([]string{"crawl", "--config", config, "--data", filepath.Join(dir, data), "--quiet", "--json"}, args...)
		out, _ := freshet(t, 0, args...)
		s := summaryOf(t, []byte(out))
		return s.Pages, s.Requisites, web.since()
	}
	docs := []string{"site.test/robots.txt", "site.test/docs/", "site.test/docs/one.html", "site.test/docs/two.html"}
	own := []string{"site.test/static/own.css", "site.test/static/own.png"}
	others := []string{"cdn.test/robots.txt", "cdn.test/picture.png", "cdn.test/style.css", "cdn.test/more.css", "cdn.test/more.png", "barred.test/robots.txt"}
	for _, test := range []struct {
		requisites string
		want       []string
		count      int64
	}{
		{"none", docs, 0},
		{"same-site", slices.Concat(docs, own), 2},
		{"all", slices.Concat(docs, own, others), 6},
	} {
		pages, requisites, asked := crawl(test.requisites, "--requisites", test.requisites, "http://site.test/docs/")
		if diff := cmp.Diff(slices.Sorted(slices.Values(test.want)), slices.Sorted(slices.Values(asked))); diff != "" {
			t.Errorf("%s: asked for\n%s", test.requisites, diff)
		}
		if pages != 3 || requisites != test.count {
			t.Errorf("%s: %d pages and %d requisites, want 3 and %d", test.requisites, pages, requisites, test.count)
		}
		if at := func(path string) int { return slices.Index(asked, path) }; test.count > 0 && at("site.test/static/own.css") > at("site.test/docs/one.html") {
			t.Errorf("%s: what the first page needs comes after another page: %q", test.requisites, asked)
		}
	}
	// A run that has more of them brings those of the pages that are stored.
	if pages, requisites, asked := crawl("same-site", "--requisites", "all"); pages != 0 || requisites != 4 ||
		!slices.Equal(slices.Sorted(slices.Values(others)), slices.Sorted(slices.Values(asked))) {
		t.Errorf("with more of them: %d pages, %d requisites, asked for %q", pages, requisites, asked)
	}
	for _, explained := range []struct{ data, url, want string }{
		{"none", "http://site.test/static/own.css", "--requisites is none"},
		{"same-site", "http://site.test/static/own.css", "is stored"},
	} {
		out, _ := freshet(t, 0, "explain", "--config", config, "--data", filepath.Join(dir, explained.data), "--requisites", explained.data, explained.url)
		if !strings.Contains(out, explained.want) {
			t.Errorf("explain %s says nothing of %q:\n%s", explained.url, explained.want, out)
		}
	}
	if _, said := freshet(t, 2, "crawl", "--requisites", "some", "--data", filepath.Join(dir, "none")); !strings.Contains(said, "none or same-site or all") {
		t.Errorf("a wrong word is answered %q", said)
	}
}
