package frontier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/weburl"
)

var year2026 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func mustParse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestGuard(t *testing.T) {
	long := "http://a.example/" + strings.Repeat("x", 2048-len("http://a.example/"))
	for _, test := range []struct {
		name  string
		url   string
		depth uint16
		hops  uint8
		pages int
		want  Reason
	}{
		{name: "home", url: "http://a.example/"},
		{name: "longest", url: long},
		{name: "too long", url: long + "x", want: URLTooLong},
		{name: "deepest", url: "http://a.example/x", depth: 7},
		{name: "too deep", url: "http://a.example/x", depth: 8, want: TooDeep},
		{name: "last redirect", url: "http://a.example/x", hops: 5},
		{name: "one redirect too many", url: "http://a.example/x", hops: 6, want: TooManyRedirects},
		{name: "last page of a site", url: "http://a.example/x", pages: 24_999},
		{name: "site full", url: "http://a.example/x", pages: 25_000, want: SiteFull},
		{name: "deepest path", url: "http://a.example" + numbered(32)},
		{name: "path too deep", url: "http://a.example" + numbered(33), want: TooManySegments},
		{name: "most parameters", url: "http://a.example/?a=1" + strings.Repeat("&a=1", 31)},
		{name: "too many parameters", url: "http://a.example/?a=1" + strings.Repeat("&a=1", 32), want: TooManyParameters},

		{name: "one name over and over", url: "http://a.example/a/a/a/a/", want: RepeatingSegments},
		{name: "one name now and then", url: "http://a.example/x/a/x/b/x/c/x/d.html", want: RepeatingSegments},
		{name: "a loop of two", url: "http://a.example/en/a/b/a/b/a/b/", want: RepeatingSegments},
		{name: "a loop of three with numbers", url: "http://a.example/p/1/2/p/1/2/p/1/2/", want: RepeatingSegments},
		{name: "two rounds may be", url: "http://a.example/a/b/a/b/"},
		{name: "numbers are not names", url: "http://a.example/0/0/0/0/0/0/0/0/tile.png"},

		{name: "far month", url: "http://a.example/calendar/2029/01", want: EndlessCalendar},
		{name: "near month", url: "http://a.example/calendar/2028/12/"},
		{name: "far past", url: "http://a.example/events/1889/1/", want: EndlessCalendar},
		{name: "far day", url: "http://a.example/x/2040/05/17/", want: EndlessCalendar},
		{name: "old article", url: "http://a.example/1912/04/15/titanic-sinks.html"},
		{name: "far dashed", url: "http://a.example/week/2031-05-17", want: EndlessCalendar},
		{name: "far dashed month", url: "http://a.example/week/2031-05", want: EndlessCalendar},
		{name: "far in the query", url: "http://a.example/cal?view=month&date=2031-05-17", want: EndlessCalendar},
		{name: "near in the query", url: "http://a.example/cal?date=2026-05-17"},
		{name: "year and month", url: "http://a.example/cal?month=5&year=1970", want: EndlessCalendar},
		{name: "year alone", url: "http://a.example/films?year=1970"},
		{name: "not a month", url: "http://a.example/week/2031-13"},
		{name: "not a day", url: "http://a.example/week/2031-12-41"},
		{name: "number alone", url: "http://a.example/item/2531"},
		{name: "two numbers", url: "http://a.example/forum/4521/10"},
		{name: "telephone", url: "http://a.example/tel/4521-10-998"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := DefaultGuard()
			g.Depth = 7
			u := mustParse(t, test.url)
			got, ok := g.Admit(weburl.Link{URL: u, Depth: test.depth, Hops: test.hops}, test.pages, year2026)
			if got != test.want || ok != (test.want == Admitted) {
				t.Errorf("%s: got %v, %v, want %v", test.url, got, ok, test.want)
			}
			got, ok = Guard{}.Admit(weburl.Link{URL: u, Depth: test.depth, Hops: test.hops}, test.pages, year2026)
			if !ok || got != Admitted {
				t.Errorf("%s: the zero Guard refuses it: %v", test.url, got)
			}
		})
	}
}

// TestGuardAdmitWay holds that AdmitWay looks only at a link's depth and redirects, and not at its URL or site.
func TestGuardAdmitWay(t *testing.T) {
	g := DefaultGuard()
	g.Depth = 7
	for _, test := range []struct {
		depth uint16
		hops  uint8
		want  Reason
	}{{0, 0, Admitted}, {7, 5, Admitted}, {8, 0, TooDeep}, {0, 6, TooManyRedirects}} {
		u := mustParse(t, "http://a.example/a/a/a/a/a/")
		got, ok := g.AdmitWay(weburl.Link{URL: u, Depth: test.depth, Hops: test.hops})
		if got != test.want || ok != (test.want == Admitted) {
			t.Errorf("depth %d, %d redirects: got %v, %v, want %v", test.depth, test.hops, got, ok, test.want)
		}
	}
}

