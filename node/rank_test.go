package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/crawl"
	"freshet/store"
	"freshet/weburl"
)

// TestRank has a crawl that asks for nothing weigh its pages: by the ranks of the links that the web has, none nothing,
// on average 1.
func TestRank(t *testing.T) {
	web := newTestWeb(t, 2, 40)
	o := web.options(t, vfs.NewMem(), "data")
	run(t, o)
	o.Refresh = &crawl.Refresh{Budget: 1, Rank: time.Hour}
	n, stop := paused(t, o)
	defer stop()
	pages := slices.DeleteFunc(knownPages(t, n.store), func(p store.PageAt) bool { return p.State != store.StateLive })
	weights := make([]float64, len(pages))
	await(t, n, "all pages are weighed", func() bool {
		for i, page := range pages {
			p, ok := n.Refreshing(page.URL, page.Fingerprint)
			if weights[i] = p.Weight; !ok || p.Weight == 1 {
				return false
			}
		}
		return true
	})
	const share = 0.5 // of a weight that is the page's rank
	sum := 0.0
	for i, rank := range web.linkRanks(t, pages) {
		sum += weights[i]
		if want := 1 - share + share*rank*float64(len(pages)); math.Abs(weights[i]-want) > 1e-4 {
			t.Errorf("%s weighs %v, want %v by its links", pages[i].URL, weights[i], want)
		}
	}
	if mean := sum / float64(len(pages)); math.Abs(mean-1) > 1e-6 {
		t.Errorf("weights of mean %v: want 1", mean)
	}
}

// TestRankBeside has a running crawl that keeps its pages fresh weigh them, beside visits and lookups.
func TestRankBeside(t *testing.T) {
	web := newTestWeb(t, 2, 40)
	for _, policy := range []string{"default", "lambdacrawl"} {
		t.Run(policy, func(t *testing.T) {
			o := web.options(t, vfs.NewMem(), "data")
			o.Refresh = &crawl.Refresh{Budget: 500, Interval: time.Second, Policy: policy, Rank: time.Hour}
			n := waiting(t, o)
			home := mustParse(t, "http://h0.test/")
			await(t, n, "the home is weighed", func() bool {
				p, ok := n.Refreshing(home, home.Fingerprint())
				return ok && p.Weight != 1 && n.Status().Refresh != nil && n.Freshness().Pages > 2
			})
		})
	}
}

// TestNumbered holds that pages are found by their place in a list, whatever its order, and no others.
func TestNumbered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	pages := make([]crawl.PageKey, 500)
	for i := range pages {
		pages[i] = crawl.PageKey{Partition: weburl.Partition(random.IntN(4)), Fingerprint: weburl.Fingerprint(random.Uint64())}
	}
	number := numbered(pages)
	for i, page := range pages {
		if n, ok := number(page); !ok || int(n) != i {
			t.Errorf("page %d is number %d, %v", i, n, ok)
		}
		page.Partition += 4
		if n, ok := number(page); ok {
			t.Errorf("a page that is not listed is number %d", n)
		}
	}
}

// BenchmarkPlaces ranks the pages of a crawl and finds the places of the waiting ones. Ten pages wait for each stored
// page, and there are ten links for each waiting page. By batch, most waiting pages stay where they are. The other
// order is partial. The time is processor time.
func BenchmarkPlaces(b *testing.B) {
	for _, waiting := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			o := Options{Dir: filepath.Join(b.TempDir(), "data"), UserAgent: "freshet-bench"}
			fillStore(b, o.Dir, waiting)
			for _, o.Order = range []string{"batch:10000", "partial:10000"} {
				b.Run("order="+o.Order, func(b *testing.B) { placesOnce(b, o) })
			}
		})
	}
}

// placesOnce finds places once for each b.N.
func placesOnce(b *testing.B, o Options) {
	n, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			b.Error(err)
		}
	}()
	for b.Loop() {
		start := clock.Processor()
		places, err := n.loops[0].findPlaces(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((clock.Processor() - start).Seconds(), "rank-s")
		b.ReportMetric(float64(len(places.Moved)), "moved")
	}
}

