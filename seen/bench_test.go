package seen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"freshet/clock"
	"freshet/weburl"
)

// BenchmarkTest asks about a million known URLs, page by page, and drains as a crawl does. An op is a URL: any of the
// known ones, or one of the 10,000 in the cache. The command bench growth measures how cost grows with the known URLs,
// and compares with a database.
func BenchmarkTest(b *testing.B) {
	const known, pageLinks = 1_000_000, 50
	test, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer test.Close()
	err = test.Rebuild(func(yield func(weburl.Link) bool) {
		for n := range known {
			if !yield(madeUp(n)) {
				return
			}
		}
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, from := range []int{known, 10_000} {
		b.Run(fmt.Sprintf("from=%d", from), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			links := make([]weburl.Link, 200_000) // made before the clock runs
			for i := range links {
				links[i] = madeUp(rng.IntN(from))
			}
			var verdicts []Verdict
			now := clock.Real().Now()
			b.ReportAllocs()
			b.ResetTimer()
			before := clock.Processor()
			for done := 0; done < b.N; done += pageLinks {
				at := done % len(links)
				if err := test.Offer(Mark{}, links[at:at+min(pageLinks, b.N-done)], now); err != nil {
					b.Fatal(err)
				}
				if test.Due(now, 0) || done+pageLinks >= b.N {
					if verdicts, _, err = test.Drain(verdicts[:0]); err != nil {
						b.Fatal(err)
					}
				}
			}
			after := clock.Processor()
			b.ReportMetric(float64((after-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// madeUp returns a link to the n-th URL of a web of 4,096 sites.
func madeUp(n int) weburl.Link {
	u, err := weburl.Parse(fmt.Sprintf("https://www.site%d.test/section/an-article-about-something-%d.html", n%4096, n))
	if err != nil {
		panic(err)
	}
	return weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 3}
}
