package crawl

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

var (
	pastPages  = flag.Int("past.pages", 100_000, "how many pages BenchmarkPast has stored")
	pastVisits = flag.Int("past.visits", 1, "how often each of them was visited")
)

// BenchmarkPast opens a crawl on disk, with sites of a thousand stored pages. It reports the time until the crawl picks
// its first pages, and the time until it has a belief about each page.
func BenchmarkPast(b *testing.B) {
	const partitions = 16
	now := time.Unix(1.8e9, 0)
	s, err := store.Open(b.TempDir(), store.Options{FS: vfs.Default, Partitions: partitions, CacheBytes: 64 << 20,
		WARC: store.WARCOptions{Host: "test"}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	begins := now.AddDate(0, 0, -*pastVisits)
	for n := 0; n < *pastPages; n += 1000 {
		if err := storeSite(s, n, begins, partitions); err != nil {
			b.Fatal(err)
		}
	}
	links, err := seen.Open("seen", seen.Options{FS: vfs.NewMem(), Partitions: partitions, Home: s.Home,
		CacheEntries: 1000})
	if err != nil {
		b.Fatal(err)
	}
	defer links.Close()
	asked, err := Refresh{Budget: 1000}.WithDefaults()
	if err != nil {
		b.Fatal(err)
	}
	ordering, err := frontier.ParseOrdering("cash-sum")
	if err != nil {
		b.Fatal(err)
	}
	settings := Settings{Scope: "site", Ordering: ordering, PerConnection: 1, Partitions: partitions,
		RobotsBytes: 1 << 20, OfferBytes: 1 << 20, GroupBytes: 1 << 20, Second: time.Second, Refresh: &asked}
	for b.Loop() {
		began, picked := b.Elapsed(), false
		shard, err := New(s, links, settings, now)
		if err != nil {
			b.Fatal(err)
		}
		shard.begin()
		steps := 0
		for shard.Remembers() {
			if _, err := shard.Step(now); err != nil {
				b.Fatal(err)
			}
			if steps++; shard.fresh.stuck && !picked {
				picked = true
				b.ReportMetric((b.Elapsed()-began).Seconds()*1e6/float64(*pastPages), "µs/page-first")
			}
		}
		b.ReportMetric(float64(steps), "steps")
		b.ReportMetric((b.Elapsed()-began).Seconds()*1e6/float64(*pastPages), "µs/page")
		if got := shard.fresh.table.len(); got != *pastPages {
			b.Fatalf("%d pages are kept fresh, want %d", got, *pastPages)
		}
		shard.Close()
	}
}

// storeSite stores a site of a thousand pages, numbered from first on, and one visit a day to each of them.
func storeSite(s *store.Store, first int, begins time.Time, partitions int) error {
	var pages []weburl.URL
	found := &store.Discovered{At: 1}
	for n := first; n < first+1000; n++ {
		u, err := weburl.Parse(fmt.Sprintf("http://s%d.test/%d/page-number-%d.html", first/1000, n%20, n))
		if err != nil {
			return err
		}
		pages = append(pages, u)
		found.Partition = u.Partition(partitions)
		found.New = append(found.New, store.NewPage{URL: u, Depth: 1, Order: 1 << 63})
	}
	if _, err := s.Apply(found); err != nil {
		return err
	}
	for day := range *pastVisits {
		var group []store.Fetch
		for n, u := range pages {
			at := begins.AddDate(0, 0, day).Add(time.Duration(first+n) * time.Millisecond).UnixNano()
			group = append(group, store.Fetch{Record: &store.Fetched{
				URL: u, At: at, End: at + 1, Outcome: store.OutcomeStored, Status: 200, Size: 1, ContentType: "text/html",
				BodyDigest: store.BodyDigest{byte((day + n%7) / 7)},
			}})
		}
		if _, err := s.CommitPages(group); err != nil {
			return err
		}
	}
	return nil
}
