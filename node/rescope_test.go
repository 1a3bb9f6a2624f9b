package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/clock"
	"freshet/crawl"
	"freshet/crawl/explain"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// narrow are the options of a crawl of the first host alone, logged to told.
func narrow(t *testing.T, web *testWeb, fs vfs.FS, told *strings.Builder) Options {
	o := web.options(t, fs, "data")
	o.Seeds, o.Retries = o.Seeds[:1], new(0)
	o.Resolve["elsewhere.test"] = netip.MustParseAddrPort("127.0.0.1:1")
	o.Logger = slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return o
}

// included are rules that take a host in.
func included(t *testing.T, host string) *Rules {
	t.Helper()
	pattern, err := frontier.ParsePattern(host)
	if err != nil {
		t.Fatal(err)
	}
	return &Rules{URLs: frontier.Rules{Include: frontier.NewPatterns([]frontier.Pattern{pattern})}}
}

// TestWiderScope widens the scope of a crawl that has ended. The next run also crawls the links of stored pages, once.
// The run after it has nothing to look through.
func TestWiderScope(t *testing.T) { byShards(t, widerScope) }

func widerScope(t *testing.T, shards int) {
	for _, test := range []struct {
		name  string
		from  func(*Options)
		widen func(*Options)
		hosts int // crawled to the end then
	}{
		{"scope", func(*Options) {}, func(o *Options) { o.Scope = "any" }, 3},
		{"include", func(*Options) {}, func(o *Options) { o.Rules = included(t, "h1.test") }, 2},
		{"seed", func(*Options) {}, func(o *Options) { o.Seeds = append(o.Seeds, mustParse(t, "http://h1.test/p/29")) }, 2},
		{"depth", func(o *Options) { o.MaxDepth = 2 }, func(o *Options) { o.MaxDepth = 0 }, 1},
		{"pages", func(o *Options) { o.PagesPerSite = 9 }, func(o *Options) { o.PagesPerSite = 0 }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			web := newTestWeb(t, 3, 30)
			var told strings.Builder
			o := narrow(t, web, vfs.NewMem(), &told)
			o.Shards = shards
			test.from(&o)
			run(t, o)
			run(t, o)
			before := stored(t, o)
			if told.Len() > 0 {
				t.Errorf("said of an unchanged scope: %s", told.String())
			}
			test.widen(&o)
			if x := explained(t, o, "http://h0.test/p/1"); x.StoppedBy != "" {
				t.Errorf("a stored page: %+v", x)
			}
			run(t, o)
			if want := fmt.Sprintf("scope changed: offering the links of %d stored pages again", len(before)); !strings.Contains(told.String(), want) {
				t.Errorf("not said: %s\n%s", want, told.String())
			}
			var want []string
			for _, u := range web.want() {
				switch host := mustParse(t, u).Host(); {
				case host >= fmt.Sprintf("h%d", test.hosts):
				case u == "http://"+host+"/" && host != "h0.test": // a seed of the whole web
				case u == "http://h0.test/p/0" && test.hosts < 3: // the last host links to it
				default:
					want = append(want, u)
				}
			}
			got := stored(t, o)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stored pages (-want +got):\n%s", diff)
			}
			verify(t, o)
			for url, n := range web.requests {
				if n != 1 && !strings.HasSuffix(url, "/robots.txt") {
					t.Errorf("%s was asked for %d times", url, n)
				}
			}
			told.Reset()
			run(t, o)
			if told.Len() > 0 {
				t.Errorf("said of an unchanged scope: %s", told.String())
			}
		})
	}
}

