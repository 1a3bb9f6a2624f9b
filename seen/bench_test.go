package seen

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"freshet/weburl"
)

// One page of links an Offer. recent: nine of ten links repeat one of the last 20,000, which the
// cache holds; uniform: all repeat any of a million known URLs, which it does not.
func BenchmarkTest(b *testing.B) {
	const known, pageLinks = 1_000_000, 50
	u := page(1).URL
	traces := []struct {
		name string
		next func(rng *rand.Rand, n uint64) uint64
	}{
		{"recent", func(rng *rand.Rand, n uint64) uint64 {
			if rng.IntN(10) == 0 {
				return known + n
			}
			return known + n - min(n, rng.Uint64N(20_000))
		}},
		{"uniform", func(rng *rand.Rand, _ uint64) uint64 { return rng.Uint64N(known) }},
	}
	for _, trace := range traces {
		b.Run(fmt.Sprintf("policy=clock/known=%d/trace=%s", known, trace.name), func(b *testing.B) {
			test, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer test.Close()
			fingerprint := func(n uint64) weburl.Fingerprint {
				return weburl.Fingerprint(rand.NewPCG(n, 1).Uint64() | 1)
			}
			err = test.Rebuild(func(yield func(weburl.Link) bool) {
				for n := range uint64(known) {
					if !yield(weburl.Link{URL: u, Fingerprint: fingerprint(n), Depth: 1}) {
						return
					}
				}
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			links := make([]weburl.Link, pageLinks)
			var verdicts []Verdict
			var offered uint64
			for b.Loop() {
				for i := range links {
					links[i] = weburl.Link{URL: u, Fingerprint: fingerprint(trace.next(rng, offered)), Depth: 1}
					offered++
				}
				err := test.Offer(Mark{0, offered}, links, epoch)
				if errors.Is(err, ErrFull) || test.Due(epoch) {
					if verdicts, _, err = test.Drain(verdicts[:0]); err == nil {
						err = test.Keep()
					}
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(offered)/b.Elapsed().Seconds(), "urls/s")
		})
	}
}
