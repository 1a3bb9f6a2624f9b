package damage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

const (
	hosts = 4
	pages = 14 // of a host
)

// body returns the text of a page, which never changes.
func body(host, page int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>Page %d</title><p>%s</p>", page, strings.Repeat(fmt.Sprintf("words of page %d of host %d. ", page, host), 30))
	for _, to := range links(host, page) {
		fmt.Fprintf(&b, `<a href="%s">link</a> `, to)
	}
	fmt.Fprintf(&b, `<a href="/missing/%d">none</a>`, page%3)
	return b.String()
}

// links returns the pages to which a page links: its children, and the same page of the next host.
func links(host, page int) (all []string) {
	for _, child := range []int{2*page + 1, 2*page + 2} {
		if child < pages {
			all = append(all, fmt.Sprintf("http://h%d.test/p/%d", host, child))
		}
	}
	return append(all, fmt.Sprintf("http://h%d.test/p/%d", (host+1)%hosts, page))
}

// linked returns the pages that a crawl from the seeds finds if it reads no purged page.
func linked() map[string]bool {
	found := map[string]bool{}
	var follow func(url string, host, page int)
	follow = func(url string, host, page int) {
		if found[url] || url == takenDown || strings.HasPrefix(url, string(taken)+"/") {
			return
		}
		found[url] = true
		for _, to := range links(host, page) {
			var host, page int
			if _, err := fmt.Sscanf(to, "http://h%d.test/p/%d", &host, &page); err != nil {
				panic(err)
			}
			follow(to, host, page)
		}
	}
	for host := range hosts {
		follow(fmt.Sprintf("http://h%d.test/", host), host, 0)
	}
	return found
}

// truth returns the content at a URL.
func truth(u weburl.URL) (string, bool) {
	var host, page int
	if _, err := fmt.Sscanf(u.Host(), "h%d.test", &host); err != nil {
		return "", false
	}
	if u.RequestURI() == "/" {
		return body(host, 0), true
	}
	if _, err := fmt.Sscanf(u.RequestURI(), "/p/%d", &page); err != nil || page >= pages {
		return "", false
	}
	return body(host, page), true
}

func serve(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(out, "User-agent: *\nDisallow: /private/\n")
		return
	}
	u, err := weburl.Parse("http://" + r.Host + r.URL.Path)
	text, ok := truth(u)
	if err != nil || !ok {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(out, text)
}

// options returns the options of a crawl of the web.
func options(t *testing.T, server *httptest.Server, fs vfs.FS) node.Options {
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	o := node.Options{
		Dir: "data", FS: fs, AllowPrivate: true, Partitions: 4, Connections: 8, WARCSize: 6 << 10,
		Resolve: map[string]netip.AddrPort{},
	}
	for h := range hosts {
		host := fmt.Sprintf("h%d.test", h)
		o.Resolve[host] = address
		o.Seeds = append(o.Seeds, parse(t, "http://"+host+"/"))
	}
	return o
}

func parse(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const (
	takenDown = "http://h0.test/p/1"
	taken     = weburl.Site("http://h3.test")
	paused    = weburl.Site("http://h2.test")
	blocked   = "h1.test"
)

// world has a directory in mid-crawl, an older state of the directory, and the result of the undisturbed crawl.
type world struct {
	server      *httptest.Server
	older, base *vfs.MemFS
	want        []string       // the pages that a crawl to the end stores
	had         map[string]row // the pages of base
}

type row struct {
	state            store.State
	visits, versions uint32
}

// session opens the crawl, lets it store that many pages, gives an order, and closes it.
func session(t *testing.T, o node.Options, most int64, order func(e *node.Node) error) {
	t.Helper()
	o.MaxPages = most
	e, err := node.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(order(e), e.Close()); err != nil {
		t.Fatal(err)
	}
}

func clone(t testing.TB, disk *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if _, err := vfs.Clone(disk, to, "data", "data"); err != nil {
		t.Fatal(err)
	}
	return to
}

func newWorld(t *testing.T) *world {
	w := &world{server: httptest.NewServer(http.HandlerFunc(serve))}
	t.Cleanup(w.server.Close)
	disk := vfs.NewMem()
	o := options(t, w.server, disk)
	none := func(*node.Node) error { return nil }
	session(t, o, 8, none)
	session(t, o, 8, none)
	w.older = clone(t, disk)
	session(t, o, 8, func(e *node.Node) error {
		_, err := e.PurgeSite(taken)
		return errors.Join(e.Purge(parse(t, takenDown)), err)
	})
	session(t, o, 6, func(e *node.Node) error {
		return errors.Join(e.Pause(paused, true), e.Block(blocked, time.Time{}))
	})
	session(t, o, 4, none)
	w.base = clone(t, disk)
	w.had = rowsOf(t, w.base)
	end := clone(t, w.base)
	w.goOn(t, end)
	for url, r := range rowsOf(t, end) {
		if r.state == store.StateLive {
			w.want = append(w.want, url)
		}
	}
	slices.Sort(w.want)
	return w
}

// goOn lifts the orders and crawls to the end.
func (w *world) goOn(t *testing.T, disk vfs.FS) {
	t.Helper()
	e, err := node.Open(options(t, w.server, disk))
	if err != nil {
		t.Errorf("open to go on: %v", err)
		return
	}
	err = errors.Join(e.Pause(paused, false), e.Unblock(blocked))
	if err != nil {
		t.Errorf("lift orders: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.Run(ctx, ctx); err != nil || ctx.Err() != nil {
		t.Errorf("go on: %v, %v", err, ctx.Err())
	}
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func rowsOf(t *testing.T, disk vfs.FS) map[string]row {
	t.Helper()
	s, err := store.Open("data", store.Options{FS: disk, ReadOnly: true})
	if err != nil {
		t.Errorf("open to look: %v", err)
		return nil
	}
	defer s.Close()
	rows := map[string]row{}
	for p := range s.Partitions() {
		for page, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				t.Errorf("pages: %v", err)
				return rows
			}
			rows[page.URL.String()] = row{page.State, page.Visits, page.Versions}
		}
	}
	return rows
}