// explained returns the answer of explain without a running crawl.
func explained(t *testing.T, o Options, page string) explain.Explanation {
	t.Helper()
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := Explain(s, o, page, Unhurried)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestExplainNextRun has explain name the waits of the next run: a host is as slow as its slowest site requires, and
// one that did not answer is asked again after its interval.
func TestExplainNextRun(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	delay, now := time.Hour, clock.Real().Now()
	slow, err := frontier.ParsePattern("https://h0.test")
	must(err)
	o := Options{FS: vfs.NewMem(), Dir: "data", Delay: time.Second,
		Rules: &Rules{Sites: []SiteRule{{SiteRule: crawl.SiteRule{Match: slow, Manners: frontier.Manners{Delay: &delay}}}}}}
	s, err := store.Open(o.Dir, store.Options{FS: o.FS, Crawl: "main"})
	must(err)
	for _, url := range []string{"http://h0.test/x", "https://h0.test/y", "http://h1.test/z"} {
		u := mustParse(t, url)
		_, err := s.Apply(&store.Discovered{Partition: s.Home(u.Site()), At: now.UnixNano(), New: []store.NewPage{{URL: u}}})
		must(err)
	}
	gate := store.Gate{End: now.UnixNano(), Next: now.Add(time.Second).UnixNano(), IntervalNs: int64(time.Second)}
	_, err = s.Apply(&store.Gated{Partition: s.Home("http://h0.test"), Host: "h0.test", Gate: gate})
	must(err)
	gate.Next, gate.Failures = now.Add(40*time.Minute).UnixNano(), 12
	_, err = s.CommitPages([]store.Fetch{{Record: &store.Robots{Site: "http://h1.test", At: gate.End, End: gate.End, Outcome: store.OutcomeFailed, Gate: &gate}}})
	must(err)
	s.Settle()
	must(s.Close())
	for url, wait := range map[string]time.Duration{"http://h0.test/x": delay, "http://h1.test/z": o.Delay} {
		x := explained(t, o, url)
		if x.NextDue == nil || x.NextDue.Sub(now).Round(time.Second) != wait {
			t.Errorf("%s is due at %v, want %v after %v: %+v", url, x.NextDue, wait, now, x.Gates)
		}
	}
}

// TestNarrowerScope stops a crawl and goes on with a scope that leaves out queued pages, then with the first scope
// again. Meanwhile the crawl does not ask for pages outside of the scope or their robots.txt, and explain says why.
func TestNarrowerScope(t *testing.T) {
	for _, test := range []struct {
		name, gate, reason string
		narrow             func(*Options)
		outside            func(weburl.URL) bool
	}{
		{"scope", "scope", "scope", func(o *Options) { o.Scope = "site" }, func(u weburl.URL) bool { return u.Host() != "h0.test" }},
		{"depth", "guard", "depth", func(o *Options) { o.MaxDepth = 1 }, func(u weburl.URL) bool { return slices.Contains([]string{"/p/3", "/p/4", "/p/5", "/p/6"}, u.Path()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			web := newTestWeb(t, 3, 30)
			var told strings.Builder
			o := narrow(t, web, vfs.NewMem(), &told)
			o.Scope, o.MaxPages = "any", 4
			run(t, o)
			o.MaxPages = 0
			wide, left := o, queuedPages(t, o, test.outside)
			if len(left) == 0 {
				t.Fatal("nothing queued is to be left out")
			}
			test.narrow(&o)
			if x := explained(t, o, left[0]); x.StoppedBy != test.gate || x.Reason != test.reason {
				t.Errorf("%s before the run: %+v", left[0], x)
			}
			run(t, o)
			if x := explained(t, o, left[0]); x.StoppedBy != test.gate || x.Reason != test.reason {
				t.Errorf("%s after the run: %+v", left[0], x)
			}
			if x := explained(t, wide, left[0]); x.StoppedBy != "scope" || x.Reason != test.reason || x.Gates[1].Verdict != explain.Waits {
				t.Errorf("%s by the wider scope: %+v", left[0], x)
			}
			for _, page := range left {
				u := mustParse(t, page)
				if web.requests[u.Host()+u.Path()] > 0 || test.name == "scope" && web.requests[u.Host()+"/robots.txt"] > 1 {
					t.Errorf("%s was asked for", page)
				}
			}
			verify(t, o)
			run(t, wide)
			got := stored(t, wide)
			for _, u := range web.want() {
				if host := mustParse(t, u).Host(); !slices.Contains(got, u) && (u != "http://"+host+"/" || host == "h0.test") {
					t.Errorf("%s is not stored by the first scope", u)
				}
			}
			verify(t, wide)
		})
	}
}

// queuedPages returns the pages that wait and are of a kind.
func queuedPages(t *testing.T, o Options, of func(weburl.URL) bool) (urls []string) {
	t.Helper()
	eachPage(t, o, func(row store.PageAt) {
		if row.Queue != store.NoQueue && of(row.URL) {
			urls = append(urls, row.URL.String())
		}
	})
	return urls
}

// TestReloadNarrows narrows the scope of a running crawl. The crawl refuses queued pages outside of it when their turn
// comes.
func TestReloadNarrows(t *testing.T) {
	web := newTestWeb(t, 3, 30)
	var told strings.Builder
	o := narrow(t, web, vfs.NewMem(), &told)
	o.Scope, o.MaxPages = "any", 4
	run(t, o)
	o.MaxPages = 0
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	left := queuedOf(t, e, "h0.test")
	o.Scope = "site"
	if err := e.Reload(o); err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 {
		t.Error("nothing queued was to be left out")
	}
	if _, err := e.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for _, page := range left {
		if u := mustParse(t, page); web.requests[u.Host()+u.Path()] > 0 {
			t.Errorf("%s was asked for", page)
		}
	}
}

// queuedOf returns the queued pages of other hosts than one.
func queuedOf(t *testing.T, e *Node, host string) (urls []string) {
	for _, page := range knownPages(t, e.store) {
		if page.Queue != store.NoQueue && page.URL.Host() != host {
			urls = append(urls, page.URL.String())
		}
	}
	return urls
}

// TestWideningIsKilled kills a crawl at every third record that it writes while it looks through the stored pages.
// After each kill a run starts and stops at once. The next run goes on, and comes to the same pages.
func TestWideningIsKilled(t *testing.T) { byShards(t, wideningIsKilled) }

func wideningIsKilled(t *testing.T, shards int) {
	web := newTestWeb(t, 2, 15)
	var told strings.Builder
	disk := vfs.NewCrashableMem()
	o := narrow(t, web, disk, &told)
	o.Shards = shards
	run(t, o)
	o.Scope = "any"
	var cuts []*vfs.MemFS
	records := 0
	o.OnRecord = func(weburl.Partition, uint64, []byte) {
		if records++; records < 24 && records%3 == 0 {
			cuts = append(cuts, disk.CrashClone(vfs.CrashCloneCfg{}))
		}
	}
	run(t, o)
	want := stored(t, o)
	if len(want) != 31 {
		t.Errorf("%d pages stored, want 31", len(want))
	}
	o.OnRecord = nil
	for i, cut := range cuts {
		o.FS = cut
		stopped, stop := context.WithCancel(t.Context())
		stop()
		e, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Run(stopped, stopped); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		run(t, o)
		if diff := cmp.Diff(want, stored(t, o)); diff != "" {
			t.Errorf("killed after record %d (-want +got):\n%s", i, diff)
		}
		verify(t, o)
	}
}
