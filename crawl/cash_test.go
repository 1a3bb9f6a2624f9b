package crawl

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// TestCashStaysInScope holds that a page's cash goes to those of its links that the crawl follows, in equal parts,
// and none to the others.
func TestCashStaysInScope(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			fmt.Fprint(w, `<a href="/a">a</a><a href="http://elsewhere.test/">b</a><a href="/c">c</a><a href="/a">a again</a><a href="http://elsewhere.test/d">d</a>`)
		}
	}))
	defer server.Close()
	for order, want := range map[string]float64{"in-links": 1, "opic": 0.5, "cash-sum": 0.5, "length": 0} {
		o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Order: order,
			Resolve: map[string]netip.AddrPort{"site.test": addressOfServer(server)},
			Seeds:   []weburl.URL{mustParse(t, "http://site.test/")}}
		run(t, o)
		s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"a", "c"} {
			row, _, err := s.PageOf(mustParse(t, "http://site.test/"+path))
			if err != nil || row.Cash != want {
				t.Errorf("%s: /%s has cash %v, want %v; error %v", order, path, row.Cash, want, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLittleRoom holds that no page is lost while cash flows where the seen test has hardly any room, so that it is
// made for the links of page after page.
func TestLittleRoom(t *testing.T) {
	const pages, hosts = 240, 12
	name := func(page int) string { return fmt.Sprintf("http://site%d.test/%d", page%pages%hosts, page%pages) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &page); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 12 {
			fmt.Fprintf(w, `<a href="%s">%d</a> `, name(2*page+1+i), i)
		}
	}))
	defer server.Close()
	o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Order: "cash-sum",
		Resolve: map[string]netip.AddrPort{}}
	for host := range hosts {
		o.Seeds = append(o.Seeds, mustParse(t, name(host)))
		o.Resolve[fmt.Sprintf("site%d.test", host)] = addressOfServer(server)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	set, err := seen.Open("data/seen/narrow", seen.Options{FS: o.FS, BufferLinks: 16, CacheEntries: 64, Cash: true})
	if err = errors.Join(err, e.discover.seen.Close()); err != nil {
		t.Fatal(err)
	}
	e.discover.seen = set
	for _, u := range o.Seeds { // the page table has them
		err = errors.Join(err, set.Offer(seen.Mark{}, []weburl.Link{{URL: u, Fingerprint: u.Fingerprint(), Rel: weburl.RelSeed, Cash: 1}}, e.opt.Clock.Now()))
	}
	if err = errors.Join(err, e.dropVerdicts()); err != nil {
		t.Fatal(err)
	}
	s, err := e.Run(t.Context(), t.Context())
	if err != nil || s.Pages != pages {
		t.Errorf("%d pages stored of %d; error %v", s.Pages, pages, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
