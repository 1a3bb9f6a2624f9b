package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// styledSite is a site whose page has its looks through sheets that ask for sheets and pictures.
func styledSite(t *testing.T) *httptest.Server {
	t.Helper()
	square := func(colour string) string {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="` + colour + `"/></svg>`
	}
	files := map[string][2]string{
		"/": {"text/html", `<!doctype html><link rel=stylesheet href=css/first.css><style>em{background:url("css/element.svg")}</style>
<h1>Styled</h1><p>text</p><em>element</em><b style="background:url('css/attribute.svg')">attribute</b><i>last</i>`},
		"/css/first.css":       {"text/css", `@import "deep/second.css"; h1{background:url(sheet.svg)}`},
		"/css/deep/second.css": {"text/css", `@import url('third.css'); /* url(never.svg) */ p{background:url("../deep.svg") repeat-x; padding:30px}`},
		"/css/deep/third.css":  {"text/css", `body{background:#def; color:#124} i{content:url(../last.svg)}`},
		"/css/element.svg":     {"image/svg+xml", square("red")},
		"/css/attribute.svg":   {"image/svg+xml", square("lime")},
		"/css/sheet.svg":       {"image/svg+xml", square("gold")},
		"/css/deep.svg":        {"image/svg+xml", square("blue")},
		"/css/last.svg":        {"image/svg+xml", square("teal")},
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := files[r.URL.Path]
		if !ok {
			if strings.Contains(r.URL.Path, "never") {
				t.Errorf("%s is asked for, of which only a comment speaks", r.URL.Path)
			}
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", file[0])
		fmt.Fprint(w, file[1])
	}))
	t.Cleanup(site.Close)
	return site
}

// TestReplayEqualsSite compares pictures of a page at its site and in the window, after the site has gone.
func TestReplayEqualsSite(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	site := styledSite(t)
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "freshet.yaml")
	put(t, config, "allow-private: true\ndelay: 0s\nlisten: \"\"\n")
	freshet(t, 0, "crawl", "--config", config, "--data", data, "--quiet", site.URL+"/")

	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute),
	})
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	tab, _ := chromedp.NewContext(allocator)
	picture := func(address string) []byte {
		t.Helper()
		if err := chromedp.Do(tab, chromedp.EmulateViewport(600, 400), chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
		png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		return png
	}
	live := picture(site.URL + "/")
	site.Close()

	p := start(t, "view", data, "--listen", "127.0.0.1:0")
	address, _, _ := strings.Cut(strings.TrimPrefix(p.awaitLine("shows"), "http://"), "/")
	if replayed := picture("http://" + address + "/web/" + site.URL + "/"); !bytes.Equal(live, replayed) {
		t.Errorf("the pictures differ: %d bytes of the site's, %d of the replay's", len(live), len(replayed))
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.end()
}
