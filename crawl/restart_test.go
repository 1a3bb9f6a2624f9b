package crawl

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/clock"
)

// BenchmarkPoliteRestarts kills the crawler fifty times while it crawls 2,000 hosts at w = 1 s, each
// time after some seconds, and starts it again at once. It reports how often a host was asked too soon,
// which must be never, and how much of the allowed pages a second was reached outside the waits: each
// restart lets every host rest for its interval first. It takes five minutes.
func BenchmarkPoliteRestarts(b *testing.B) {
	for b.Loop() {
		const hosts, w, restarts = 2000, time.Second, 50
		web := newPoliteWeb(b, hosts, 0, w, 0, 1)
		job := crawlJob{Dir: b.TempDir(), Resolve: web.resolve, Delay: w, Report: time.Hour}
		for _, u := range web.seeds {
			job.Seeds = append(job.Seeds, u.String())
		}
		rng := rand.New(rand.NewPCG(1, 1))
		var counted time.Duration
		for range restarts {
			child, lines := job.start(b)
			if _, more := report(b, lines); !more {
				b.Fatal("the crawler ended before it began")
			}
			job.Seeds = nil
			from := web.clock.Now().Add(2 * w) // the wait, and a round of robots.txt at first
			web.count(from)
			if err := clock.Real().Sleep(b.Context(), 4*time.Second+time.Duration(rng.Int64N(4e9))); err != nil {
				b.Fatal(err)
			}
			counted += web.clock.Now().Sub(from)
			web.count(time.Unix(0, math.MaxInt64))
			if err := child.Process.Kill(); err != nil {
				b.Fatal(err)
			}
			_ = child.Wait() // killed
		}
		b.ReportMetric(web.share(counted), "%-of-allowed")
		b.ReportMetric(float64(web.tooSoon()), "violations")
	}
}
