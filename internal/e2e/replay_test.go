package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/clock"
	"freshet/internal/sites"
)

// hostilePage tries all that a script of a stored page could do to the API beside it, and then asks for ran.html.
const hostilePage = `<!doctype html><title>trying</title>
<img src="/api/v1/status"><iframe src="/api/v1/pages"></iframe>
<form method=post enctype="text/plain" action="/api/v1/pause"><input name='{"site":"' value='"}'></form>
<script>
const order = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'};
const tries = {
	status: () => fetch('/api/v1/status').then(r => r.text()),
	pause: () => fetch('/api/v1/pause', order).then(r => r.text()),
	blind: () => fetch('/api/v1/pause', {method: 'POST', mode: 'no-cors', body: '{}'}).then(() => 'sent'),
	elsewhere: () => fetch('http://127.0.0.1:1/').then(() => 'sent'),
	cookie: async () => document.cookie = 'a=b',
	storage: async () => localStorage.length,
	popup: async () => { if (!open('/api/v1/status')) throw new DOMException('', 'SecurityError'); return 'open' },
};
(async () => {
	for (const name in tries) await tries[name]().catch(() => {});
	navigator.sendBeacon('/api/v1/pause', '{}');
	document.forms[0].submit();
	setTimeout(() => new Image().src = 'ran.html', 200);
})();
</script>`

// TestReplayInBrowser shows stored pages of a real site at their replay addresses in a browser: its style
// sheet comes from the store, and nothing from elsewhere. The scripts of a hostile page reach
// nothing of the API: no request of theirs but for stored versions arrives, and no order is carried out.
func TestReplayInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	manual := install(t, "libglib2.0-doc")[0]
	site := sites.Site{Name: "gobject", Root: filepath.Join(t.TempDir(), "site"), Home: "/index.html"}
	if err := os.CopyFS(site.Root, os.DirFS(filepath.Join(manual.Root, "gobject"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site.Root, "hostile.html"), []byte(hostilePage), 0o600); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(site.Root, "index.html")
	if err := os.WriteFile(home, append(read(t, home), `<p><a href="hostile.html">hostile</a>`...), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := serve(t, 71, new(sites.Log), sites.Options{}, site)
	data := filepath.Join(t.TempDir(), "data")
	crawl(t, data, servers, "--delay", "0s")
	door := openDoor(t, data)

	tab := openTab(t, browser)
	type look struct {
		Title  string
		Sheets int
		Strays []string
	}
	if err := chromedp.Do(tab, chromedp.Navigate(door.origin+"/web/http://"+site.Host()+"/index.html")); err != nil {
		t.Fatal(err)
	}
	got, err := chromedp.Run(tab, chromedp.Evaluate[look](`({
		Title: document.title,
		Sheets: document.styleSheets.length,
		Strays: performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.href.split("/2")[0])),
	})`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Title, "GObject") || got.Sheets == 0 || len(got.Strays) > 0 {
		t.Errorf("the page shows %+v", got)
	}
	t.Logf("%+v", got)

	hostile := door.origin + "/web/2026sc_/http://" + site.Host() + "/hostile.html"
	if err := chromedp.Do(tab, chromedp.Navigate(hostile)); err != nil {
		t.Fatal(err)
	}
	ran := func() bool {
		return slices.ContainsFunc(door.seen(), func(path string) bool { return strings.HasSuffix(path, "/ran.html") })
	}
	for wait := 1000; !ran(); wait-- {
		if wait == 0 || clock.Real().Sleep(t.Context(), 50*time.Millisecond) != nil {
			t.Fatalf("the scripts have not run: %q", door.seen())
		}
	}
	paths := door.seen()
	if n := len(paths); n < 5 {
		t.Errorf("%d requests came through the door", n)
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, "GET /web/") && !strings.HasPrefix(path, "GET /copy/") && !strings.HasPrefix(path, "GET /script/") && path != "GET /favicon.ico" {
			t.Errorf("a request came through: %s", path)
		}
	}
	if status := run(t, binary, "status", "--data", data); strings.Contains(string(status), "paused") {
		t.Errorf("an order was carried out:\n%s", status)
	}
}

// openTab starts a browser.
func openTab(t *testing.T, browser string, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute),
	}, more)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	return tab
}

// door is a proxy in front of a daemon's API. It notes the requests.
type door struct {
	origin string
	mu     sync.Mutex
	paths  []string
}

func (d *door) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.paths)
}

// openDoor starts a daemon in a data directory, and a proxy before it, until the test ends.
func openDoor(t *testing.T, data string) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	config := filepath.Join(t.TempDir(), "freshet.yaml")
	text := fmt.Sprintf("data: %s\nlisten: %s\nallow-private: true\ncontact: mailto:a@b.test\n", data, address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startDaemon(t, config)
	d := &door{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address}) // keeps the Host field
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.paths = append(d.paths, r.Method+" "+r.URL.Path)
		d.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	d.origin = server.URL
	return d
}

// startDaemon starts freshet serve and waits until it serves. The end of the test stops it, if nothing did before.
func startDaemon(t *testing.T, config string) *exec.Cmd {
	t.Helper()
	daemon := exec.Command(binary, "serve", "--config", config)
	said, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if strings.Contains(lines.Text(), "freshet: serving") {
				up <- true
			}
		}
	}()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM) // fails if it has ended
		<-ended
		_ = daemon.Wait()
	})
	select {
	case <-up:
	case <-ended:
		t.Fatal("the daemon has ended by itself")
	}
	return daemon
}
