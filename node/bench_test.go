package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/sim"
)

// BenchmarkCrawl crawls a synthetic web without delays, on a real disk and over real sockets, and
// reports the pages a second and the processor time a page, the web's own share included.
func BenchmarkCrawl(b *testing.B) {
	for _, sites := range []int{10, 100} {
		b.Run(fmt.Sprintf("sites=%d", sites), func(b *testing.B) {
			web, err := sim.NewWeb(sim.Config{Seed: 7, Sites: sites, Pages: 5000, Latency: -1, Bandwidth: -1})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" { // whose Crawl-delay would set the pace
					http.NotFound(w, r)
					return
				}
				web.ServeHTTP(w, r)
			}))
			defer server.Close()
			resolve := map[string]netip.AddrPort{}
			for _, host := range web.Hosts() {
				resolve[host] = addressOfServer(server)
			}
			var pages, requests int64
			before := clock.Processor()
			for b.Loop() {
				summary := crawlOnce(b, web, resolve)
				pages += summary.Pages
				requests += summary.Pages + summary.URLsFailed
			}
			b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(float64((clock.Processor()-before).Microseconds())/float64(requests), "cpu-µs/request")
		})
	}
}

func crawlOnce(b *testing.B, web *sim.Web, resolve map[string]netip.AddrPort) Summary {
	dir, err := os.MkdirTemp(b.TempDir(), "crawl")
	if err != nil {
		b.Fatal(err)
	}
	e, err := Open(Options{Dir: dir, FS: vfs.Default, AllowPrivate: true, Resolve: resolve, Seeds: web.Homes(), UserAgent: "freshet-bench", Retries: new(0)})
	if err != nil {
		b.Fatal(err)
	}
	summary, err := e.Run(b.Context(), b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	return summary
}
