package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/clock"
)

// hostileTitle is a hostile title of a page: markup, a script, marks that reverse the direction of text, and a
// megabyte.
var hostileTitle = "</title><script>window.broken=1</script><img src=x onerror=window.broken=1>\u202e\u2066" + strings.Repeat("w", 1<<20)

// endlessSite is a site where every page leads to more and the home page changes each time. It counts requests.
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
		fmt.Fprintf(w, "<title>%s</title><p>%s</p>", html.EscapeString(title), text)
		for i := range 3 {
			fmt.Fprintf(w, `<a href="%s/%d">more</a>`, strings.TrimSuffix(r.URL.Path, "/"), i)
		}
	}))
	t.Cleanup(site.Close)
	return site, requests
}

// TestSignInInBrowser signs in with each role, to steer and to look. It views a page as it was, and signs out.
func TestSignInInBrowser(t *testing.T) {
	b := openBrowser(t)
	site := styledSite(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	address := freeAddress(t, "127.0.0.1")
	put(t, file("token"), "a token that steers\n")
	put(t, file("look-token"), "a token that looks\n")
	put(t, file("freshet.yaml"), fmt.Sprintf("data: %s\nseeds: %s\nallow-private: true\ndelay: 0s\nlisten: %s\ntoken-file: %s\nlook-token-file: %s\ncontact: mailto:a@b.test\n",
		file("data"), file("seeds"), address, file("token"), file("look-token")))
	put(t, file("seeds"), site.URL+"/\n")
	daemon := start(t, "serve", "--config", file("freshet.yaml"))
	daemon.awaitLine("serving")

	at := func(path string) chromedp.Action[chromedp.Void] { return chromedp.Navigate("http://" + address + path) }
	signIn := func(token string) {
		b.text(fmt.Sprintf("document.querySelector('input[name=token]').value = %q", token))
		b.press("form[action='/sign-in'] button")
	}
	shows := func(part string) func() bool {
		return func() bool { return strings.Contains(b.text("document.body?.innerText"), part) }
	}
	page := "/page?url=" + site.URL + "/"
	b.pictures("sign-in", page, func() {
		b.do(at(page))
		b.inert(page)
	})
	b.pictures("sign-in-wrong", page, func() {
		b.do(at(page))
		b.console()
		signIn("a token of nobody")
		b.await("that the token is wrong", shows("not the token"))
		b.inert(page)
	})
	signIn("a token that steers")
	b.await("the page that was asked for", shows("Versions"))
	b.await("a version", func() bool {
		b.do(at(page))
		return b.text("document.querySelectorAll('a[href^=\"/web/\"]').length") != "0"
	})
	live := b.look(site.URL + "/")
	b.await("its replay", func() bool { return bytes.Equal(b.look("http://"+address+"/web/"+site.URL+"/"), live) })
	if path := b.text("location.pathname"); !strings.HasPrefix(path, "/copy/") {
		t.Errorf("it is at %s", path)
	}

	b.do(at("/"))
	b.await("the overview", shows("Pages stored"))
	b.do(at("/sites"))
	b.press("button[data-order=pause]")
	b.await("an order", func() bool { return strings.Contains(b.text("document.getElementById('said').textContent"), "done") })
	b.press("form[action='/sign-out'] button")
	b.await("the question for the token", shows("Sign in to Freshet"))
	b.do(at("/sites"))
	if !shows("Sign in to Freshet")() {
		t.Error("after sign-out the sites are shown")
	}

	signIn("a token that looks")
	b.await("the sites", shows("1 to 1 of 1"))
	if buttons := b.text("document.querySelectorAll('button[data-order]').length"); buttons != "0" {
		t.Errorf("who may look has %s buttons", buttons)
	}
	b.text(`fetch("/api/v1/resume", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"}).then(async answer => { window.answer = answer.status + await answer.text(); })`)
	b.await("an answer", func() bool { return b.text("window.answer") != "undefined" })
	if answer := b.text("window.answer"); !strings.HasPrefix(answer, "403") || !strings.Contains(answer, "look but not steer") {
		t.Errorf("an order of who may look: %s", answer)
	}
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	daemon.end()
}

// TestWindowInBrowser uses the window like an operator: the numbers move, a block ends requests, a diff opens, and a
// hostile title breaks nothing. Axe finds no serious fault in any pane. With -artifacts the test keeps pictures of
// all panes, wide and narrow.
func TestWindowInBrowser(t *testing.T) {
	b := openBrowser(t)
	site, requests := endlessSite(t)
	dir := t.TempDir()
	address := freeAddress(t, "127.0.0.1")
	config := filepath.Join(dir, "freshet.yaml")
	put(t, filepath.Join(dir, "seeds.txt"), "http://site.test/\n")
	put(t, config, fmt.Sprintf("data: %s\nseeds: %s\nresolve: site.test=%s\nallow-private: true\ndelay: 50ms\nlisten: %s\ncontact: mailto:a@b.test\nindex: true\n",
		filepath.Join(dir, "data"), filepath.Join(dir, "seeds.txt"), strings.TrimPrefix(site.URL, "http://"), address))
	daemon := start(t, "serve", "--config", config)
	daemon.awaitLine("serving")

	at := func(path string) chromedp.Action[chromedp.Void] { return chromedp.Navigate("http://" + address + path) }

	const stored = "[...document.querySelectorAll('dl.facts div')].find(d => d.innerText.startsWith('Pages stored')).innerText"
	b.do(at("/"))
	before := b.text(stored)
	b.await("the numbers move", func() bool { return b.text(stored) != before })

	const hit = "document.querySelector('article h2')"
	b.await("a hit", func() bool {
		b.do(at("/search?q=wanted"))
		return b.text(hit) != "null"
	})
	title := b.text(hit + ".innerText")
	if !strings.Contains(title, "</title><script>") || len([]rune(title)) > 301 {
		t.Errorf("a hit of %d characters: %.200q", len([]rune(title)), title)
	}
	// Text after a title that reverses the direction has its normal direction.
	if left := b.text("getComputedStyle(" + hit + ").unicodeBidi + getComputedStyle(document.querySelector('article .url.dim')).direction"); left != "isolateltr" {
		t.Errorf("its title is %s", left)
	}

	for _, path := range []string{"/", "/freshness", "/sites", "/changes", "/trouble", "/fleet", "/feed", "/search?q=wanted", "/find?q=site", "/page?url=http://site.test/", "/page?url=http://nowhere.test/"} {
		b.inspect("http://"+address, path)
		if broken := b.text("window.broken"); broken != "undefined" {
			t.Errorf("%s runs what a page calls itself", path)
		}
	}
	b.text("document.body.append(document.createElement('button'))")
	if found := b.barriers("light"); !strings.Contains(found, "button-name") {
		t.Errorf("axe says of a button without a name: %q", found)
	}
	freshet(t, 0, "recrawl", "--config", config, "http://site.test/")
	b.await("the page's change", func() bool {
		b.do(at("/page?url=http://site.test/"))
		return b.text("document.querySelector('a[href^=\"/diff\"]') !== null") == "true"
	})
	b.press("a[href^='/diff']")
	b.await("what changed", func() bool {
		return strings.Contains(b.text("document.querySelector('main')?.innerText"), "wanted, for the")
	})
	if broken := b.text("window.broken"); broken != "undefined" {
		t.Error("a diff runs what a page calls itself")
	}
	b.inspect("http://"+address, b.text("location.pathname + location.search"))

	b.do(chromedp.EmulateViewport(1280, 900), at("/sites"))
	b.text(`document.querySelector('input[name=delay_s]').value = '120', document.querySelector('button[data-order=pace]').click()`)
	b.await("the pace", func() bool {
		return strings.Contains(b.text("document.querySelector('main')?.innerText"), "at least 2m")
	})
	b.do(at("/sites"))
	b.text(`document.querySelector('input[name=delay_s]').value = '', document.querySelector('button[data-order=pace]').click()`)
	b.await("its end", func() bool {
		return !strings.Contains(b.text("document.querySelector('main')?.innerText"), "at least 2m")
	})
	b.press("button[data-order=block]") // the pane is drawn again and again
	b.press("#sure")
	b.await("the block", func() bool { return strings.Contains(b.text("document.getElementById('said').textContent"), "done") })
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

// TestKeptFreshInBrowser looks at the window of a daemon that keeps a changing web fresh by a fast clock, and has a
// subscriber: no view is empty, and axe finds nothing serious in any. Pictures of all are kept with -artifacts.
func TestKeptFreshInBrowser(t *testing.T) {
	b := openBrowser(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	address := freeAddress(t, "127.0.0.1")
	web := start(t, "demo", "--web-only", "--write-config", file("freshet.yaml"), "--clock", "14400") // a day takes 6 s
	await(t, "the web is there", func() bool {
		_, err := os.Stat(file("freshet.yaml"))
		return err == nil
	})
	daemon := start(t, "serve", "--config", file("freshet.yaml"), "--data", file("data"), "--listen", address,
		"--refresh", "--budget", "400", "--index")
	daemon.awaitLine("serving")
	subscriber := start(t, "subscribe", address, "--mirror", file("mirror"), "--quiet")

	at := func(path string) chromedp.Action[chromedp.Void] { return chromedp.Navigate("http://" + address + path) }
	main := func() string { return b.text("document.querySelector('main').innerText") }
	b.do(at("/freshness"))
	b.await("days of freshness", func() bool {
		return strings.Contains(main(), "would keep") && strings.Contains(main(), "of the last visits")
	})
	const changed = "[...document.querySelectorAll('td.url a[href$=html]')].map(a => a.getAttribute('href')).join(' ')"
	var page, word string
	b.await("a changed page with a body and a title", func() bool { // neither a sitemap nor a page of noarchive
		b.do(at("/changes?kind=changed"))
		for page = range strings.FieldsSeq(b.text(changed)) {
			if title := titleAt(t, "http://"+address+strings.Replace(page, "/page", "/api/v1/content", 1)); title != "" {
				word = title
				return true
			}
		}
		return false
	})
	for _, path := range []string{"/", "/freshness", "/sites", "/changes", "/trouble", "/fleet", "/feed", "/search?q=" + url.QueryEscape(word), page} {
		b.await("something on "+path, func() bool {
			b.do(at(path))
			if empty := b.text("document.querySelectorAll('main .empty').length"); empty != "0" {
				return false
			}
			// So slow a crawl may process too few pages for the model of the fetchers.
			return path == "/fleet" || !strings.Contains(main(), "Nothing to draw yet")
		})
		b.inspect("http://"+address, path)
		text := main()
		if at := regexp.MustCompile(`.*\d-\d\dT\d\d:.*`).FindString(text); at != "" {
			t.Errorf("%s prints a time as for programs: %s", path, at)
		}
	}
	for _, p := range []*process{subscriber, daemon, web} {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		p.end()
	}
}

// titleAt returns the first word of a page's title, or "" if there is no such page or no title.
func titleAt(t *testing.T, url string) string {
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`<title>\PL*(\pL+)`).FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return ""
}
