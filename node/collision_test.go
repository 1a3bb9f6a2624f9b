package node

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/weburl"
)

// Two URLs that truly share their fingerprint, found by walking 2³² hashes: both are discovered, fetched
// and stored, in one run or in several, and the collision is counted.
func TestCollision(t *testing.T) {
	const one, two = "/02f7c05c5bc0b6c9", "/3b2e6f771e74355b"
	u, v := mustParse(t, "https://alder.test"+one), mustParse(t, "https://alder.test"+two)
	if u.Fingerprint() != v.Fingerprint() {
		t.Fatalf("fingerprints %v and %v differ", u.Fingerprint(), v.Fingerprint())
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(out, `<a href="%s">one</a> <a href="%s">two</a>`, one, two)
		case one, two:
			fmt.Fprintf(out, `page %s <a href="%s">one</a> <a href="%s">two</a>`, r.URL.Path, one, two)
		default:
			http.NotFound(out, r)
		}
	}))
	defer server.Close()
	o := Options{
		Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test",
		Resolve:   map[string]netip.AddrPort{"alder.test": addressOfServer(server)},
		TLSConfig: &tls.Config{InsecureSkipVerify: true}, // the server's name is another
		Seeds:     []weburl.URL{mustParse(t, "https://alder.test/")},
	}
	for _, pages := range []int64{1, 1, 0} {
		o.MaxPages = pages
		run(t, o)
	}
	want := []string{"https://alder.test/", "https://alder.test" + one, "https://alder.test" + two}
	if diff := cmp.Diff(want, stored(t, o)); diff != "" {
		t.Errorf("stored pages (-want +got):\n%s", diff)
	}
	verify(t, o)
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if total, err := s.Total(); err != nil || total.Collisions != 1 {
		t.Errorf("%d collisions, %v: want 1", total.Collisions, err)
	}
}
