package disk

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// nth returns the entry of the nth URL of a made-up crawl.
func nth(n uint64) Entry {
	pcg := rand.NewPCG(n, 1)
	return Entry{Fingerprint: weburl.Fingerprint(pcg.Uint64() | 1), Partition: weburl.Partition(n % 16), Check: uint8(pcg.Uint64())}
}

// depths is how many different depths fill gives.
const depths = 20

// fill makes the set know the first n URLs.
func fill(b *testing.B, s *Set, n uint64) {
	if err := s.Reset(); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		e := nth(i)
		e.Value = uint32(i % depths)
		if err := s.Fill(e, true); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Filled(nil); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLookup looks up URLs in batches. In a small batch fewer questions share a block of the runs.
func BenchmarkLookup(b *testing.B) {
	for _, known := range []uint64{1e6, 1e7} {
		b.Run(fmt.Sprintf("known=%d", known), func(b *testing.B) {
			s, _, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			fill(b, s, known)
			b.Logf("%s%+v", s, s.Stats())
			for _, batch := range []int{1 << 13, 1 << 16, 1 << 19} {
				for _, stream := range []string{"known", "new"} {
					b.Run(fmt.Sprintf("batch=%d/stream=%s", batch, stream), func(b *testing.B) { benchmarkLookup(b, s, known, batch, stream) })
				}
			}
		})
	}
}

func benchmarkLookup(b *testing.B, s *Set, known uint64, batch int, stream string) {
	rng := rand.New(rand.NewPCG(1, 2))
	questions, answers := make([]Entry, batch), make([]Answer, batch)
	var used time.Duration
	reads := s.Stats().Reads
	for b.Loop() {
		b.StopTimer()
		clear(answers)
		for i := range questions {
			n := rng.Uint64N(known)
			answers[i].Asked = uint16(n % depths)
			if stream == "new" {
				n += known
			}
			questions[i] = nth(n)
			questions[i].Value = uint32(i)
		}
		b.StartTimer()
		before := clock.Processor()
		if err := s.Lookup(questions, answers); err != nil {
			b.Fatal(err)
		}
		after := clock.Processor()
		used += after - before
	}
	urls := float64(b.N) * float64(batch)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(used.Nanoseconds())/urls, "cpu-ns/url")
	b.ReportMetric(float64(s.Stats().Reads-reads)/urls, "reads/url")
}

// BenchmarkFill makes a set of ten million URLs: tables, runs and their merges.
func BenchmarkFill(b *testing.B) {
	const known = 10_000_000
	s, _, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	before := clock.Processor()
	for b.Loop() {
		fill(b, s, known)
		if err := s.Settle(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64((clock.Processor()-before).Nanoseconds())/float64(b.N)/known, "cpu-ns/url")
}
