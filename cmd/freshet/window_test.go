package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/clock"
)

// hostileTitle is what a page may call itself: markup, a script, marks that turn the reading round, and very much of it.
var hostileTitle = "</title><script>window.broken=1</script><img src=x onerror=window.broken=1>\u202e\u2066" + strings.Repeat("w", 1<<20)

// endlessSite is a site whose every page leads to more, and whose home page is another each time. It counts requests.
func endlessSite(t *testing.T) (site *httptest.Server, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		title, text := "A page", r.URL.Path
		if r.URL.Path == "/" {
			title, text = hostileTitle, fmt.Sprintf("wanted, for the %d. time", requests.Load())
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>%s</p>", title, text)
		for i := range 3 {
			fmt.Fprintf(w, `<a href="%s/%d">more</a>`, strings.TrimSuffix(r.URL.Path, "/"), i)
		}
	}))
	t.Cleanup(site.Close)
	return site, requests
}

// TestWindowInBrowser looks at a crawl as an operator does: its numbers move, a block ends requests, a diff opens,
// and what a page calls itself breaks nothing. Pictures of all panes, wide and narrow, are kept with -artifacts.
func TestWindowInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	site, requests := endlessSite(t)
	dir := t.TempDir()
	address := freeAddress(t, "127.0.0.1")
	config := filepath.Join(dir, "freshet.yaml")
	put(t, filepath.Join(dir, "seeds.txt"), "http://site.test/\n")
	put(t, config, fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 50ms\nlisten: %s\ncontact: mailto:a@b.test\n",
		filepath.Join(dir, "data"), filepath.Join(dir, "seeds.txt"), strings.TrimPrefix(site.URL, "http://"), address))
	daemon := start(t, "serve", "--config", config)
	daemon.awaitLine("serving")

	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute),
	})
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	tab, _ := chromedp.NewContext(allocator)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(tab, actions...); err != nil {
			t.Fatal(err)
		}
	}
	text := func(expression string) string {
		t.Helper()
		value, err := chromedp.Run(tab, chromedp.Evaluate[string]("String("+expression+")"))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	await := func(what string, holds func() bool) {
		t.Helper()
		for range 600 {
			if holds() {
				return
			}
			_ = clock.Real().Sleep(t.Context(), 50*time.Millisecond)
		}
		t.Fatalf("%s: not within half a minute; the window says %q", what, text("document.body.innerText.slice(0, 2000)"))
	}
	at := func(path string) chromedp.Action[chromedp.Void] { return chromedp.Navigate("http://" + address + path) }

	const stored = "[...document.querySelectorAll('dl.facts div')].find(d => d.innerText.startsWith('Stored by')).innerText"
	do(at("/"))
	before := text(stored)
	await("the numbers move", func() bool { return text(stored) != before })

	for _, path := range []string{"/", "/freshness", "/sites", "/changes", "/trouble", "/fleet", "/feed", "/search", "/find?q=site", "/page?url=http://site.test/"} {
		name := "window" + strings.TrimRight(strings.NewReplacer("/", "-", "?", "-", "=", "-", ":", "-").Replace(path), "-")
		for width, kind := range map[int64]string{1280: "desktop", 390: "phone"} {
			do(chromedp.EmulateViewport(width, 900), at(path))
			picture, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+"-"+kind+".png"), picture, 0o644); err != nil {
				t.Error(err)
			}
			if wide := text("document.documentElement.scrollWidth > innerWidth"); wide != "false" {
				t.Errorf("%s is wider than a %s", path, kind)
			}
		}
		if broken := text("window.broken"); broken != "undefined" {
			t.Errorf("%s runs what a page calls itself", path)
		}
	}
	freshet(t, 0, "recrawl", "--config", config, "http://site.test/")
	await("the page's change", func() bool {
		do(at("/page?url=http://site.test/"))
		return text("document.querySelector('a[href^=\"/diff\"]') !== null") == "true"
	})
	do(chromedp.Click("a[href^='/diff']"))
	await("what changed", func() bool {
		return strings.Contains(text("document.querySelector('main')?.innerText"), "wanted, for the")
	})
	if broken := text("window.broken"); broken != "undefined" {
		t.Error("a diff runs what a page calls itself")
	}

	do(chromedp.EmulateViewport(1280, 900), at("/sites"), chromedp.Click("button[data-order=block]"), chromedp.Click("#sure"))
	await("the block", func() bool { return strings.Contains(text("document.getElementById('said').textContent"), "done") })
	blocked := requests.Load()
	if blocked < 20 {
		t.Errorf("only %d requests came before the block", blocked)
	}
	_ = clock.Real().Sleep(t.Context(), time.Second)
	if more := requests.Load() - blocked; more > 1 { // one may be under way
		t.Errorf("%d requests come after the block", more)
	}
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	daemon.end()
}
