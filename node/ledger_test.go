package node

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/weburl"
)

// ringOptions are those of a crawl of three pages. Each links to the next and the last to the first. So the cash of a
// seed goes round forever, and none leaves.
func ringOptions(t *testing.T, order string) Options {
	next := map[string]string{"/": "/a", "/a": "/b", "/b": "/"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		if to, ok := next[r.URL.Path]; ok {
			fmt.Fprintf(w, `<a href="%s">next</a>`, to)
		}
	}))
	t.Cleanup(server.Close)
	return Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Order: order, Partitions: 4,
		Resolve: map[string]netip.AddrPort{"site.test": addressOfServer(server)},
		Seeds:   []weburl.URL{mustParse(t, "http://site.test/")}}
}

// cashHeld returns the cash that pages have and did not pass on, of all together.
func cashHeld(t *testing.T, o Options) (held float64) {
	t.Helper()
	eachPage(t, o, func(row store.PageAt) {
		if row.Paid < 0 || row.Paid > row.Cash {
			t.Errorf("%s has handed on %v of %v", row.URL, row.Paid, row.Cash)
		}
		held += row.Cash - row.Paid
	})
	return held
}

// revisitPages lets a crawl go on, and visit pages again.
func revisitPages(t *testing.T, o Options, pages ...string) {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if err := e.Recrawl(mustParse(t, page)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestCashIsConserved holds that only seeds bring cash. Visits do not change the sum, and neither does another crawl
// with the same seeds. A new seed brings its own cash once, even if the crawl knows the page.
func TestCashIsConserved(t *testing.T) {
	for _, order := range []string{"opic", "cash-sum"} {
		t.Run(order, func(t *testing.T) {
			o := ringOptions(t, order)
			holds := func(what string, want float64) {
				t.Helper()
				if held := cashHeld(t, o); math.Abs(held-want) > 1e-9 {
					t.Errorf("after %s pages hold %v, want %v", what, held, want)
				}
				verify(t, o)
			}
			run(t, o)
			holds("the first crawl", 1)
			run(t, o)
			holds("another with the same seed", 1)
			for _, page := range []string{"http://site.test/", "http://site.test/", "http://site.test/a", "http://site.test/b"} {
				revisitPages(t, o, page)
				holds("a visit of "+page, 1)
			}
			o.Seeds = append(o.Seeds, mustParse(t, "http://site.test/a"), mustParse(t, "http://site.test/new"), mustParse(t, "http://site.test/new"))
			for range 3 {
				run(t, o)
				holds("two more seeds", 3)
			}
			revisitPages(t, o, "http://site.test/", "http://site.test/a", "http://site.test/b", "http://site.test/new")
			holds("a visit of all", 3)
		})
	}
}

// TestCashSurvivesKills kills a crawl after each of its records, and so its second run with a page to visit again. The
// next run passes on the cash that had not reached the links, and nothing twice.
func TestCashSurvivesKills(t *testing.T) {
	o := ringOptions(t, "opic")
	disk := vfs.NewCrashableMem()
	o.FS = disk
	var cuts []*vfs.MemFS
	o.OnRecord = func(weburl.Partition, uint64, []byte) { cuts = append(cuts, disk.CrashClone(vfs.CrashCloneCfg{})) }
	run(t, o)
	revisitPages(t, o, "http://site.test/")
	o.OnRecord = nil
	if len(cuts) < 12 {
		t.Fatalf("%d records", len(cuts))
	}
	for i, cut := range cuts {
		o.FS = cut
		run(t, o)
		if held := cashHeld(t, o); math.Abs(held-1) > 1e-9 {
			t.Errorf("killed after record %d: pages hold %v, want 1", i, held)
		}
	}
}

// TestInLinksCountOnce holds that a page counts once for the pages that it links to: a second visit, or its return as
// a seed, adds nothing.
func TestInLinksCountOnce(t *testing.T) {
	o := ringOptions(t, "in-links")
	run(t, o)
	revisitPages(t, o, "http://site.test/", "http://site.test/a")
	revisitPages(t, o, "http://site.test/", "http://site.test/b")
	for page, want := range map[string]float64{"http://site.test/": 2, "http://site.test/a": 1, "http://site.test/b": 1} {
		if row := pageRow(t, o, page); row.Cash != want {
			t.Errorf("%s has %v, want %v", page, row.Cash, want)
		}
	}
}

func pageRow(t *testing.T, o Options, page string) store.Page {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row, _, err := s.PageOf(mustParse(t, page))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestCashDuringVisit holds that the crawl passes on the cash that comes to a page during its fetch, with the rest.
func TestCashDuringVisit(t *testing.T) {
	for _, order := range []string{"opic", "cash-sum"} {
		t.Run(order, func(t *testing.T) {
			stored := make(chan struct{}, 1)
			var e *Node
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				switch r.URL.Path {
				case "/slow":
					for {
						row, _, err := e.store.PageOf(mustParse(t, "http://a.test/slow"))
						if err != nil || row.Cash == 2 {
							break
						}
						<-stored
					}
					fmt.Fprint(w, `<a href="/leaf">leaf</a>`)
				case "/quick":
					fmt.Fprint(w, `<a href="http://a.test/slow">slow</a>`)
				}
			}))
			defer server.Close()
			address := addressOfServer(server)
			o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Order: order,
				Resolve:  map[string]netip.AddrPort{"a.test": address, "b.test": address},
				Seeds:    []weburl.URL{mustParse(t, "http://a.test/slow"), mustParse(t, "http://b.test/quick")},
				OnRecord: func(weburl.Partition, uint64, []byte) { signal(stored) }}
			e, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Run(t.Context(), t.Context()); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if leaf := pageRow(t, o, "http://a.test/leaf"); leaf.Cash != 2 {
				t.Errorf("the page behind has %v, want 2", leaf.Cash)
			}
		})
	}
}
