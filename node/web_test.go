package node

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/store"
	"freshet/store/repair"
	"freshet/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testWeb is a small web on a loopback listener: hosts h0.test … of pages 0 … n−1. Page i links to
// 2i+1 and 2i+2 of its host, to page i of the next host, and to things that are not pages.
type testWeb struct {
	hosts, pages int
	server       *httptest.Server
	onRequest    func(n int) // called with the number of requests so far
	led          bool        // each robots.txt redirects to a file on the next host

	mu       sync.Mutex
	requests map[string]int // by URL
	total    int
	now      map[string]int // requests being answered, by host
	overlap  []string       // hosts that saw two at once
	clock    *clock.Clock
	left     map[string]time.Time
	soonest  time.Duration // from the end of an answer to the host's next request
}

func newTestWeb(t *testing.T, hosts, pages int) *testWeb {
	w := &testWeb{hosts: hosts, pages: pages, requests: map[string]int{}, now: map[string]int{},
		clock: clock.Real(), left: map[string]time.Time{}, soonest: time.Hour}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

func (w *testWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.enter(r)
	defer w.leave(r)
	var host, page int
	switch {
	case r.URL.Path == "/robots.txt" && w.led:
		fmt.Sscanf(r.Host, "h%d.test", &host)
		http.Redirect(out, r, fmt.Sprintf("http://h%d.test/rules.txt", (host+1)%w.hosts), http.StatusFound)
		return
	case r.URL.Path == "/robots.txt", r.URL.Path == "/rules.txt":
		fmt.Fprint(out, "User-agent: *\nDisallow: /private/\n")
		return
	case r.URL.Path == "/old":
		http.Redirect(out, r, "/p/1", http.StatusMovedPermanently)
		return
	case r.URL.Path == "/":
	default:
		if _, err := fmt.Sscanf(r.URL.Path, "/p/%d", &page); err != nil || page >= w.pages {
			http.NotFound(out, r)
			return
		}
	}
	fmt.Sscanf(r.Host, "h%d.test", &host)
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(out, "<!doctype html><title>Page %d</title><p>%s</p>", page, strings.Repeat(fmt.Sprintf("words of page %d of host %d. ", page, host), 20))
	for _, child := range []int{2*page + 1, 2*page + 2} {
		if child < w.pages {
			fmt.Fprintf(out, `<a href="/p/%d">%d</a> `, child, child)
		}
	}
	fmt.Fprintf(out, `<a href="http://h%d.test/p/%d">next</a> <a href="/missing/%d">none</a> <a href="/private/x">x</a> <a href="/old">old</a> <a href="http://elsewhere.test/">out</a>`,
		(host+1)%w.hosts, page, page%3)
}

func (w *testWeb) enter(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[r.Host+r.URL.Path]++
	w.total++
	if w.onRequest != nil {
		w.onRequest(w.total)
	}
	if left := w.left[r.Host]; !left.IsZero() {
		w.soonest = min(w.soonest, w.clock.Now().Sub(left))
	}
	w.now[r.Host]++
	if w.now[r.Host] > 1 {
		w.overlap = append(w.overlap, r.Host)
	}
}

func (w *testWeb) leave(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[r.Host]--
	w.left[r.Host] = w.clock.Now()
}

// options returns the options of a crawl of the web in dir.
func (w *testWeb) options(t *testing.T, fs vfs.FS, dir string) Options {
	address := addressOfServer(w.server)
	o := Options{Dir: dir, FS: fs, AllowPrivate: true, Partitions: 4, Connections: 8, Resolve: map[string]netip.AddrPort{}, UserAgent: "freshet-test"}
	for h := range w.hosts {
		host := fmt.Sprintf("h%d.test", h)
		o.Resolve[host] = address
		o.Seeds = append(o.Seeds, mustParse(t, "http://"+host+"/"))
	}
	return o
}

func mustParse(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// want returns the URLs that a crawl of the whole web stores.
func (w *testWeb) want() []string {
	var urls []string
	for h := range w.hosts {
		urls = append(urls, fmt.Sprintf("http://h%d.test/", h))
		for page := range w.pages {
			urls = append(urls, fmt.Sprintf("http://h%d.test/p/%d", h, page))
		}
	}
	slices.Sort(urls)
	return urls
}

// run crawls to the end and closes.
func run(t *testing.T, o Options) Summary {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := e.Run(t.Context(), t.Context())
	if err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	return summary
}

// eachPage calls fn for every page of a crawl that is not running.
func eachPage(t *testing.T, o Options, fn func(store.PageAt)) {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, row := range knownPages(t, s) {
		fn(row)
	}
}

// stored returns the URLs of the pages that have a version.
func stored(t *testing.T, o Options) (urls []string) {
	t.Helper()
	eachPage(t, o, func(row store.PageAt) {
		if row.State == store.StateLive {
			urls = append(urls, row.URL.String())
		}
	})
	slices.Sort(urls)
	return urls
}

// verify fails the test for every problem in the directory.
func verify(t *testing.T, o Options) {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := repair.Verify(context.Background(), s, func(p store.Problem) { t.Errorf("verify: %s", p.Text) }); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// addressOfServer returns where a server listens, for Options.Resolve.
func addressOfServer(server *httptest.Server) netip.AddrPort {
	return netip.MustParseAddrPort(server.Listener.Addr().String())
}
