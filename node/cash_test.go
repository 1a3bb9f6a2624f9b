package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

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
