package node

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
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

// TestOtherReading visits a page whose bytes stay the same while its header names one character set or media type after
// another. After each visit the last version is of the type in want, and its body gives the text that this says.
func TestOtherReading(t *testing.T) {
	const latin, utf8, plain = "text/html; charset=iso-8859-1", "text/html; charset=utf-8", "text/plain; charset=utf-8"
	for _, c := range []struct {
		name, body   string
		types, after []string // the header's types, and those of the last version after each visit
		asked        string   // the visits that sent the validator
	}{
		{"other text", "<p>caf\u00e9", []string{latin, utf8, utf8, plain}, []string{latin, utf8, utf8, plain}, "0000"},
		{"plain text", "caf\u00e9", []string{"text/plain; charset=iso-8859-1", plain}, []string{"text/plain; charset=iso-8859-1", plain}, "00"},
		{"the same text", "<p>coffee", []string{latin, utf8, "text/html"}, []string{latin, latin, latin}, "000"},
		{"no text", "\x89PNG \xff", []string{"image/png", "image/png; charset=utf-8", "image/x-png"}, []string{"image/png", "image/png", "image/png"}, "000"},
		// The first 304 says it, and the visit after it is complete.
		{"a 304", "<p>caf\u00e9", []string{latin + " etag", utf8 + " etag", utf8 + " etag", "text/html etag", "image/png etag", utf8 + " etag"},
			[]string{latin, latin, utf8, utf8, utf8, utf8}, "010111"},
	} {
		t.Run(c.name, func(t *testing.T) {
			visit, asked := 0, ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				kind, valid := strings.CutSuffix(c.types[visit], " etag")
				w.Header().Set("Content-Type", kind)
				if valid {
					w.Header().Set("ETag", `"1"`)
				}
				if r.Header.Get("If-None-Match") != "" {
					asked += "1"
					notModified(t, w, kind)
					return
				}
				asked += "0"
				fmt.Fprint(w, c.body)
			}))
			t.Cleanup(server.Close)
			o := Options{Dir: "data", FS: vfs.NewMem(), AllowPrivate: true, UserAgent: "freshet-test", Partitions: 4,
				Resolve: map[string]netip.AddrPort{"page.test": addressOfServer(server)},
				Seeds:   []weburl.URL{mustParse(t, "http://page.test/")}}
			var after []string
			for ; visit < len(c.types); visit++ {
				if visit == 0 {
					run(t, o)
				} else {
					revisitPages(t, o, "http://page.test/")
				}
				after = append(after, lastType(t, o, c.body))
			}
			if !slices.Equal(after, c.after) || asked != c.asked {
				t.Errorf("after the visits the last version is of type %q, want %q; visits that sent the validator: %s, want %s", after, c.after, asked, c.asked)
			}
		})
	}
}

// notModified answers 304 with a content type, which the server library leaves out.
func notModified(t *testing.T, w http.ResponseWriter, contentType string) {
	conn, out, err := w.(http.Hijacker).Hijack()
	if err == nil {
		fmt.Fprintf(out, "HTTP/1.1 304 Not Modified\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", contentType)
		err = errors.Join(out.Flush(), conn.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// lastType returns the content type of the last version of the only page, whose body must be this one.
func lastType(t *testing.T, o Options, body string) string {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row, fp, err := s.PageOf(o.Seeds[0])
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Version(s.Home(row.URL.Site()), fp, row.Versions)
	if err != nil {
		t.Fatal(err)
	}
	if captured, err := s.VersionBody(row.URL, &v); err != nil || string(captured.Payload) != body || captured.Header.Get("Content-Type") != v.ContentType {
		t.Errorf("version %d of type %s has the capture %+v, %v", v.Number, v.ContentType, captured, err)
	}
	return v.ContentType
}
