package adversary

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const robotsSize = 512 << 10 // crawlers need not read more

var robotsKinds = []Kind{
	{Name: "robots-agents", Attacks: "time and memory of the parser: half of 512 KB are agents that share the rules of the other half",
		setUp: withRobots(sized(worstRobots))},
	{Name: "robots-rules", Attacks: "memory of the rules: 512 KB of the shortest rules there are",
		setUp: withRobots(sized(func() string { return "User-agent: *\n" + strings.Repeat("Allow:/\n", robotsSize/8) }))},
	{Name: "robots-groups", Attacks: "memory of the groups: 512 KB of groups of one rule",
		setUp: withRobots(sized(func() string { return repeat(robotsSize, "User-agent: a%d\nDisallow: /%d\n") }))},
	{Name: "robots-patterns", Attacks: "time of matching: patterns of wildcards, and paths that nearly match",
		setUp: func(h *Host) {
			withRobots(sized(func() string {
				return "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("*a", 100)+"b\n", robotsSize/220)
			}))(h)
			h.begin("/"+strings.Repeat("a", 1500), "/"+strings.Repeat("a", 1500)+"c")
		}},
	{Name: "robots-outage", Attacks: "patience: robots.txt answers 503 for ever",
		setUp: withRobots(says(status(503)))},
	{Name: "robots-flaps", Attacks: "beliefs: robots.txt answers 503, 500, 429, forbids all, allows all, and again",
		setUp: withRobots(func(x *exchange) bool {
			texts := []string{status(503), status(500), status(429, "Retry-After: 3"),
				page("text/plain", "User-agent: *\nDisallow: /\n"), page("text/plain", "User-agent: *\nAllow: /\n")}
			return x.say(texts[x.nth%len(texts)])
		})},
	{Name: "robots-endless", Attacks: "time and memory: robots.txt has no end",
		setUp: withRobots(withoutEnd("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n", "Disallow: /nothing\n"))},
	{Name: "robots-line", Attacks: "memory of a line: robots.txt is one endless line",
		setUp: withRobots(withoutEnd("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /", "x"))},
	{Name: "robots-drip", Attacks: "a connection's place: robots.txt comes a byte a second",
		setUp: withRobots(func(x *exchange) bool { return x.drip(page("text/plain", strings.Repeat("Disallow: /a\n", 100))) })},
	{Name: "robots-silence", Attacks: "a connection's place: robots.txt is never answered",
		setUp: withRobots(func(x *exchange) bool { return x.wait(time.Hour) })},
	{Name: "robots-ring", Attacks: "requests: robots.txt leads round in a ring",
		setUp: withRobots(func(x *exchange) bool { return x.say(status(301, "Location: /robots.txt?"+fmt.Sprint(x.nth%7))) })},
	{Name: "robots-sitemaps", Attacks: "memory of what is new: robots.txt names 10,000 sitemaps",
		setUp: withRobots(sized(func() string { return repeat(400<<10, "Sitemap: /sitemap-%d-%d.xml\n") }))},
	{Name: "robots-bomb", Attacks: "memory: robots.txt of 32 KB is 32 MB when it is unpacked",
		setUp: withRobots(func(x *exchange) bool { return x.say(page("text/plain", zeros("gzip"), "Content-Encoding: gzip")) })},
	{Name: "robots-delay", Attacks: "patience: robots.txt asks for a day between two requests",
		setUp: withRobots(says(page("text/plain", "User-agent: *\nCrawl-delay: 86400\n")))},
	{Name: "robots-nul", Attacks: "the parser: robots.txt is all bytes but text",
		setUp: withRobots(sized(func() string { return strings.Repeat("\x00\xff\xfe:\r*\n", robotsSize/8) }))},
}

// withRobots makes a host of small pages with that robots.txt.
func withRobots(robots answer) func(h *Host) {
	return func(h *Host) {
		h.robots = robots
		h.answers = func(x *exchange) bool {
			if strings.HasPrefix(x.path, "/robots") {
				return robots(x)
			}
			return x.say(html("<title>" + x.path + "</title><a href=/one>one</a> <a href=/two>two</a> <a href=/three>three</a>"))
		}
	}
}

// sized answers with a text that is made once, at the first request.
func sized(text func() string) answer {
	once := sync.OnceValue(func() string { return page("text/plain", text()) })
	return func(x *exchange) bool { return x.say(once()) }
}

// worstRobots is 512 KB of robots.txt in which each agent has each rule.
func worstRobots() string {
	var b strings.Builder
	for i := 0; b.Len() < robotsSize/2; i++ {
		fmt.Fprintf(&b, "User-agent: a%d\n", i)
	}
	b.WriteString("User-agent: *\n")
	for i := 0; b.Len() < robotsSize; i++ {
		fmt.Fprintf(&b, "Disallow: /%x\n", i)
	}
	return b.String()[:robotsSize]
}

// repeat repeats a format up to a size. All its verbs get the number of the repetition.
func repeat(size int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(i)))
	}
	return b.String()
}
