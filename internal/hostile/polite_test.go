package hostile

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"freshet/crawl"
	"freshet/node"
	"freshet/store"
)

// after answers robots.txt with 404 and all else with a status and header lines.
func after(code int, lines ...string) answer { return each(says(status(code, lines...))) }

// The crawl takes a year for a day, and ignores nonsense. Retries end all of them. Honest hosts don't wait.
func TestRetryAfter(t *testing.T) {
	trial{
		hosts: func(n *network) {
			n.host("year.test", server{answer: after(http.StatusServiceUnavailable, "Retry-After: 31536000")})
			n.host("minus.test", server{answer: after(http.StatusServiceUnavailable, "Retry-After: -1")})
			n.host("words.test", server{answer: after(http.StatusTooManyRequests, "Retry-After: soon")})
			n.host("digits.test", server{answer: after(http.StatusTooManyRequests, "Retry-After: 999999999999999999999999")})
			n.host("century.test", server{answer: after(http.StatusTooManyRequests, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT")})
		},
		seeds: []string{"http://year.test/", "http://minus.test/", "http://words.test/", "http://digits.test/", "http://century.test/"},
		rate:  1000, delay: time.Minute,
		options: func(o *node.Options) { o.For = 12 * time.Hour },
		stop:    crawl.TimeUp,
		explains: map[string]string{
			"http://year.test/": "host: back-off", "http://digits.test/": "host: back-off", "http://century.test/": "host: back-off",
			"http://minus.test/": "fetch: 503", "http://words.test/": "fetch: 429",
		},
	}.run(t)
}

// Whatever a server asks for, its pages are tried again a day later, and given up after the retries.
func TestRetryAfterYearEnds(t *testing.T) {
	trial{
		evil: server{answer: after(http.StatusServiceUnavailable, "Retry-After: 31536000")},
		rate: 1000, delay: time.Minute,
		explains: map[string]string{"/": "fetch: 503"},
	}.run(t)
}

func TestTooManyRequestsWithoutAWord(t *testing.T) {
	trial{
		evil:     server{answer: after(http.StatusTooManyRequests)},
		seeds:    []string{"/", "/a", "/b"},
		explains: map[string]string{"/": "fetch: 429", "/a": "fetch: 429", "/b": "fetch: 429"},
	}.run(t)
}

func TestCrawlDelayOfADay(t *testing.T) {
	pages := map[string]string{
		"/robots.txt": page("text/plain", "User-agent: *\nCrawl-delay: 86400\n"),
		"/":           html("<title>Slow</title><a href=/next>next</a>"),
		"/next":       html("<title>Next</title>Tomorrow's page."),
	}
	trial{
		evil: server{answer: site(pages)},
		rate: 1000, delay: time.Minute,
		options:  func(o *node.Options) { o.For = 36 * time.Hour },
		stop:     crawl.TimeUp,
		explains: map[string]string{"/": "", "/next": "host: interval"},
	}.run(t)
}

// Ten hosts at one address are one machine.
func TestTenHostsOnOneAddress(t *testing.T) {
	const gap = 3 * time.Second
	var shared netip.Addr
	seeds, explains := []string{}, map[string]string{}
	for i := range 10 {
		root := fmt.Sprintf("http://vhost-%d.test/", i)
		seeds = append(seeds, root)
		explains[root], explains[root+"next"] = "", ""
	}
	trial{
		hosts: func(n *network) {
			n.host("vhost-0.test", server{answer: each(func(out io.Writer, r *http.Request) bool {
				_, err := io.WriteString(out, html("<title>"+r.Host+r.URL.Path+"</title><a href=/next>next</a>"))
				return err == nil
			})})
			shared = n.lookups["vhost-0.test"](1)[0]
			for i := range 10 {
				n.name(fmt.Sprintf("vhost-%d.test", i), func(int) []netip.Addr { return []netip.Addr{shared} })
			}
		},
		seeds: seeds, explains: explains,
		delay:   gap,
		options: func(o *node.Options) { o.AddressDelay = gap },
		check:   func(_ *testing.T, n *network, _ *store.Store) { n.apart(byAddress, gap) },
	}.run(t)
}

// A server promises to keep the connection and hangs up on the next request. That costs its pages no attempt, and
// tries nobody's patience.
func TestEveryOtherRequestUnheard(t *testing.T) {
	answers := site(map[string]string{
		"/":  html("<title>Moody</title><a href=/a>a</a><a href=/b>b</a>"),
		"/a": html("<title>A</title>One thing."),
		"/b": html("<title>B</title>Another."),
	})
	var asked atomic.Int64
	trial{
		evil: server{answer: func(out io.Writer, r *http.Request) bool {
			return asked.Add(1)%2 == 1 && answers(out, r)
		}},
		options:  func(o *node.Options) { o.Retries = new(0) },
		explains: map[string]string{"/": "", "/a": "", "/b": ""},
	}.run(t)
	if n := asked.Load(); n != 7 { // robots.txt, and each page twice
		t.Errorf("asked %d times, want 7", n)
	}
}
