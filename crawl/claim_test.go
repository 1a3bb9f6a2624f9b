package crawl

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/crawl/keepfresh"
	"freshet/refresh"
	"freshet/weburl"
)

// TestClaims holds which links are claims, and that one is believed of a page that is kept fresh until a
// visit has told what is true.
func TestClaims(t *testing.T) {
	web := newTestWeb(t, 1, 1)
	o := web.options(t, vfs.NewMem(), "data")
	o.Refresh = &Refresh{Budget: 100}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Unix(2_000_000_000, 0)
	link := func(url string, rel weburl.Rel, at time.Time) weburl.Link {
		u := mustParse(t, url)
		return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Rel: rel, LastMod: at.UnixNano()}
	}
	of := func(url string) pageKey {
		u := mustParse(t, url)
		return pageKey{e.partition(u.Site()), u.Fingerprint()}
	}
	hour := now.Add(-time.Hour)
	claims := e.claimsOf("http://h0.test", []weburl.Link{
		link("http://h0.test/a", weburl.RelSitemap, hour),
		link("http://h0.test/b", weburl.RelFeed, now),
		link("http://h0.test/ahead", weburl.RelFeed, now.Add(1)),
		link("http://h0.test/undated", weburl.RelSitemap, time.Unix(0, 0)),
		link("http://h0.test/anchor", weburl.RelAnchor, hour),
		link("http://h1.test/other", weburl.RelSitemap, hour),
	}, now)
	want := []claim{{of("http://h0.test/a"), refresh.Sitemap, keepfresh.Seconds(hour)}, {of("http://h0.test/b"), refresh.Feed, keepfresh.Seconds(now)}}
	if !slices.Equal(claims, want) {
		t.Errorf("claims %v, want %v", claims, want)
	}

	r, a := e.refresher, of("http://h0.test/a")
	id := r.enter(a, mustParse(t, "http://h0.test/a"), keepfresh.Seconds(hour.Add(-time.Hour)))
	before := r.belief.Copy(id, keepfresh.Seconds(now)).Stale
	r.claimed(claims) // b is not kept fresh
	if after := r.belief.Copy(id, keepfresh.Seconds(now)).Stale; after < 0.5 || after <= before || r.claimant(a) != refresh.Sitemap {
		t.Errorf("claimed by %d: stale with probability %.3f, before %.3f", r.claimant(a), after, before)
	}
	r.tell(&note{key: a, at: now, outcome: refresh.Unchanged, fresh: true})
	if r.claimant(a) != 0 {
		t.Errorf("a visit leaves the claim of %d open", r.claimant(a))
	}
}
