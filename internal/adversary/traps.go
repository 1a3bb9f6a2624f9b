package adversary

import (
	"fmt"
	"strings"
)

// farmNames is how many hosts a link farm has if each must be resolved by a setting.
const farmNames = 200

// maze is a host where every page links to new pages.
func maze(link func(n int) string) func(h *Host) {
	return always(func(x *exchange) bool {
		n := 3 * x.nth
		return x.say(html(fmt.Sprintf("<title>Room %d</title>A room much like the others. <a href='%s'>a</a> <a href='%s'>b</a> <a href='%s'>c</a>",
			n, link(n), link(n+1), link(n+2))))
	})
}

var trapKinds = []Kind{
	{Name: "calendar", Attacks: "requests: an endless calendar",
		setUp: always(func(x *exchange) bool {
			var year, month int
			_, _ = fmt.Sscanf(x.path, "/calendar/%d/%d", &year, &month) // 0 where it is no such path
			next := year*12 + month
			return x.say(html(fmt.Sprintf("<title>%d of %d</title>Nothing is on. <a href=/calendar/%d/%02d>next</a>", month, year, next/12, next%12+1)))
		}, "/calendar/2026/03")},
	{Name: "sessions", Attacks: "requests: a new session in every link",
		setUp: maze(func(n int) string { return fmt.Sprintf("/shop?PHPSESSID=%032x", n) })},
	{Name: "filters", Attacks: "requests: filters in every combination",
		setUp: maze(func(n int) string { return fmt.Sprintf("/?color=%d&size=%d&sort=%d", n%7, n/7%5, n/35) })},
	{Name: "rooms", Attacks: "requests: a maze of paths",
		setUp: maze(func(n int) string { return fmt.Sprintf("/x%d/y%d/z%d", n%10, n/10%10, n/100) })},
	{Name: "relative", Attacks: "requests: a relative link that makes each path longer",
		setUp: always(func(x *exchange) bool {
			return x.say(html("<title>" + x.path + "</title><a href='in/'>in</a><a href='../up/'>up</a>"))
		})},
	{Name: "soft-missing", Attacks: "what is stored: pages that say 200 and not found",
		setUp: always(func(x *exchange) bool {
			return x.say(html(fmt.Sprintf("<title>404 Not Found</title><h1>Not Found</h1><p>Try <a href=/try/%d>this</a>.", x.nth)))
		})},
	{Name: "farm", Attacks: "memory of hosts: a host for every link, all on one machine",
		setUp: func(h *Host) {
			for i := range farmNames {
				h.Also = append(h.Also, fmt.Sprintf("n%d.%s", i, h.Name))
			}
			h.answers = func(x *exchange) bool {
				var b strings.Builder
				for i := range 50 {
					n := x.random.IntN(farmNames)
					fmt.Fprintf(&b, "<a href=http://n%d.%s/%d>%d</a> ", n, h.Name, x.nth, i)
				}
				return x.say(html("<title>" + x.name + "</title>" + b.String()))
			}
			h.Seeds = nil
			for _, name := range h.Also[:10] {
				h.Seeds = append(h.Seeds, "http://"+name+"/")
			}
		}},
	{Name: "urls", Attacks: "the parser of URLs: addresses that are hardly any",
		setUp: always(says(html("<title>URLs</title>" + anchors(
			"http://[::1", "http://a:b:c/", "http://user:pass@@host/", "//", "///", "http:\\\\x\\y", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd",
			"http://%00/", "/%", "/%zz", "/\x00", "http://0x7f.1/", "http://1.2.3.4.5/", "ftp://x/", "http://xn--a/", "http://\u2488/", "http://a..b/", "?", "#",
			"http://"+strings.Repeat("a.", 500)+"test/", "/"+strings.Repeat("%2e%2e/", 300), "http://x:99999/", "mailto:x@y", "http://x:0/", "\u202e/evil"))))},
	{Name: "lengths", Attacks: "memory of rows: each page's address is as long as may be",
		setUp: always(func(x *exchange) bool {
			return x.say(html(fmt.Sprintf("<title>Long</title><a href=/%d-%s>next</a>", x.nth, strings.Repeat("n", 1900))))
		})},
	{Name: "twins", Attacks: "what is stored: one body of 1 MB under any address",
		setUp: always(func(x *exchange) bool {
			return x.say(html(strings.Repeat("the same words ", 1<<20/15) + fmt.Sprintf("<a href=/%d>next</a>", x.nth)))
		})},
}

func anchors(hrefs ...string) string {
	var b strings.Builder
	for _, href := range hrefs {
		fmt.Fprintf(&b, "<a href='%s'>x</a> ", href)
	}
	return b.String()
}