func numbered(n int) string {
	var path strings.Builder
	for i := range n {
		fmt.Fprintf(&path, "/s%d", i)
	}
	return path.String()
}

// TestGuardLetsDocumentationPass has the paths of manuals, in which names repeat.
func TestGuardLetsDocumentationPass(t *testing.T) {
	for _, path := range []string{
		"/doc/html/boost/foo/foo/foo.html",
		"/doc/html/boost_asio/reference/basic_socket/basic_socket/overload1.html",
		"/doc/html/boost/proto/functional/at/at.html",
		"/api/java.base/java/util/concurrent/class-use/Future.html",
		"/api/java.desktop/javax/swing/plaf/nimbus/doc-files/images/x.png",
		"/std/core/arch/arch/x86_64/fn._mm_add_ps.html",
		"/core/iter/traits/iterator/trait.Iterator.html",
		"/src/core/stdarch/crates/core_arch/src/x86/sse.rs.html",
		"/cargo/reference/reference/index.html",
		"/html/man1/git/git/git.html",
		"/qtcore/qtcore/qtcore-index.html",
		"/html/release/3.1.4/release/3.1.4.html",
		"/docs/tutorial/docs/tutorial/index.html",
		"/1/1/1/1/1/1.html",
		"/en/2.4/mod/mod_1.2-2004.html",
		"/rfc/1912-1.html",
	} {
		u := mustParse(t, "http://docs.example"+path)
		if reason, ok := DefaultGuard().Admit(weburl.Link{URL: u}, 0, year2026); !ok {
			t.Errorf("%s: refused: %v", path, reason)
		}
	}
}

// FuzzGuard holds that the guard decides every URL. If a path repeats, so does a deeper one. The guard always finds a
// folder that a path repeats four times.
func FuzzGuard(f *testing.F) {
	f.Add("http://a.example/a/b/a/b/?x=1&y=2031-05")
	f.Add("http://a.example/calendar/2031/05")
	f.Add("http://a.example//////?&&&==&")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Skip()
		}
		reason, ok := DefaultGuard().Admit(weburl.Link{URL: u}, 0, year2026)
		if ok != (reason == Admitted) || reason.String() == "unknown" {
			t.Errorf("%s: %v, %v", u, reason, ok)
		}
		path := u.Path()
		directory := path[:strings.LastIndexByte(path, '/')+1]
		if repeats(path) && !repeats(directory+"deeper/x") {
			t.Errorf("%s repeats, but not what is below it", u)
		}
		if !repeats(strings.Repeat("/loop", 4) + directory) {
			t.Errorf("loops before %s are not seen", directory)
		}
	})
}

func TestReasonNames(t *testing.T) {
	known := map[string]bool{}
	for r := range numReasons {
		if known[r.String()] || r.String() == "" {
			t.Errorf("reason %d: name %q", r, r)
		}
		known[r.String()] = true
	}
	if got := numReasons.String(); got != "unknown" {
		t.Errorf("got %q", got)
	}
}

func TestScope(t *testing.T) {
	for _, test := range []struct {
		scope, url string
		want       bool
	}{
		{"site", "http://www.a.example/x", true},
		{"site", "https://www.a.example/x", false},
		{"site", "http://www.a.example:8080/", false},
		{"site", "http://a.example/", false},
		{"site", "https://moved.example/x", true}, // where the seed redirects
		{"domain", "https://shop.a.example/", true},
		{"domain", "http://a.example:8080/", true},
		{"domain", "http://b.example/", false},
		{"domain", "http://moved.example/", true},
		{"any", "http://b.example/", true},
	} {
		s, err := ParseScope(test.scope)
		if err != nil {
			t.Fatal(err)
		}
		s.AddSeed(mustParse(t, "http://www.a.example/start"))
		s.AddSeed(mustParse(t, "https://moved.example/"))
		reason, ok := s.Admit(mustParse(t, test.url))
		if ok != test.want || (reason == OutOfScope) == test.want {
			t.Errorf("%s %s: got %v, %v", test.scope, test.url, reason, ok)
		}
	}
	if _, err := ParseScope("world"); err == nil || !strings.Contains(err.Error(), "site, domain or any") {
		t.Errorf("got %v", err)
	}
}
