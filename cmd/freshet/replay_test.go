package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ownFont returns a font that pages do not have by themselves.
func ownFont(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("/usr/share/fonts/truetype/*/*Mono-Bold.ttf")
	if err != nil || len(names) == 0 {
		t.Skip("no font for a page: make setup installs Chromium and its fonts")
	}
	font, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(font)
}

// styledSite is a site with a page whose style sheets load sheets, pictures and a font.
func styledSite(t *testing.T) *httptest.Server {
	t.Helper()
	square := func(colour string) string {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="` + colour + `"/></svg>`
	}
	files := map[string][2]string{
		"/": {"text/html", `<!doctype html><link rel=stylesheet href=css/first.css><link rel=stylesheet crossorigin href=css/shared.css><style>em{background:url("css/element.svg")}</style>
<h1>Styled</h1><p>text</p><em>element</em><b style="background:url('css/attribute.svg')">attribute</b><i>last</i>
<svg width=40 height=40><image href=/css/image.svg width=40 height=40 /></svg>
<img srcset="/css/set.svg 1x"><object data=/css/object.svg></object>
<svg width=40 height=40><use href="css/icons.svg#flat"/></svg><svg width=40 height=40 color=green><use xlink:href="css/icons.svg#shaded"/></svg>`},
		"/css/icons.svg": {"image/svg+xml", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><style>.flat{fill:olive} svg{opacity:.2}</style>
<linearGradient id="g"><stop stop-color="blue"/><stop offset="1" stop-color="lime"/></linearGradient>
<symbol id="flat" viewBox="0 0 8 8"><rect class="flat" width="8" height="4"/></symbol>
<g id="shaded"><rect width="30" height="30" fill="url(#g)"/><rect width="9" height="5" fill="currentColor"/></g></svg>`},
		"/css/image.svg":       {"image/svg+xml", square("navy")},
		"/css/set.svg":         {"image/svg+xml", square("purple")},
		"/css/object.svg":      {"image/svg+xml", square("fuchsia")},
		"/css/first.css":       {"text/css", `@import "deep/second.css"; h1{background:url(sheet.svg)}`},
		"/css/deep/second.css": {"text/css", `@import url('third.css'); /* url(never.svg) */ p{background:url("../deep.svg") repeat-x; padding:30px}`},
		"/css/deep/third.css":  {"text/css", `body{background:#def; color:#124} i{content:url(../last.svg)}`},
		"/css/shared.css":      {"text/css", `@font-face{font-family:own; src:url(own.ttf)} h1{color:#a00; font-family:own,serif}`},
		"/css/own.ttf":         {"font/ttf", ownFont(t)},
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

// TestReplayEqualsSite compares pictures of a page at its site and in the window, after the site has gone. The page
// and its requisites were fetched in different seconds.
func TestReplayEqualsSite(t *testing.T) {
	b := openBrowser(t)
	site := styledSite(t)
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "freshet.yaml")
	put(t, config, "allow-private: true\ndelay: 300ms\nlisten: \"\"\n")
	freshet(t, 0, "crawl", "--config", config, "--data", data, "--quiet", site.URL+"/")

	live := b.look(site.URL + "/")
	site.Close()

	p := start(t, "view", data, "--listen", "127.0.0.1:0")
	address, _, _ := strings.Cut(strings.TrimPrefix(p.awaitLine("shows"), "http://"), "/")
	if replayed := b.look("http://" + address + "/web/" + site.URL + "/"); !bytes.Equal(live, replayed) {
		put(t, filepath.Join(t.ArtifactDir(), "live.png"), string(live))
		put(t, filepath.Join(t.ArtifactDir(), "replayed.png"), string(replayed))
		t.Errorf("the pictures differ: %d bytes of the site's, %d of the replay's", len(live), len(replayed))
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.end()
}
