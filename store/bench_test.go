package store

import (
	"fmt"
	"testing"

	"freshet/store/warc"
	"freshet/weburl"
)

// BenchmarkCommit measures what the store does for a page: its fetch with 40 links in a group of 64,
// and the discovery of one new page, two syncs of the disk a group included. Captures are compressed
// before, as the engine's fetchers do it.
func BenchmarkCommit(b *testing.B) {
	for _, pages := range []int{0, 1 << 20} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			o := testOptions(nil)
			o.Partitions, o.CacheBytes = 16, 0
			s, err := Open(b.TempDir(), o)
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

// BenchmarkApplyFetched measures apply alone, of pages whose rows are at hand.
func BenchmarkApplyFetched(b *testing.B) {
	o := testOptions(nil)
	o.Partitions = 16
	s, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	bench := newBench(b, s)
	bench.discover(256)
	group := bench.group(64)
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range group {
			s.stage(s.state, f.Record)
		}
		s.state.flush()
		if err := s.state.batch.Close(); err != nil {
			b.Fatal(err)
		}
		s.state.batch = nil
		s.applied, s.records, s.state.moves = s.applied[:0], s.records[:0], nil
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(64*b.N), "µs/page")
	s.state = newState(s.keys, s.db, s.large)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

type bench struct {
	b     *testing.B
	s     *Store
	n     int // pages discovered
	at    int // … and fetched
	links []OutLink
	body  [][]byte
}

func newBench(b *testing.B, s *Store) *bench {
	x := &bench{b: b, s: s}
	for i := range 40 {
		x.links = append(x.links, OutLink{URL: x.url(i * 977), Rel: weburl.RelAnchor})
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
	records := make([]*Discovered, x.s.Partitions())
	for range n {
		u := x.url(x.n)
		p := u.Partition(x.s.Partitions())
		if records[p] == nil {
			records[p] = &Discovered{Partition: p, At: at(0)}
		}
		records[p].New = append(records[p].New, NewPage{URL: u, Depth: 3, Order: 3, Rel: weburl.RelAnchor, Via: 12345})
		x.n++
	}
	var list []Record
	for _, r := range records {
		if r != nil {
			list = append(list, r)
		}
	}
	if _, err := x.s.Apply(list...); err != nil {
		x.b.Fatal(err)
	}
}

func (x *bench) group(n int) []Fetch {
	group := make([]Fetch, n)
	for i := range group {
		u := x.url(x.at)
		x.at++
		group[i] = Fetch{
			Record: &Fetched{
				URL: u, At: at(1), End: at(1), Outcome: OutcomeStored, Status: 200, ContentType: "text/html; charset=utf-8", Size: 20000,
				WireBytes: 20500, DNSNs: 1000, ConnectNs: 20000, FirstByteNs: 1e6, TotalNs: 2e6, Address: "127.0.0.1:80",
				BodyDigest: BodyDigest{byte(i), 1}, TextDigest: TextDigest{byte(i), 1}, ETag: `"abcdef-1234"`, LastModified: "Mon, 04 May 2026 10:00:00 GMT",
				Links: EncodeLinks(x.links), Gate: &Gate{End: at(1), Next: at(2), IntervalNs: 15e9}, RetryAt: at(1440),
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
