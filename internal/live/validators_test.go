package live

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/node"
	"freshet/store"
	"freshet/weburl"
)

// A tagged site has twenty pages, each with another text every three days. tag is a text's ETag, and fresh
// whether a copy with that ETag is said to be fresh.
type tagged struct {
	clock *clock.Clock
	tag   func(text string) string
	fresh func(held, tag string) bool
}

func (s *tagged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	turn := (int(s.clock.Now().Unix()/86400) + len(r.URL.Path)) / 3
	text := fmt.Sprintf("The text of %s in turn %d", r.URL.Path, turn)
	tag := `"` + s.tag(text) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "text/html")
	if held := r.Header.Get("If-None-Match"); held != "" && s.fresh(held, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, "<p>"+text)
	for i := range 20 {
		fmt.Fprintf(w, `<a href="/%s">x</a>`, strings.Repeat("x", i))
	}
}

// TestLyingValidators crawls sites for 24 days, twice a day each page. Where a validator stays while the text
// changes, or where every copy is said to be fresh, they are soon asked without, and the changes are found.
func TestLyingValidators(t *testing.T) {
	own := func(text string) string { return fmt.Sprintf("%x", text) }
	same := func(held, tag string) bool { return held == tag }
	tests := []struct {
		name    string
		tag     func(string) string
		fresh   func(held, tag string) bool
		trusted bool
	}{
		{"honest", own, same, true},
		{"one ETag for all", func(string) string { return "1" }, same, false},
		{"every copy is fresh", own, func(string, string) bool { return true }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clock.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 8640)
				n := newNetworkOf(&tagged{c, test.tag, test.fresh}, "tagged.test")
				home, err := weburl.Parse("http://tagged.test/")
				if err != nil {
					t.Fatal(err)
				}
				fs := vfs.NewMem()
				engine, err := node.Open(node.Options{
					Dir: "data", FS: fs, Partitions: 1, Clock: c, UserAgent: "freshet-test", Seeds: []weburl.URL{home},
					For: 24 * day, WARCLevel: new(0), Refresh: &crawl.Refresh{Budget: 40, Policy: "uniform"},
					Fetch: fetch.Options{Resolver: n, Dial: n.dial},
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := engine.Run(t.Context(), t.Context()); err != nil {
					t.Error(err)
				}
				status := engine.Status()
				explained, err := engine.Explain(home.String())
				if err != nil {
					t.Error(err)
				}
				told := strings.Contains(fmt.Sprint(explained.Gates), "without ETag")
				if err := engine.Close(); err != nil {
					t.Error(err)
				}
				n.stop()
				v := validatorsOf(t, fs, home.Site())
				if trusted := v.Trusted(c.Now().UnixNano()); trusted != test.trusted || told == trusted || v.Audits != status.Audits || v.Lies != status.Lies {
					t.Errorf("%+v after %d audits and %d lies, explained %v; trusted %v, want %v", v, status.Audits, status.Lies, explained.Gates, trusted, test.trusted)
				}
				if status.Changed < 110 { // each of 20 pages changes eight times
					t.Errorf("%d changes were found, want most of 160", status.Changed)
				}
				if test.trusted && (status.Lies != 0 || status.NotModified < 600) {
					t.Errorf("%d lies and %d answers 304 of an honest site", status.Lies, status.NotModified)
				}
				t.Logf("%d changes found, %d answers 304, %d audits, %d lies", status.Changed, status.NotModified, status.Audits, status.Lies)
			})
		})
	}
}

// validatorsOf reads the validators of a site from a directory.
func validatorsOf(t *testing.T, fs vfs.FS, site weburl.Site) store.Validators {
	t.Helper()
	s, err := store.Open("data", store.Options{FS: fs, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	row, err := s.Site(site)
	if err != nil {
		t.Fatal(err)
	}
	return row.Validators
}
