package hostile

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

func TestRedirectsWithoutEnd(t *testing.T) {
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			var hop int
			fmt.Sscanf(r.URL.Path, "/hop/%d", &hop)
			_, err := io.WriteString(out, status(http.StatusFound, fmt.Sprintf("Location: /hop/%d", hop+1)))
			return err == nil
		})},
		seeds: []string{"/hop/0"},
		explains: map[string]string{
			"/hop/0": "fetch: redirect", "/hop/5": "fetch: redirect",
			"/hop/6": "guard: redirects", "/hop/7": "seen: unknown",
		},
	}.run(t)
}

// A page at the end of too long a chain is crawled all the same when a shorter way leads to it.
func TestRedirectsThatHideAPage(t *testing.T) {
	pages := map[string]string{"/page": html("<title>Hidden</title>A page that somebody would rather hide."), "/slow/5": html("<a href=/page>short way</a>")}
	for hop := range 7 {
		pages[fmt.Sprintf("/hop/%d", hop)] = status(http.StatusFound, fmt.Sprintf("Location: /hop/%d", hop+1))
	}
	pages["/hop/5"] = status(http.StatusFound, "Location: /page")
	for step := range 5 {
		pages[fmt.Sprintf("/slow/%d", step)] = html(fmt.Sprintf("<a href=/slow/%d>on</a> and on, step %d", step+1, step))
	}
	trial{
		evil:     server{answer: site(pages)},
		seeds:    []string{"/hop/0", "/slow/0"},
		explains: map[string]string{"/hop/5": "fetch: redirect", "/page": ""},
	}.run(t)
}

func TestRedirectLoops(t *testing.T) {
	trial{
		evil: server{answer: site(map[string]string{
			"/self": status(http.StatusMovedPermanently, "Location: /self"),
			"/a":    status(http.StatusFound, "Location: /b"),
			"/b":    status(http.StatusTemporaryRedirect, "Location: http://evil.test:80/a#again"),
			"/none": status(http.StatusFound),
			"/mail": status(http.StatusFound, "Location: mailto:someone@evil.test"),
		})},
		seeds: []string{"/self", "/a", "/none", "/mail"},
		explains: map[string]string{
			"/self": "fetch: redirect", "/a": "fetch: redirect", "/b": "fetch: redirect",
			"/none": "fetch: 302", "/mail": "fetch: 302",
		},
	}.run(t)
}

// A seed's redirect widens the scope, so that only the address guard stands between it and the network
// that the crawler runs in. The dialler fails the test should anything get so far.
func TestRedirectsInwards(t *testing.T) {
	targets := []string{
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:8350/api/v1/status", "http://[::1]/", "http://[::ffff:10.0.0.1]/",
		"http://2130706433/", "http://0x7f.1/", "http://inside.test/",
	}
	pages, explains, seeds := map[string]string{}, map[string]string{}, []string{}
	for i, target := range targets {
		path := fmt.Sprintf("/to/%d", i)
		pages[path] = status(http.StatusFound, "Location: "+target)
		explains[path], explains[target] = "fetch: redirect", "address: private-address"
		seeds = append(seeds, path)
	}
	trial{
		evil: server{answer: site(pages)},
		hosts: func(n *network) {
			n.name("inside.test", func(int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.168.0.1")} })
		},
		seeds: seeds, explains: explains,
	}.run(t)
}

// rebind.test is public at first and private at a later look-up. mixed.test is both at once.
func TestNamesThatTurnInwards(t *testing.T) {
	private := netip.MustParseAddr("127.0.0.1")
	pages := site(map[string]string{
		"/":      html("<title>First</title><a href=/again>once more</a>"),
		"/again": html("<title>Again</title>The second page."),
	})
	trial{
		hosts: func(n *network) {
			n.host("rebind.test", server{answer: pages})
			n.host("mixed.test", server{answer: pages})
			outside := n.lookups["rebind.test"](1)
			n.name("rebind.test", func(asked int) []netip.Addr {
				if asked > 2 { // robots.txt, then the first page
					return []netip.Addr{private}
				}
				return outside
			})
			mixed := n.lookups["mixed.test"](1)
			n.name("mixed.test", func(int) []netip.Addr { return append([]netip.Addr{private}, mixed...) })
		},
		seeds: []string{"http://rebind.test/", "http://mixed.test/"},
		delay: 2 * time.Minute, // longer than any name is remembered without being asked for
		explains: map[string]string{
			"http://rebind.test/": "", "http://rebind.test/again": "address: private-address",
			"http://mixed.test/": "", "http://mixed.test/again": "",
		},
	}.run(t)
}
