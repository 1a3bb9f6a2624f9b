package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

func patterns(t *testing.T, texts ...string) frontier.Patterns {
	t.Helper()
	var list []frontier.Pattern
	for _, text := range texts {
		list = append(list, pattern(t, text))
	}
	return frontier.NewPatterns(list)
}

func pattern(t *testing.T, text string) frontier.Pattern {
	t.Helper()
	p, err := frontier.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRules crawls with rules that exclude, opt out, include and bound.
func TestRules(t *testing.T) {
	web := newTestWeb(t, 3, 30)
	o := web.options(t, vfs.NewMem(), "data")
	o.Seeds = o.Seeds[:1] // h0; the scope takes in nothing else
	o.Rules = &Rules{
		URLs: frontier.Rules{
			Include: patterns(t, "http://h1.test/p/", "h2.test"),
			Exclude: patterns(t, "~/p/1[0-9]$"),
			OptOut:  patterns(t, "h2.test"),
		},
		Sites: []SiteRule{{SiteRule: crawl.SiteRule{Match: pattern(t, "h1.test"), Pages: 5}}},
	}
	run(t, o)
	var h0, h1 int
	for _, u := range stored(t, o) {
		switch {
		case strings.HasPrefix(u, "http://h0.test/"):
			h0++
		case strings.HasPrefix(u, "http://h1.test/p/"):
			h1++
		default:
			t.Errorf("%s is stored", u)
		}
	}
	// Pages 10 to 19 are excluded, and with them what only they link to: 21 to 29. Page 20 has a link
	// from page 9, page 0 only one from h2.
	if h0 != 11 || h1 == 0 || h1 > 5 {
		t.Errorf("%d pages of h0, %d of h1: want 11, and 1 to 5", h0, h1)
	}
	for url := range web.requests {
		if strings.HasPrefix(url, "h2.test") || strings.Contains(url, "/p/1") && len(url) == len("h0.test/p/10") {
			t.Errorf("%s was asked for", url)
		}
	}
	verify(t, o)
}

// TestOptOutOfQueuedPages holds that the crawl asks an owner who opts out for nothing more, not even robots.txt. When
// the entry is taken back, robots.txt comes first.
func TestOptOutOfQueuedPages(t *testing.T) {
	web := newTestWeb(t, 2, 10)
	o := web.options(t, vfs.NewMem(), "data")
	o.Rules = &Rules{URLs: frontier.Rules{OptOut: patterns(t, "h1.test")}}
	u := mustParse(t, "http://h1.test/p/3") // its seed is refused: it is queued all the same
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(&store.Discovered{Partition: s.Home(u.Site()), New: []store.NewPage{{URL: u}}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Explain(u.String())
	if err != nil || x.StoppedBy != "scope" || x.Reason != "opt-out" {
		t.Errorf("explained as %+v, %v", x, err)
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	for url := range web.requests {
		if strings.HasPrefix(url, "h1.test") {
			t.Errorf("%s was asked for", url)
		}
	}
	row, _, err := e.store.PageOf(u)
	if err != nil || row.State != store.StateDenied || row.Reason != "opt-out" {
		t.Errorf("row %v %q, %v: want denied for opt-out", row.State, row.Reason, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// waiting is an engine that runs until the test ends, and waits for work.
func waiting(t *testing.T, o Options) *Node {
	t.Helper()
	o.Wait = true
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		summary, err := e.Run(ctx, context.Background())
		if err == nil && summary.StoppedBy != crawl.Signal {
			err = fmt.Errorf("stopped by %s", summary.StoppedBy)
		}
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, e.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// await waits until a condition of a running crawl holds.
func await(t *testing.T, e *Node, what string, holds func() bool) {
	t.Helper()
	for range 10_000 {
		if holds() {
			return
		}
		if e.opt.Clock.Sleep(t.Context(), time.Millisecond) != nil {
			break
		}
	}
	t.Fatalf("never: %s", what)
}

// TestSteer gives a running crawl one order after the other.
func TestSteer(t *testing.T) { byShards(t, steer) }

func steer(t *testing.T, shards int) {
	web := newTestWeb(t, 2, 10)
	o := web.options(t, vfs.NewMem(), "data")
	o.Shards = shards
	o.Seeds = o.Seeds[:1]
	e := waiting(t, o)
	asked := func(url string) int {
		web.mu.Lock()
		defer web.mu.Unlock()
		return web.requests[url]
	}
	await(t, e, "h0 is crawled", func() bool { return e.Status().Pages == 10 })

	h1 := mustParse(t, "http://h1.test/")
	if err := e.Pause("http://h1.test", true); !errors.Is(err, crawl.ErrUnknown) {
		t.Errorf("pause of a site that is not known: %v", err)
	}
	if err := e.Block("h1.test", time.Time{}); err != nil {
		t.Fatal(err)
	}
	added, refused, err := e.Add([]weburl.URL{h1, h1, mustParse(t, "http://h0.test/p/1"), mustParse(t, "http://h1.test/a/a/a/a/a/a/a")})
	if err != nil || added != 1 || len(refused) != 1 {
		t.Fatalf("added %d, refused %v, %v: want 1, and the trap", added, refused, err)
	}
	x, err := e.Explain(h1.String())
	if err != nil || x.StoppedBy != "robots" && x.StoppedBy != "host" || !slices.ContainsFunc(x.Gates, func(g explain.Checked) bool { return g.Reason == "blocked" }) {
		t.Errorf("blocked: %+v, %v", x, err)
	}
	if err := e.Pause("http://h1.test", true); err != nil {
		t.Fatal(err)
	}
	if err := e.Unblock("h1.test"); err != nil {
		t.Fatal(err)
	}
	x, err = e.Explain(h1.String())
	if err != nil || !slices.ContainsFunc(x.Gates, func(g explain.Checked) bool { return g.Reason == "paused" }) {
		t.Errorf("paused: %+v, %v", x, err)
	}
	if asked("h1.test/robots.txt") != 0 {
		t.Error("a host was asked while blocked or paused")
	}
	if err := e.Pause("http://h1.test", false); err != nil {
		t.Fatal(err)
	}
	await(t, e, "h1 is crawled", func() bool { return e.Status().Pages == 22 })

	if err := e.PauseAll(true); err != nil || e.Status().State != "paused" {
		t.Fatalf("%v, %s", err, e.Status().State)
	}
	if err := e.Recrawl(h1); err != nil {
		t.Fatal(err)
	}
	n, err := e.RecrawlSite("http://h0.test")
	if err != nil || n != 15 { // 11 pages, 3 missing, a redirect; not the one that robots.txt denies
		t.Errorf("%d pages of h0 are due, %v: want 15", n, err)
	}
	if asked("h1.test/") != 1 {
		t.Error("asked while all is paused")
	}
	if err := e.PauseAll(false); err != nil {
		t.Fatal(err)
	}
	await(t, e, "the second visits", func() bool { return asked("h1.test/") == 2 && asked("h0.test/p/9") == 2 })

	if err := e.Purge(mustParse(t, "http://h0.test/p/2")); err != nil {
		t.Error(err)
	}
	if n, err := e.PurgeSite("http://h1.test"); err != nil || n < 11 {
		t.Errorf("%d pages of h1 are purged, %v", n, err)
	}
	if err := e.Recrawl(h1); !errors.Is(err, crawl.ErrUnknown) {
		t.Errorf("recrawl of what is purged: %v", err)
	}
	if err := e.Block("h0.test", time.Unix(1, 0)); !errors.Is(err, crawl.ErrOrder) {
		t.Errorf("block until 1970: %v", err)
	}
	if err := e.Block("not a host/", time.Time{}); !errors.Is(err, crawl.ErrOrder) {
		t.Errorf("block of no host: %v", err)
	}
}

// TestOrdersOutlive holds that blocks and pauses outlive a restart. A running crawl gave the order, or somebody who
// opened the directory for it.
func TestOrdersOutlive(t *testing.T) { byShards(t, ordersOutlive) }

func ordersOutlive(t *testing.T, shards int) {
	web := newTestWeb(t, 2, 5)
	o := web.options(t, vfs.NewMem(), "data")
	o.Shards = shards
	o.Delay = time.Hour // one request each, then queues
	o.For = 0
	reopen := func(do func(e *Node)) {
		t.Helper()
		e, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		do(e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(e *Node, url, gate string, want bool) {
		t.Helper()
		x, err := e.Explain(url)
		if got := slices.ContainsFunc(x.Gates, func(g explain.Checked) bool { return g.Reason == gate }); err != nil || got != want {
			t.Errorf("%s %s: %v, %v: want %v", url, gate, got, err, want)
		}
	}
	reopen(func(e *Node) {
		err := errors.Join(e.Block("h0.test", e.opt.Clock.Now().Add(time.Hour)), e.Pause("http://h1.test", true))
		if err != nil {
			t.Fatal(err)
		}
	})
	reopen(func(e *Node) {
		holds(e, "http://h0.test/", "blocked", true)
		holds(e, "http://h1.test/", "paused", true)
		if err := errors.Join(e.Unblock("h0.test"), e.Pause("http://h1.test", false), e.PauseAll(true)); err != nil {
			t.Fatal(err)
		}
	})
	reopen(func(e *Node) {
		holds(e, "http://h0.test/", "blocked", false)
		holds(e, "http://h1.test/", "paused", true) // all of it is
		if e.Status().State != "paused" {
			t.Error("not paused any more")
		}
	})
	verify(t, o)
}

// TestReload changes a running crawl's settings.
func TestReload(t *testing.T) { byShards(t, reload) }

func reload(t *testing.T, shards int) {
	web := newTestWeb(t, 3, 10)
	o := web.options(t, vfs.NewMem(), "data")
	o.Shards = shards
	seeds := o.Seeds
	o.Seeds = seeds[:1]
	e := waiting(t, o)
	await(t, e, "h0 is crawled", func() bool { return e.Status().Pages == 10 })

	bad := o
	bad.Scope, bad.Seeds = "planet", seeds
	if err := e.Reload(bad); err == nil || e.current().Scope != "site" {
		t.Errorf("a wrong scope is taken: %v, %q", err, e.current().Scope)
	}
	o.Seeds = seeds[:2]
	o.Rules = &Rules{URLs: frontier.Rules{Exclude: patterns(t, "~/p/[0-9]$"), Include: patterns(t, "h2.test")}}
	if err := e.Reload(o); err != nil {
		t.Fatal(err)
	}
	await(t, e, "the new seed is crawled, and what the rules include", func() bool {
		s := e.Status()
		return s.Pages == 11 && s.QueuedNew == 0
	})
	o.Rules, o.Scope = nil, "any"
	if err := e.Reload(o); err != nil {
		t.Fatal(err)
	}
	if err := e.Recrawl(mustParse(t, "http://h1.test/")); err != nil {
		t.Fatal(err)
	}
	// Its links were refused, not forgotten: they are found again.
	await(t, e, "what was excluded is crawled", func() bool { return e.Status().Pages >= 11+11 })
}

// TestSiteTerms holds the effect of a rule on requests and on stored content: header, credentials, types.
func TestSiteTerms(t *testing.T) {
	var header http.Header
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href=/film>film</a> <a href=/list>list</a>`)
	})
	for path, kind := range map[string]string{"/film": "video/mp4", "/list": "text/plain"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, "the bytes of "+path)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	fs := vfs.NewMem()
	o := Options{Dir: "data", FS: fs, AllowPrivate: true, Partitions: 1, UserAgent: "freshet-test", Seeds: []weburl.URL{mustParse(t, server.URL+"/")},
		Rules: &Rules{Sites: []SiteRule{{
			SiteRule: crawl.SiteRule{Match: pattern(t, "127.0.0.1"), Fetch: crawl.ContentTypes{"text/*"}, Store: crawl.ContentTypes{"text/html"}},
			Header:   http.Header{"Authorization": {"Bearer swordfish"}, "X-Club": {"open"}},
		}}}}
	run(t, o)
	if header.Get("Authorization") != "Bearer swordfish" || header.Get("X-Club") != "open" {
		t.Errorf("sent %v", header)
	}
	s, err := store.Open(o.Dir, store.Options{FS: fs, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	film, _, err := s.PageOf(mustParse(t, server.URL+"/film"))
	if err != nil || film.State != store.StateDenied || film.Reason != "content-type" || film.Versions != 0 {
		t.Errorf("film %+v, %v", film, err)
	}
	list, fp, err := s.PageOf(mustParse(t, server.URL+"/list"))
	if err != nil || list.Versions != 1 {
		t.Fatalf("list %+v, %v", list, err)
	}
	if version, err := s.Version(0, fp, 1); err != nil || !version.Capture.IsZero() || version.Size == 0 {
		t.Errorf("list's version %+v, %v: want its digest and no capture", version, err)
	}
	for _, name := range tree(t, fs, "data") {
		f, err := fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil || strings.Contains(string(text), "swordfish") {
			t.Errorf("%s holds the credentials, or %v", name, err)
		}
	}
}

// tree lists the files under a folder.
func tree(t *testing.T, fs vfs.FS, dir string) (files []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		if info, err := fs.Stat(path); err == nil && info.IsDir() {
			files = append(files, tree(t, fs, path)...)
		} else {
			files = append(files, path)
		}
	}
	return files
}

// TestIPv6 crawls a site by its IPv6 address.
func TestIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on loopback: %v", err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="//%s/a">a</a>`, r.Host)
		}
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	root := fmt.Sprintf("http://[::1]:%d/", port)
	o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Seeds: []weburl.URL{mustParse(t, root)}}
	run(t, o)
	if got := stored(t, o); !slices.Equal(got, []string{root, root + "a"}) {
		t.Errorf("stored %v", got)
	}
}
