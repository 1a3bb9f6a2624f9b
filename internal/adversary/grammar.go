package adversary

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const randomName = "random"

// randomKind is a host that draws an answer from the grammar below for each of its paths. It links to its other
// paths, so that a crawl finds them all.
func randomKind() Kind {
	return Kind{Name: randomName, Attacks: "what nobody thought of: answers drawn from a grammar",
		setUp: func(h *Host) {
			answers := make([]answer, 4+h.random.IntN(12))
			for i := range answers {
				answers[i] = drawn(h.random, len(answers))
			}
			h.answers = func(x *exchange) bool {
				number := len(x.path)
				_, _ = fmt.Sscanf(x.path, "/%d", &number) // else its length will do
				return answers[max(number, 0)%len(answers)](x)
			}
			if h.random.IntN(3) == 0 {
				h.robots = drawn(h.random, len(answers))
			}
			h.begin("/0", "/1", "/2")
		}}
}

// drawn returns an answer of the grammar:
//
//	answer  = status line, header lines, coding, framing, pace, end
//	body    = one of the generators, in a coding that is named, hidden or named wrongly
//
// Each part is honest half of the time, so that most answers are wrong in one place and right in all others.
func drawn(random *rand.Rand, paths int) answer {
	pace := either(random, len(paces))
	line := pick(random, "HTTP/1.1 200 OK", statusTexts)
	lines := "Content-Type: " + pick(random, "text/html", types) + "\r\n"
	for random.IntN(2) == 0 {
		lines += strings.ReplaceAll(headerLines[random.IntN(len(headerLines))], "N", fmt.Sprint(random.IntN(paths))) + "\r\n"
	}
	coding := pick(random, "", codings)
	named := coding
	switch random.IntN(8) {
	case 0:
		named = codings[random.IntN(len(codings))]
	case 1:
		named = ""
	}
	if named != "" {
		lines += "Content-Encoding: " + named + "\r\n"
	}
	body := compressed(coding, generators[random.IntN(len(generators))](random, paths))
	text := line + "\r\n" + lines + framed(random, body)
	speak, end := paces[pace], ends[either(random, len(ends))]
	switch {
	case pace == dripping || pace == pausing: // when it ends must be plain, or the log can't tell who was too soon
		text = fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", lines, len(body), body)
	case random.IntN(8) == 0:
		text = garbled(random, text)
	case random.IntN(8) == 0:
		text += html("<title>Uncalled for</title>")
	}
	return func(x *exchange) bool { return speak(x, text) && end(x) }
}

// pick returns the honest text half of the time, and otherwise one of the others.
func pick(random *rand.Rand, honest string, others []string) string {
	if random.IntN(2) == 0 {
		return honest
	}
	return others[random.IntN(len(others))]
}

// either returns 0 half of the time, and otherwise any number below n.
func either(random *rand.Rand, n int) int { return random.IntN(2) * random.IntN(n) }

var statusTexts = []string{
	"HTTP/1.1 204 No Content", "HTTP/1.1 206 Partial Content", "HTTP/1.1 301 Moved", "HTTP/1.1 302 Found", "HTTP/1.1 304 Not Modified",
	"HTTP/1.1 307 Over There", "HTTP/1.1 401 Who", "HTTP/1.1 404 Not Found", "HTTP/1.1 410 Gone", "HTTP/1.1 418 Teapot", "HTTP/1.1 429 Slowly",
	"HTTP/1.1 500 Oh", "HTTP/1.1 503 Busy", "HTTP/1.0 200 OK", "HTTP/1.1 999", "HTTP/1.1 200",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 103 Early Hints\r\nLink: </1>\r\n\r\nHTTP/1.1 200 OK",
}

var types = []string{"", "text/plain", "application/xhtml+xml", "application/xml", "application/rss+xml", "application/octet-stream",
	"text/html; charset=utf-16", "text/html; charset=", "image/png", "a/b; c=\"", strings.Repeat("x", 3000)}

var headerLines = []string{
	"Location: /N", "Location: http://honest-1.test/", "Location: //", "Retry-After: 86400", "Retry-After: -1", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
	"ETag: \"N\"", "ETag: W/", "Last-Modified: Fri, 31 Dec 9999 23:59:59 GMT", "Last-Modified: yesterday", "Link: </N>; rel=next", "X-Robots-Tag: none, all",
	"X-Robots-Tag: unavailable_after: 1 Jan 1970", "Content-Location: /N", "Connection: close", "Connection: keep-alive, close", "Keep-Alive: timeout=0",
	"Set-Cookie: a=" + strings.Repeat("b", 3000), "Content-Range: bytes 5-4/3", "Vary: *", "Date: 0", "Age: 99999999999999999999", "Refresh: 0; url=/N",
	"Content-Language: " + strings.Repeat("en,", 500), "Alt-Svc: h3=\":443\"", " folded", "no colon", "A\x00: b", "Trailer: Content-Length", "Content-MD5: N",
}

