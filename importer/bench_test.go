package importer

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/weburl"
)

// BenchmarkSight imports 200,000 pages of a list, with or without visits, to a disk in memory, and reports pages per
// second.
func BenchmarkSight(b *testing.B) {
	for _, seen := range []bool{false, true} {
		b.Run(fmt.Sprintf("seen=%v", seen), func(b *testing.B) {
			const pages = 200_000
			for b.Loop() {
				s, err := store.Open("data", store.Options{FS: vfs.NewMem(), Partitions: 16, CacheBytes: 64 << 20})
				if err != nil {
					b.Fatal(err)
				}
				i := New(s)
				for n := range pages {
					u, err := weburl.Parse(fmt.Sprintf("http://s%d.test/%d/page-number-%d.html", n%1000, n/1000%20, n))
					if err != nil {
						b.Fatal(err)
					}
					sighting := Sighting{URL: u}
					if seen {
						sighting = Sighting{URL: u, At: time.Unix(1e9+int64(n), 0), Status: 200, ContentType: "text/html", Digest: store.BodyDigest{1, byte(n)}}
					}
					if err := i.Sight(sighting); err != nil {
						b.Fatal(err)
					}
				}
				if err := i.Flush(); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*pages/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
