package disk

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// nth returns the name of the n-th URL of a made-up crawl.
func nth(n uint64) Entry {
	pcg := rand.NewPCG(n, 1)
	return Entry{Fingerprint: weburl.Fingerprint(pcg.Uint64() | 1), Partition: weburl.Partition(n % 16), Check: uint8(pcg.Uint64())}
}

// fill makes the set know the first n URLs.
func fill(b *testing.B, s *Set, n uint64) {
	if err := s.Reset(); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		e := nth(i)
		e.Value = uint32(i % 20)
		if err := s.Fill(e, true); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Filled(nil); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkLookup(b *testing.B) {
	const batch = 1 << 16
	for _, known := range []uint64{1e6, 1e7} {
		for _, stream := range []string{"known", "new"} {
			b.Run(fmt.Sprintf("known=%d/stream=%s", known, stream), func(b *testing.B) {
				s, _, err := Open(b.TempDir(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				fill(b, s, known)
				b.Logf("%s%+v", s, s.Stats())
				rng := rand.New(rand.NewPCG(1, 2))
				questions, answers := make([]Entry, batch), make([]Answer, batch)
				var used time.Duration
				for b.Loop() {
					b.StopTimer()
					for i := range questions {
						n := rng.Uint64N(known)
						if stream == "new" {
							n += known
						}
						questions[i] = nth(n)
						questions[i].Value = uint32(i)
					}
					clear(answers)
					b.StartTimer()
					before := clock.Processor()
					if err := s.Lookup(questions, answers); err != nil {
						b.Fatal(err)
					}
					after := clock.Processor()
					used += after - before
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/batch*1e9, "ns/url")
				b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/batch, "cpu-ns/url")
			})
		}
	}
}
