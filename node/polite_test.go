package node

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/fleet"
	"freshet/weburl"
)

// BenchmarkPolite crawls many hosts for twenty seconds, each on a loopback address of its own. It reports the share of
// the pages a second that the interval w allows. It reports how often the servers saw requests to a host too soon or
// two at once: this must be never.
func BenchmarkPolite(b *testing.B) {
	for _, tt := range []struct {
		hosts, perConnection, crawlDelayed int
		fleet                              fleet.Rule
	}{{500, 1, 0, 256}, {1000, 1, 0, 256}, {2000, 1, 0, 256}, {100, 10, 0, 256}, {2000, 1, 200, 256},
		{2000, 1, 0, fleet.Auto}, {2000, 1, 200, fleet.Auto}} {
		b.Run(fmt.Sprintf("hosts=%d/k=%d/crawl-delayed=%d/fleet=%s", tt.hosts, tt.perConnection, tt.crawlDelayed, tt.fleet), func(b *testing.B) {
			for b.Loop() {
				const w, crawlDelay, span = time.Second, 2 * time.Second, 20 * time.Second
				web := newPoliteWeb(b, tt.hosts, tt.crawlDelayed, w, crawlDelay, tt.perConnection)
				web.count(web.clock.Now().Add(2 * w)) // when it has found enough pages of every host
				e, err := Open(Options{Dir: b.TempDir(), FS: vfs.Default, AllowPrivate: true, Resolve: web.resolve, Seeds: web.seeds,
					UserAgent: "freshet-bench", Delay: w, PerConnection: tt.perConnection, For: span, Fleet: tt.fleet})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := e.Run(b.Context(), b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := e.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(web.share(span-2*w), "%-of-allowed")
				b.ReportMetric(float64(web.tooSoon()), "violations")
			}
		})
	}
}

// politeWeb is a web of hosts with endless pages of 20 KB and 40 links. It watches the crawler's manners.
type politeWeb struct {
	clock   *clock.Clock
	resolve map[string]netip.AddrPort
	seeds   []weburl.URL
	hosts   map[string]*politeHost
	k       int
	from    atomic.Int64 // requests from this time on are counted, Unix ns
}

type politeHost struct {
	crawlDelayed bool
	interval     time.Duration

	mu       sync.Mutex
	asked    int // requests that were to be counted
	now      int
	end      time.Time
	run      int // requests since the last full interval
	tooSoon  int
	requests int
}

func newPoliteWeb(b *testing.B, hosts, crawlDelayed int, w, crawlDelay time.Duration, k int) *politeWeb {
	web := &politeWeb{clock: clock.Real(), resolve: map[string]netip.AddrPort{}, hosts: map[string]*politeHost{}, k: k}
	server := &http.Server{Handler: web}
	var serving sync.WaitGroup
	b.Cleanup(serving.Wait)
	for i := range hosts {
		name := fmt.Sprintf("host%d.test", i)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.84.%d.%d:0", i/250, 1+i%250))
		if err != nil {
			b.Fatal(err)
		}
		serving.Go(func() { server.Serve(listener) })
		web.resolve[name] = netip.MustParseAddrPort(listener.Addr().String())
		web.hosts[name] = &politeHost{crawlDelayed: i < crawlDelayed, interval: w}
		if i < crawlDelayed {
			web.hosts[name].interval = crawlDelay
		}
		u, err := weburl.Parse("http://" + name + "/0")
		if err != nil {
			b.Fatal(err)
		}
		web.seeds = append(web.seeds, u)
	}
	b.Cleanup(func() { server.Close() }) // before the wait: cleanups run last first
	web.count(time.Unix(0, math.MaxInt64))
	return web
}

// count begins to count requests at a time.
func (web *politeWeb) count(from time.Time) { web.from.Store(from.UnixNano()) }

var filler = strings.Repeat("The quick brown fox jumps over the lazy dog while the river keeps on running. ", 225)

func (web *politeWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := web.hosts[r.Host]
	now := web.clock.Now()
	host.enter(now, now.UnixNano() >= web.from.Load(), web.k)
	defer func() { host.leave(web.clock.Now()) }()
	if r.URL.Path == "/robots.txt" {
		if host.crawlDelayed {
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 2\n")
		}
		return
	}
	page, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.NotFound(w, r)
		return
	}
	body := appendPolitePage(make([]byte, 0, len(filler)+2048), page)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(body) // without its length: it ends after the host has noted the end
}

// appendPolitePage appends a page that links to the next forty. It is cheap to make: the web has the crawler's
// processors.
func appendPolitePage(dst []byte, page int) []byte {
	for next := int64(page) + 1; next <= int64(page)+40; next++ {
		dst = strconv.AppendInt(append(dst, `<a href="/`...), next, 10)
		dst = strconv.AppendInt(append(dst, `">page `...), next, 10)
		dst = append(dst, "</a> "...)
	}
	dst = append(dst, filler...)
	return append(strconv.AppendInt(append(dst, "<p>"...), int64(page), 10), "</p>"...)
}

// enter notes that a request has come: too soon, if another is being answered, or if more than k have
// come since the last full interval.
func (h *politeHost) enter(now time.Time, counts bool, k int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now++; h.now > 1 {
		h.tooSoon++
	}
	if now.Sub(h.end) >= h.interval {
		h.run = 0
	}
	if h.run++; h.run > k || h.crawlDelayed && h.run > 1 && h.requests > 1 {
		h.tooSoon++
	}
	h.requests++
	if counts {
		h.asked++
	}
}

func (h *politeHost) leave(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now--
	h.end = now
}

// share returns the requests of a span as a percentage of those that the intervals allow.
func (web *politeWeb) share(span time.Duration) float64 {
	asked, allowed := 0, 0.0
	for _, h := range web.hosts {
		asked += h.asked
		allowed += float64(span) / float64(h.interval) * float64(web.perInterval(h))
	}
	return 100 * float64(asked) / allowed
}

func (web *politeWeb) perInterval(h *politeHost) int {
	if h.crawlDelayed {
		return 1
	}
	return web.k
}

func (web *politeWeb) requests() (n int) {
	for _, h := range web.hosts {
		n += h.requests
	}
	return n
}

func (web *politeWeb) tooSoon() (n int) {
	for _, h := range web.hosts {
		n += h.tooSoon
	}
	return n
}