// fillStore makes a directory with that many pages that wait, on a site for every hundred, and a tenth as many stored.
func fillStore(b *testing.B, dir string, waiting int) {
	b.Helper()
	s, err := store.Open(dir, store.Options{Crawl: "main", Partitions: 16})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 1))
	page := func(n int) weburl.URL {
		u, err := weburl.Parse(fmt.Sprintf("http://site%d.test/page/%d", n/100, n))
		if err != nil {
			b.Fatal(err)
		}
		return u
	}
	known := waiting + waiting/10
	const perRecord = 1 << 14 // pages
	for from := 0; from < known; from += perRecord {
		records := make([]store.Record, 16)
		for p := range records {
			records[p] = &store.Discovered{Partition: weburl.Partition(p), At: 1}
		}
		for n := from; n < min(from+perRecord, known); n++ {
			u := page(n)
			r := records[u.Partition(16)].(*store.Discovered)
			r.New = append(r.New, store.NewPage{URL: u, Depth: 1, Order: 1 << 63})
		}
		if _, err := s.Apply(records...); err != nil {
			b.Fatal(err)
		}
	}
	var group []store.Fetch
	for n := 0; n < known; n += 11 {
		links := make([]store.OutLink, 100)
		for i := range links {
			links[i] = store.OutLink{URL: page(int(float64(known) * math.Pow(random.Float64(), 3))), Rel: weburl.RelAnchor}
		}
		group = append(group, store.Fetch{Record: &store.Fetched{URL: page(n), At: 1, End: 2, Outcome: store.OutcomeStored, Status: 200,
			Size: 1, BodyDigest: store.BodyDigest{1}, Links: store.EncodeLinks(links)}})
		if len(group) == 1024 || n+11 >= known {
			if _, err := s.CommitPages(group); err != nil {
				b.Fatal(err)
			}
			group = group[:0]
		}
	}
}

// TestReweigh has a running crawl of one shard and of two ask for the weights of its pages: at the start, then again.
// The answer counts for the pages that exist, for new pages, and for the crawl's forecast. A failure changes nothing.
func TestReweigh(t *testing.T) {
	web := newTestWeb(t, 2, 40)
	for _, shards := range []int{1, 2} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			o := web.options(t, vfs.NewMem(), "data")
			o.Shards = shards
			o.Refresh = &crawl.Refresh{Budget: 500, Interval: time.Second, Reweigh: 300 * time.Millisecond}
			var fails atomic.Bool
			var asked atomic.Int64
			o.Weights = func(_ context.Context, now time.Time, pages int64) (crawl.Reweighed, error) {
				if now.IsZero() || pages < 0 {
					t.Errorf("asked at %v for %d pages", now, pages)
				}
				n := float64(asked.Add(1))
				if fails.Load() {
					return crawl.Reweighed{Weight: func(weburl.URL) float64 { return 99 }}, errors.New("on purpose")
				}
				return crawl.Reweighed{Embarrassment: 3, Weight: func(u weburl.URL) float64 { return 1 + n + float64(len(u.Path())) }}, nil
			}
			n := waiting(t, o)
			home := mustParse(t, "http://h0.test/")
			weight := func() float64 {
				p, _ := n.Refreshing(home, home.Fingerprint())
				return p.Weight
			}
			await(t, n, "the home is weighed again, and more than once", func() bool { return weight() >= 5 })
			await(t, n, "embarrassment is expected", func() bool { return n.Status().Embarrassment != nil })
			fails.Store(true)
			before, last := asked.Load(), weight()
			await(t, n, "two more fail", func() bool { return asked.Load() >= before+2*int64(shards)+2 })
			if got := weight(); got < last || got == 99 {
				t.Errorf("the home weighs %v after a failure, %v before", got, last)
			}
		})
	}
}
