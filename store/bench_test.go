package store_test

import (
	"fmt"
	"testing"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/warc"
	"freshet/weburl"
)

// BenchmarkCommit measures the store's work for a page: the fetch of the page with 40 links, in a group of 64, and the
// discovery of one new page. Each group takes two syncs of the disk. Captures come compressed, as from the engine's
// fetchers.
func BenchmarkCommit(b *testing.B) {
	for _, pages := range []int{0, 1 << 20} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			o := storetest.Options(nil)
			o.Partitions, o.CacheBytes = 16, 0
			s, err := store.Open(b.TempDir(), o)
			if err != nil {
				b.Fatal(err)
			}
			bench := newBench(b, s)
			for bench.n < pages {
				bench.discover(256)
			}
			b.ReportAllocs()
			fetched := 0
			for b.Loop() {
				bench.discover(64)
				bench.fetch(64)
				fetched += 64
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(fetched), "µs/page")
			b.StopTimer()
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkApplyFetched measures apply alone, for pages with their rows in memory.
func BenchmarkApplyFetched(b *testing.B) {
	o := storetest.Options(nil)
	o.Partitions = 16
	s, err := store.Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	bench := newBench(b, s)
	bench.discover(256)
	group := bench.group(64)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.ApplyInVain(group); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(64*b.N), "µs/page")
	s.Renew()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

type bench struct {
	b     *testing.B
	s     *store.Store
	n     int // pages discovered
	at    int // … and fetched
	links []store.OutLink
	body  [][]byte
}

func newBench(b *testing.B, s *store.Store) *bench {
	x := &bench{b: b, s: s}
	for i := range 40 {
		x.links = append(x.links, store.OutLink{URL: x.url(i * 977), Rel: weburl.RelAnchor})
	}
	for _, size := range []int{5 << 10, 600} { // response, request, compressed
		x.body = append(x.body, make([]byte, size))
	}
	return x
}

func (x *bench) url(i int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf("https://www.site-%d.example/section-%d/a-page-of-some-length-%d.html", i%1000, i%37, i))
	if err != nil {
		x.b.Fatal(err)
	}
	return u
}

func (x *bench) discover(n int) {
	records := make([]*store.Discovered, x.s.Partitions())
	for range n {
		u := x.url(x.n)
		p := u.Partition(x.s.Partitions())
		if records[p] == nil {
			records[p] = &store.Discovered{Partition: p, At: storetest.At(0)}
		}
		records[p].New = append(records[p].New, store.NewPage{URL: u, Depth: 3, Order: 3, Rel: weburl.RelAnchor, Via: 12345})
		x.n++
	}
	var list []store.Record
	for _, r := range records {
		if r != nil {
			list = append(list, r)
		}
	}
	if _, err := x.s.Apply(list...); err != nil {
		x.b.Fatal(err)
	}
}

func (x *bench) group(n int) []store.Fetch {
	group := make([]store.Fetch, n)
	for i := range group {
		u := x.url(x.at)
		x.at++
		group[i] = store.Fetch{
			Record: &store.Fetched{
				URL: u, At: storetest.At(1), End: storetest.At(1), Outcome: store.OutcomeStored, Status: 200, ContentType: "text/html; charset=utf-8", Size: 20000,
				WireBytes: 20500, DNSNs: 1000, ConnectNs: 20000, FirstByteNs: 1e6, TotalNs: 2e6, Address: "127.0.0.1:80",
				BodyDigest: store.BodyDigest{byte(i), 1}, TextDigest: store.TextDigest{byte(i), 1}, ETag: `"abcdef-1234"`, LastModified: "Mon, 04 May 2026 10:00:00 GMT",
				Links: store.EncodeLinks(x.links), Gate: &store.Gate{End: storetest.At(1), Next: storetest.At(2), IntervalNs: 15e9}, RetryAt: storetest.At(1440),
			},
			Members: x.body, ID: warc.ID{1, 2, 3},
		}
	}
	return group
}

func (x *bench) fetch(n int) {
	if _, err := x.s.CommitPages(x.group(n)); err != nil {
		x.b.Fatal(err)
	}
}
