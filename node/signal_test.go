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

// TestForbiddenBy304 visits a page whose bytes stay the same. An answer 304 forbids a use, and a later one copies. Each
// is obeyed at once. The visit after it is complete, and there the owner allows all again.
func TestForbiddenBy304(t *testing.T) {
	tags := []string{"", "", "noai", "", "noarchive", ""}
	visit, asked := 0, []bool{} // whether the visits sent the validator
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		asked = append(asked, r.Header.Get("If-None-Match") != "")
		w.Header().Set("ETag", `"1"`)
		if tags[visit] != "" {
			w.Header().Set("X-Robots-Tag", tags[visit])
		}
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>It rains.")
	}))
	t.Cleanup(server.Close)
	o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Partitions: 4,
		Resolve: map[string]netip.AddrPort{"page.test": addressOfServer(server)},
		Seeds:   []weburl.URL{mustParse(t, "http://page.test/")}}
	run(t, o)
	var got []string
	for visit = 1; visit < len(tags); visit++ {
		revisitPages(t, o, "http://page.test/")
		eachPage(t, o, func(row store.PageAt) {
			got = append(got, fmt.Sprint(row.State, " ", row.PageSignals))
		})
	}
	want := []string{"live ", "live header robots: noai", "live ", "withdrawn ", "live "}
	if !slices.Equal(got, want) {
		t.Errorf("after the visits the page is %q, want %q", got, want)
	}
	if want := []bool{false, true, true, false, true, false}; !slices.Equal(asked, want) {
		t.Errorf("the visits sent the validator: %v, want %v", asked, want)
	}
}
