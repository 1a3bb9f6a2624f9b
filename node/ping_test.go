package node

import (
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/weburl"
)

// TestPing tells a running crawl of pages: one that it has, one that it can discover, and those that a ping
// may not bring in.
func TestPing(t *testing.T) {
	web := newTestWeb(t, 2, 10)
	o := web.options(t, vfs.NewMem(), "data")
	o.Seeds = o.Seeds[:1]
	o.Rules = &Rules{
		URLs:  frontier.Rules{Exclude: patterns(t, "~/secret/"), Include: patterns(t, "http://h1.test/p/3")},
		Sites: []SiteRule{{SiteRule: crawl.SiteRule{Match: pattern(t, "h1.test"), Refresh: crawl.ContentTypes{"image/*"}}}},
	}
	e := waiting(t, o)
	asked := func(url string) int {
		web.mu.Lock()
		defer web.mu.Unlock()
		return web.requests[url]
	}
	await(t, e, "h0 is crawled", func() bool { return e.Status().Pages == 11 && e.Status().QueuedNew == 0 })
	if err := e.Purge(mustParse(t, "http://h0.test/p/2")); err != nil {
		t.Fatal(err)
	}
	ping := func(taken int64, refused map[string]string, urls ...string) {
		t.Helper()
		var all []weburl.URL
		for _, u := range urls {
			all = append(all, mustParse(t, u))
		}
		n, why, err := e.Ping(all)
		if err != nil || n != taken || !maps.Equal(why, refused) {
			t.Errorf("ping %v: %d taken, refused %v, %v: want %d, %v", urls, n, why, err, taken, refused)
		}
	}
	none := map[string]string{}
	ping(1, none, "http://h0.test/p/1", "http://h0.test/p/1")
	await(t, e, "the second visit", func() bool { return asked("h0.test/p/1") == 2 })
	before := e.Status().URLsDiscovered
	refused := map[string]string{
		"http://h0.test/p/2":             "purged",
		"http://h0.test/secret/":         "excluded",
		"http://h1.test/":                "scope",
		"http://h1.test/p/3":             "type",
		"http://h0.test/a/a/a/a/a/a/a/a": "guard",
	}
	ping(0, refused, slices.Sorted(maps.Keys(refused))...)
	if after := e.Status().URLsDiscovered; after != before {
		t.Errorf("%d URLs are known: want %d, as before what is refused", after, before)
	}
	ping(1, none, "http://h0.test/p/0")
	await(t, e, "the discovered page", func() bool { return asked("h0.test/p/0") == 1 })
}

// TestPingsHaveARate holds that pings are believed as far as half of the budget goes.
func TestPingsHaveARate(t *testing.T) {
	web := newTestWeb(t, 1, 5)
	o := web.options(t, vfs.NewMem(), "data")
	run(t, o)
	o.Refresh = &crawl.Refresh{Budget: 2}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	taken, refused, err := e.Ping([]weburl.URL{mustParse(t, "http://h0.test/p/1"), mustParse(t, "http://h0.test/p/3")})
	want := map[string]string{"http://h0.test/p/3": "rate"}
	if err != nil || taken != 1 || !maps.Equal(refused, want) {
		t.Errorf("%d taken, refused %v, %v: want 1, %v", taken, refused, err, want)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
