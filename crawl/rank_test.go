package crawl

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/importance"
	"freshet/weburl"
)

// ranks returns the ranks of the pages by the links that the web has, in the mean 1.
func (w *testWeb) ranks(t *testing.T, r *refresher) []float64 {
	ids := map[string]uint32{}
	for id := range r.pages {
		ids[r.pages[id].url.String()] = uint32(id)
	}
	var b importance.Builder
	for id := range r.pages {
		u := r.pages[id].url
		var host, page int
		if _, err := fmt.Sscanf(u.Host(), "h%d.test", &host); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscanf(u.Path(), "/p/%d", &page) // the home is page 0
		var targets []uint32
		for _, target := range [][2]int{{host, 2*page + 1}, {host, 2*page + 2}, {(host + 1) % w.hosts, page}} {
			if id, ok := ids[fmt.Sprintf("http://h%d.test/p/%d", target[0], target[1])]; ok {
				targets = append(targets, id)
			}
		}
		if err := b.Add(targets); err != nil {
			t.Fatal(err)
		}
	}
	ranks := ranksOf(t, &b)
	for i := range ranks {
		ranks[i] *= float64(len(ranks))
	}
	return ranks
}

// ranksOf returns the ranks of a graph's pages, 1 in all.
func ranksOf(t *testing.T, b *importance.Builder) []float64 {
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := importance.NewRanker(g).Rank(importance.RankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ranks.Of
}

// TestRank crawls a web and weighs its pages: by the ranks of the links that it has, none nothing, in the
// mean 1; and the ranks of one time are where the next begins.
func TestRank(t *testing.T) {
	web := newTestWeb(t, 2, 40)
	o := web.options(t, vfs.NewMem(), "data")
	run(t, o)
	o.Refresh = &Refresh{Budget: 1, Rank: time.Hour}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	k := ranking{refresher: e.refresher}
	now := e.opt.Clock.Now()
	if !k.due(now) {
		t.Error("ranks are not due before the first")
	}
	cold, err := k.rank(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k.at = now
	if k.due(now.Add(time.Minute)) || !k.due(now.Add(time.Hour)) {
		t.Error("ranks are due after a minute, or not after an hour")
	}
	weight := func(u weburl.URL) float64 {
		p, ok := e.Refreshing(u, u.Fingerprint())
		if !ok {
			t.Fatalf("%s is not kept fresh", u)
		}
		return p.Weight
	}
	sum, least := 0.0, math.Inf(1)
	for i := range e.refresher.pages {
		w := weight(e.refresher.pages[i].url)
		sum, least = sum+w, min(least, w)
	}
	if mean := sum / float64(len(e.refresher.pages)); math.Abs(mean-1) > 1e-6 || least < 1-rankShare {
		t.Errorf("weights of mean %v, the least %v: want 1, and at least %v", mean, least, 1-rankShare)
	}
	for i, want := range web.ranks(t, e.refresher) {
		if got := weight(e.refresher.pages[i].url); math.Abs(got-(1-rankShare)-rankShare*want) > 1e-4 {
			t.Errorf("%s weighs %v, of rank %v by its links", e.refresher.pages[i].url, got, want)
		}
	}
	warm, err := k.rank(t.Context())
	if err != nil || warm > 2 || cold < 5 {
		t.Errorf("%d iterations, then %d (%v): want the second to begin where the first ended", cold, warm, err)
	}
}

// TestRankBeside has a running crawl that keeps its pages fresh weigh them, beside visits and lookups.
func TestRankBeside(t *testing.T) {
	web := newTestWeb(t, 2, 40)
	for _, policy := range []string{"default", "lambdacrawl"} {
		t.Run(policy, func(t *testing.T) {
			o := web.options(t, vfs.NewMem(), "data")
			o.Refresh = &Refresh{Budget: 500, Interval: time.Second, Policy: policy, Rank: time.Hour}
			e := waiting(t, o)
			home := mustParse(t, "http://h0.test/")
			await(t, e, "the home is weighed", func() bool {
				p, ok := e.Refreshing(home, home.Fingerprint())
				return ok && p.Weight != 1 && e.Status().Refresh != nil && e.Freshness(func(weburl.URL) bool { return true }).Pages > 2
			})
		})
	}
}
