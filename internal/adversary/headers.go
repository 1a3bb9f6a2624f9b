package adversary

import (
	"fmt"
	"strings"
)

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

var headerKinds = []Kind{
	{Name: "header-line", Attacks: "memory: an endless header line",
		setUp: always(withoutEnd(ok+"X-Long: ", "x"))},
	{Name: "header-lines", Attacks: "memory: endless header lines", setUp: always(withoutEnd(ok, "A: b\r\n"))},
	{Name: "header-empties", Attacks: "time: 900 empty lines, a page behind them",
		setUp: always(says(html("<title>Behind</title>", strings.Split(strings.Repeat("A:\r\n", 900), "\r\n")[:900]...)), "/", "/a")},
	{Name: "interim", Attacks: "time and memory: endless 100 Continue",
		setUp: always(withoutEnd("", "HTTP/1.1 100 Continue\r\n\r\n"))},
	{Name: "early-hints", Attacks: "time: 103 with links, 500 times, before each page",
		setUp: always(says(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", 500)+html("<title>At last</title>")), "/", "/a")},
	{Name: "cookies", Attacks: "memory: cookies of 200 KB with each page",
		setUp: always(says(html("<title>Cookies</title>", bigLines("Set-Cookie: c%d=%s; Path=/", 50, 4000)...)), "/", "/a", "/b", "/c")},
	{Name: "validators", Attacks: "memory of the page's row: an ETag of 200 KB",
		setUp: always(says(html("<title>Validators</title>", `ETag: "`+strings.Repeat("e", 200<<10)+`"`, "Last-Modified: "+strings.Repeat("l", 20<<10))), "/", "/a", "/b")},
	{Name: "content-type", Attacks: "memory of the page's row: a Content-Type of 200 KB",
		setUp: always(says(page("text/html; x="+strings.Repeat("y", 200<<10), "<title>Type</title>")), "/", "/a", "/b")},
	{Name: "link-headers", Attacks: "memory of what is new: a hundred thousand links in header lines",
		setUp: always(func(x *exchange) bool {
			var lines []string
			for i := range 500 {
				lines = append(lines, "Link: "+strings.TrimSuffix(strings.Repeat(fmt.Sprintf("</%d/%d>;rel=next,", x.nth, i), 20), ","))
			}
			return x.say(html("<title>Links</title>", lines...))
		}, "/")},
	{Name: "smuggling", Attacks: "framing: lengths and codings that contradict each other",
		setUp: pages(contradictions())},
	{Name: "splitting", Attacks: "the next request's answer: two answers to one request",
		setUp: always(func(x *exchange) bool {
			return x.say(html("<title>One</title><a href=/a>a</a><a href=/b>b</a>") + html("<title>Two</title>Not asked for. <a href=/injected>x</a>"))
		}, "/")},
	{Name: "no-header", Attacks: "the parser: HTTP/0.9",
		setUp: always(hangsUp("<html><title>Nine</title>What a header?"), "/", "/a")},
	{Name: "no-http", Attacks: "the parser: another protocol", setUp: always(hangsUp("SSH-2.0-OpenSSH_9.6\r\n"))},
	{Name: "status-lines", Attacks: "the parser: status lines that are none", setUp: pages(statusLines())},
	{Name: "header-bytes", Attacks: "the parser: bytes that no header may have",
		setUp: always(says(ok + "X: a\x00b\r\n\xff\xfe: \x01\r\nno colon\r\n : \r\n folded\r\nContent-Length: 5\r\n\r\nhello"))},
	{Name: "switch", Attacks: "the protocol: 101 where nobody asked",
		setUp: always(says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"))},
}

func bigLines(format string, count, size int) []string {
	var lines []string
	for i := range count {
		lines = append(lines, fmt.Sprintf(format, i, strings.Repeat("v", size)))
	}
	return lines
}

// contradictions are answers whose length can be read in two ways.
func contradictions() map[string]answer {
	body := "<title>Which</title>Is this the end, or that?"
	answers := map[string]answer{}
	for i, lines := range []string{
		"Content-Length: 10\r\nContent-Length: 1000", "Content-Length: 10, 1000", "Content-Length: -1", "Content-Length: +10",
		"Content-Length: 10\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: cow", "Transfer-Encoding: chunked, identity", "Transfer-Encoding:\x0bchunked", "Content-Length: 0x10",
		"Content-Length: 99999999999999999999999999", "Content-Length : 10", "Transfer-Encoding : chunked\r\nContent-Length: 4",
	} {
		answers[fmt.Sprintf("/%d", i)] = hangsUp(ok + lines + "\r\n\r\n" + body)
	}
	return answers
}

func statusLines() map[string]answer {
	answers := map[string]answer{}
	for i, line := range []string{
		"HTTP/2 200", "HTTP/1.1 99999 What", "HTTP/1.1 200 " + strings.Repeat("x", 1<<20), "HTTP/1.1 -200 OK", "HTTP/9999999999.1 200 OK",
		"HTTP/1.1", "http/1.1 200 ok", "HTTP/1.1 000 None", "HTTP/1.1 200\x00OK", "HTTP/1.1 2000000000000000000000 OK",
	} {
		answers[fmt.Sprintf("/%d", i)] = hangsUp(line + "\r\nContent-Length: 5\r\n\r\nhello")
	}
	return answers
}
