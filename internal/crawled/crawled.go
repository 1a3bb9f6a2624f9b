// Package crawled is for tests of code that reads a store: a small web whose pages change when the test says so,
// and a running crawl of it, in memory.
package crawled

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/feed"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// A Web is the sites h0.test, h1.test … and a crawl of them.
type Web struct {
	Bell feed.Bell // rung when the log has grown

	t      *testing.T
	engine *node.Node

	mu    sync.Mutex
	pages map[string]string // URL → text; absent: 404
	fault error             // of reading a capture; nil: none
	only  store.Pointer     // the capture that fault is about; zero: all
	lost  store.Pointer     // a capture that cannot be read
}

// New starts a crawl of that many sites, each with that many pages, and waits until every page is stored. The crawl
// ends with the test.
func New(t *testing.T, sites, pages int) *Web {
	return NewWith(t, sites, pages, func(*node.Options) {})
}

// NewWith is New with other options of the crawl.
func NewWith(t *testing.T, sites, pages int, set func(*node.Options)) *Web {
	t.Helper()
	w := &Web{t: t, pages: map[string]string{}}
	for s := range sites {
		for p := range pages {
			w.pages[URL(s, p)] = fmt.Sprintf("first text of page %d of site %d", p, s)
		}
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	address := netip.MustParseAddrPort(server.Listener.Addr().(*net.TCPAddr).String())
	o := node.Options{
		Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), captures{w}), Partitions: 4, AllowPrivate: true, Connections: 16, Wait: true, Retries: new(0),
		UserAgent: "freshet-test", Resolve: map[string]netip.AddrPort{},
		OnRecord: func(weburl.Partition, uint64, []byte) { w.Bell.Ring() },
	}
	for s := range sites {
		o.Resolve[fmt.Sprintf("h%d.test", s)] = address
		for p := range pages {
			o.Seeds = append(o.Seeds, parse(t, URL(s, p)))
		}
	}
	set(&o)
	var err error
	if w.engine, err = node.Open(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := w.engine.Run(ctx, ctx)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	w.await(func() bool {
		total, err := w.Store().Total()
		if err != nil {
			t.Fatal(err)
		}
		return total.States[store.StateLive] == int64(sites*pages)
	})
	return w
}

// Store returns the crawl's store.
func (w *Web) Store() *store.Store { return w.engine.Store() }

// ServeHTTP serves the pages.
func (w *Web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	text, ok := w.pages["http://"+r.Host+r.URL.Path]
	w.mu.Unlock()
	if !ok {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	if !strings.HasPrefix(text, "<title>") {
		text = "<title>Page</title><p>" + text
	}
	fmt.Fprint(out, text)
}

// Set changes the text of a page. The text may begin with a title element; "" removes the page.
func (w *Web) Set(at, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pages[at] = text; text == "" {
		delete(w.pages, at)
	}
}

// Fail makes each reading of a capture fail, until Fail(nil).
func (w *Web) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.only = err, store.Pointer{}
}

// FailPage makes each reading of a page's last version fail, until FailPage with nil.
func (w *Web) FailPage(at string, err error) {
	w.t.Helper()
	only := w.capture(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.only = err, only
}

// Lose makes the capture of a page's last version permanently unreadable.
func (w *Web) Lose(at string) {
	w.t.Helper()
	lost := w.capture(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = lost
}

// capture returns where the last version of a page is.
func (w *Web) capture(at string) store.Pointer {
	w.t.Helper()
	u := parse(w.t, at)
	page, fp, err := w.Store().PageOf(u)
	var v store.Version
	if err == nil {
		v, err = w.Store().Version(w.Store().Home(u.Site()), fp, page.Versions)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return v.Capture
}

// OnDisk reports whether the last version of a page is in a file and not in an object store.
func (w *Web) OnDisk(at string) bool {
	w.t.Helper()
	return w.Store().OnDisk(w.capture(at))
}

// captures are the files of a crawl's captures.
type captures struct{ *Web }

// MaybeError implements errorfs.Injector.
func (c captures) MaybeError(op errorfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if op.Kind != errorfs.OpFileReadAt || !strings.Contains(op.Path, ".warc.gz") {
		return nil
	}
	of := func(capture store.Pointer) bool {
		return op.Offset == capture.Offset && strings.Contains(op.Path, capture.File)
	}
	if !c.lost.IsZero() && of(c.lost) {
		return &fs.PathError{Op: "read", Path: op.Path, Err: syscall.EIO}
	}
	if !c.only.IsZero() && !of(c.only) {
		return nil
	}
	return c.fault
}

// String implements errorfs.Injector.
func (captures) String() string { return "captures" }

// Visit makes the crawl visit a page, and waits for the visit.
func (w *Web) Visit(at string) {
	w.t.Helper()
	visits := func() uint32 {
		page, _, err := w.Store().PageOf(parse(w.t, at))
		if err != nil {
			w.t.Fatal(err)
		}
		return page.Visits
	}
	before := visits()
	if err := w.engine.Recrawl(parse(w.t, at)); err != nil {
		w.t.Fatal(err)
	}
	w.await(func() bool { return visits() > before })
}

// Forget deletes the entry of a page that has ended from the change log.
func (w *Web) Forget(at string) {
	w.t.Helper()
	u := parse(w.t, at)
	page, _, err := w.Store().PageOf(u)
	if err == nil {
		_, err = w.Store().Apply(&store.Forgotten{Partition: w.Store().Home(u.Site()), Changes: []uint64{page.LastChange}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits until the log has grown and a condition holds.
func (w *Web) await(holds func() bool) {
	w.t.Helper()
	for {
		news := w.Bell.Wait()
		if holds() {
			return
		}
		<-news
	}
}

// URL returns the address of a page. Page 0 is its site's first.
func URL(site, page int) string {
	if page == 0 {
		return fmt.Sprintf("http://h%d.test/", site)
	}
	return fmt.Sprintf("http://h%d.test/docs/%d.html", site, page)
}

func parse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
