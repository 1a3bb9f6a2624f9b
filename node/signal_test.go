package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/weburl"
)

// TestMainTextSignal visits a page. First its navigation changes, then its text, then both. With the main text as the
// signal, a change of navigation is noise. A switch of the signal at a later visit counts as one change, by the bytes.
func TestMainTextSignal(t *testing.T) {
	texts := []string{"<nav>one</nav><p>It rains.", "<nav>two</nav><p>It rains.", "<nav>two</nav><p>It snows.", "<nav>six</nav><p>It pours.", "<nav>ten</nav><p>It pours."}
	for _, c := range []struct {
		name     string
		mainText [5]bool // on each visit
		changed  []bool
	}{
		{"visible text", [5]bool{}, []bool{true, true, true, true, true}},
		{"main text", [5]bool{true, true, true, true, true}, []bool{true, false, true, true, false}},
		{"first visible, then main text", [5]bool{false, false, false, true, true}, []bool{true, true, true, true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			visit := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, texts[visit])
			}))
			t.Cleanup(server.Close)
			o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Partitions: 4, MainText: c.mainText[0],
				Resolve: map[string]netip.AddrPort{"site.test": addressOfServer(server)},
				Seeds:   []weburl.URL{mustParse(t, "http://site.test/")}}
			run(t, o)
			for visit = 1; visit < len(texts); visit++ {
				o.MainText = c.mainText[visit]
				revisitPages(t, o, "http://site.test/")
			}
			s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			visits, err := s.Visits(s.Home("http://site.test"), o.Seeds[0].Fingerprint())
			if err != nil {
				t.Fatal(err)
			}
			var changed []bool
			for _, v := range visits {
				changed = append(changed, v.Changed)
			}
			if !slices.Equal(changed, c.changed) {
				t.Errorf("changed %v, want %v", changed, c.changed)
			}
		})
	}
}