var codings = []string{"gzip", "deflate", "br", "zstd", "raw", "cow"}

// generators write bodies of a few KB to a MB.
var generators = []func(random *rand.Rand, paths int) string{
	func(random *rand.Rand, paths int) string {
		return fmt.Sprintf("<!doctype html><title>%d</title>Words. %s", random.IntN(1000), anchors("/0", "/1", fmt.Sprint("/", random.IntN(paths)), fmt.Sprint("/", random.IntN(paths))))
	},
	func(random *rand.Rand, _ int) string { return strings.Repeat("<", 1<<random.IntN(18)) },
	func(random *rand.Rand, _ int) string { return strings.Repeat("\x00", 1<<random.IntN(20)) },
	func(random *rand.Rand, _ int) string { return "<a " + repeat(1<<random.IntN(18), "b%d=c ") + ">" },
	func(random *rand.Rand, _ int) string { return repeat(1<<random.IntN(18), "<a href=/l/%d>%d</a>") },
	func(random *rand.Rand, _ int) string {
		return "<base href=/" + strings.Repeat("b/", random.IntN(3000)) + ">" + repeat(1<<random.IntN(15), "<a href=%d>")
	},
	func(random *rand.Rand, _ int) string {
		return urlset + repeat(1<<random.IntN(18), "<url><loc>/s/%d</loc></url>")
	},
	func(random *rand.Rand, _ int) string {
		return repeat(1<<random.IntN(18), "User-agent: %d\nDisallow: /%d\n")
	},
	func(random *rand.Rand, _ int) string { return strings.Repeat("<div><svg><math>", 1<<random.IntN(14)) },
	func(random *rand.Rand, _ int) string {
		noise := make([]byte, 1<<random.IntN(16))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		return string(noise)
	},
	func(random *rand.Rand, _ int) string {
		tokens := []string{"<", ">", "</", "<!--", "-->", "<![CDATA[", "]]>", "<script>", "</script>", "<a href='", "'", "\"", "=", "&#", ";", "<?", "/>", "<base href=//", "\r", "\x00", "é", "<meta "}
		var b strings.Builder
		for range 1 << random.IntN(13) {
			b.WriteString(tokens[random.IntN(len(tokens))])
		}
		return b.String()
	},
	func(*rand.Rand, int) string { return "" },
}

// framed returns a body after the header lines with its length.
func framed(random *rand.Rand, body string) string {
	length := len(body)
	switch either(random, 8) {
	case 1:
		length += random.IntN(1000)
	case 2:
		length = random.IntN(length + 1)
	case 3, 4:
		return "Transfer-Encoding: chunked\r\n\r\n" + inChunks(random, body) + "0\r\n\r\n"
	case 5:
		return "Transfer-Encoding: chunked\r\n\r\n" + inChunks(random, body) // and no end
	case 6:
		return "\r\n" + body
	case 7:
		return fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", length, body)
	}
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", length, body)
}

func inChunks(random *rand.Rand, body string) string {
	var b strings.Builder
	extension := pick(random, "", []string{";a", ";a=\"b\"", strings.Repeat(";x", 500), " "})
	for rest := body; rest != ""; {
		n := min(len(rest), 1+random.IntN(32<<10))
		fmt.Fprintf(&b, "%x%s\r\n%s\r\n", n, extension, rest[:n])
		rest = rest[n:]
	}
	return b.String()
}

// garbled changes a few bytes of a text.
func garbled(random *rand.Rand, text string) string {
	bytes := []byte(text)
	for range 1 + random.IntN(4) {
		bytes[random.IntN(min(len(bytes), 2000))] = byte(random.Uint32())
	}
	return string(bytes)
}

// Indexes of the paces below that send a text in pieces.
const (
	dripping = 2
	pausing  = 3
)

// paces send a text, and report whether the client accepted it.
var paces = []func(x *exchange, text string) bool{
	func(x *exchange, text string) bool { return x.say(text) },
	func(x *exchange, text string) bool { return x.wait(5*time.Second) && x.say(text) },
	func(x *exchange, text string) bool {
		return x.drip(text[:min(len(text), 300)]) && x.say(text[min(len(text), 300):])
	},
	func(x *exchange, text string) bool {
		half := len(text) / 2
		return x.say(text[:half]) && x.wait(10*time.Second) && x.say(text[half:])
	},
	func(x *exchange, text string) bool {
		return x.say(text[:x.random.IntN(len(text))]) && x.wait(time.Hour)
	},
	func(x *exchange, text string) bool { // a client that reads by the length has all with the text
		said := x.say(text)
		x.whole()
		return said && x.endless(text)
	},
}

// ends end an answer, and report whether the connection stays open.
var ends = []func(x *exchange) bool{
	func(*exchange) bool { return true },
	func(*exchange) bool { return false },
	func(x *exchange) bool { return x.reset() },
	func(x *exchange) bool {
		x.whole()
		return x.wait(30 * time.Second)
	},
}
