package adversary

import (
	"strings"
	"time"
)

var longText = html("<title>Long</title>" + strings.Repeat("many words ", 400))

// after is the head of an answer, all but its end.
var openHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n"

var slowKinds = []Kind{
	{Name: "busy-for-a-day", Attacks: "patience: 503 with Retry-After of a day",
		setUp: always(says(status(503, "Retry-After: 86400")), "/", "/a", "/b")},
	{Name: "busy-for-a-century", Attacks: "arithmetic: Retry-After of more seconds than there are",
		setUp: always(says(status(503, "Retry-After: 999999999999999999999999")), "/", "/a")},
	{Name: "too-many", Attacks: "patience: 429 without a word, for ever",
		setUp: always(says(status(429)), "/", "/a", "/b")},
	{Name: "drip-header", Attacks: "a connection's place: the header comes a byte a second",
		setUp: always(func(x *exchange) bool { return x.drip(openHead + "X-Long: " + strings.Repeat("x", 1000)) })},
	{Name: "drip-body", Attacks: "a connection's place: the body comes a byte a second",
		setUp: always(func(x *exchange) bool { return x.say(openHead+"\r\n") && x.drip(longText) }, "/", "/a")},
	{Name: "drip-chunks", Attacks: "a connection's place: chunks of a byte a second",
		setUp: always(func(x *exchange) bool {
			ok := x.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
			for ok {
				ok = x.say("1\r\nx\r\n") && x.wait(time.Second)
			}
			return false
		})},
	{Name: "drip-tls", Attacks: "a connection's place: the handshake comes a byte a second", TLS: true,
		setUp: func(h *Host) {
			h.greets = func(g *greeting) {
				g.done = true
				for range 300 {
					if _, err := g.Write([]byte{22}); err != nil || !g.wait(time.Second) {
						return
					}
				}
			}
		}},
	{Name: "silence", Attacks: "a connection's place: no request is answered",
		setUp: always(func(x *exchange) bool { return x.wait(time.Hour) }, "/", "/a", "/b")},
	{Name: "silent-greeting", Attacks: "a connection's place: no handshake is answered", TLS: true,
		setUp: func(h *Host) {
			h.greets = func(g *greeting) {
				g.done = true
				buffer := make([]byte, 4096)
				for {
					if _, err := g.Read(buffer); err != nil {
						return
					}
				}
			}
		}},
	{Name: "stall", Attacks: "a connection's place: half the body comes at once, the rest never",
		setUp: always(func(x *exchange) bool { return x.say(longText[:len(longText)/2]) && x.wait(time.Hour) }, "/", "/a")},
	{Name: "late-end", Attacks: "a connection's place: all of the body comes, its end never",
		setUp: always(func(x *exchange) bool {
			return x.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Late</title>All there is.") && x.wait(time.Hour)
		})},
}
