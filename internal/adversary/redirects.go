package adversary

import (
	"fmt"
	"net/netip"
	"strings"
)

var redirectKinds = []Kind{
	{Name: "redirect-endless", Attacks: "requests: endless redirects",
		setUp: always(func(x *exchange) bool { return x.say(status(302, fmt.Sprintf("Location: /hop/%d", x.nth))) })},
	{Name: "redirect-ring", Attacks: "requests: redirects in a ring",
		setUp: always(func(x *exchange) bool {
			next := map[string]string{"/": "/a", "/a": "/b", "/b": "/"}[x.path]
			return x.say(status(301, "Location: "+next))
		})},
	{Name: "redirect-self", Attacks: "requests: pages that are moved to where they are",
		setUp: always(func(x *exchange) bool { return x.say(status(308, "Location: "+x.path+"#x")) }, "/", "/a")},
	{Name: "redirect-long", Attacks: "memory: a redirect to an address of 200 KB",
		setUp: always(says(status(302, "Location: /"+strings.Repeat("l", 200<<10))), "/", "/a")},
	{Name: "redirect-many", Attacks: "the parser: three ways to go at once, none of them right",
		setUp: always(says(status(302, "Location: /a", "Location: /b", "Location: http://[::1", "Refresh: 0; url=/c")))},
	{Name: "redirect-schemes", Attacks: "what is read: redirects to files, scripts and mail",
		setUp: always(func(x *exchange) bool {
			targets := []string{"file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "gopher://x:70/1", "mailto:a@b", "ws://x/", "//", "http://"}
			return x.say(status(302, "Location: "+targets[x.nth%len(targets)]))
		}, "/", "/a", "/b", "/c", "/d", "/e")},
	{Name: "redirect-inwards", Attacks: "the network inside: redirects to addresses of the machine",
		setUp: func(h *Host) {
			targets := []string{"http://127.0.0.1:1/", "http://[::1]:1/", "http://2130706433:1/", "http://0x7f.1:1/", "http://[::ffff:127.0.0.1]:1/"}
			if h.plan.Memory { // nothing is dialled outside
				targets = append(targets, "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fd00::1]/", "http://100.64.0.1/", "http://0.0.0.0/")
			}
			answers := map[string]answer{}
			for i, target := range targets {
				answers[fmt.Sprintf("/%d", i)] = says(status(302, "Location: "+target))
			}
			pages(answers)(h)
		}},
	{Name: "redirect-honest", Attacks: "the honest hosts' turns: every page leads to one of theirs that isn't there",
		setUp: always(func(x *exchange) bool {
			return x.say(status(302, fmt.Sprintf("Location: http://honest-1.test/no-such-page-%d", x.nth%5)))
		}, "/", "/a", "/b")},
	{Name: "lookup-flips", Attacks: "the network inside: a name that is public at first and private then", lookups: true,
		setUp: looksUp(func(n int, at netip.Addr) []netip.Addr {
			if n%2 == 0 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			}
			return []netip.Addr{at}
		})},
	{Name: "lookup-mixed", Attacks: "the network inside: a name that is public and private at once", lookups: true,
		setUp: looksUp(func(_ int, at netip.Addr) []netip.Addr { return []netip.Addr{netip.MustParseAddr("10.0.0.1"), at} })},
	{Name: "lookup-many", Attacks: "memory of names: a name with 5,000 addresses", lookups: true,
		setUp: looksUp(func(_ int, at netip.Addr) []netip.Addr {
			addrs := make([]netip.Addr, 5000)
			for i := range addrs {
				addrs[i] = at
			}
			return addrs
		})},
	{Name: "lookup-none", Attacks: "patience: a name that has no address every other time", lookups: true,
		setUp: looksUp(func(n int, at netip.Addr) []netip.Addr {
			if n%2 == 1 {
				return nil
			}
			return []netip.Addr{at}
		})},
}

// looksUp makes a host of a few pages with the given look-up of its name.
func looksUp(lookup func(n int, at netip.Addr) []netip.Addr) func(h *Host) {
	return func(h *Host) {
		h.looksUp = lookup
		maze(func(n int) string { return fmt.Sprintf("/%d", n%30) })(h)
	}
}
