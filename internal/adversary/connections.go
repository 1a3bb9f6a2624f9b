package adversary

import (
	"fmt"
	"time"
)

var connectionKinds = []Kind{
	{Name: "reset-anywhere", Attacks: "what is stored: the connection is reset after each byte of the answer",
		setUp: always(cut(func(x *exchange) bool { return x.reset() }), paths(40)...)},
	{Name: "close-anywhere", Attacks: "what is stored: the connection is closed after each byte of the answer",
		setUp: always(cut(func(*exchange) bool { return false }), paths(40)...)},
	{Name: "reset-greeting", Attacks: "patience: connections are reset before anything is said",
		setUp: func(h *Host) { h.greets = func(g *greeting) { reset(g.Conn); g.done = true } }},
	{Name: "unheard", Attacks: "requests: every other request on a connection is not answered",
		setUp: always(func(x *exchange) bool {
			return x.nth%2 == 0 && x.say(html(fmt.Sprintf("<title>Moody</title><a href=/%d>next</a>", x.nth%20)))
		})},
	{Name: "pushes", Attacks: "the next request's answer: bytes that nobody asked for, while the connection waits", sockets: true,
		setUp: always(func(x *exchange) bool {
			x.say(html(fmt.Sprintf("<title>Pushes</title><a href=/%d>next</a>", x.nth%20)))
			x.whole()
			return x.wait(50*time.Millisecond) && x.say(html("pushed"))
		})},
	{Name: "talks-first", Attacks: "the parser: an answer that comes before the request",
		setUp: func(h *Host) {
			h.greets = func(g *greeting) {
				go func() { _, _ = g.Write([]byte(html("<title>First</title>"))) }() // ends with the connection
			}
			h.answers = says(html("<title>Second</title>"))
		}},
	{Name: "tls-wrong-name", Attacks: "trust: a certificate for another name", TLS: true,
		setUp: func(h *Host) { h.wrongly = true; h.answers = says(html("<title>Trust me</title>")) }},
	{Name: "tls-noise", Attacks: "the handshake: noise instead of it", TLS: true,
		setUp: func(h *Host) {
			h.greets = func(g *greeting) {
				g.done = true
				noise := make([]byte, 16<<10)
				for i := range noise {
					noise[i] = byte(h.seed >> (i % 8 * 8))
				}
				copy(noise, []byte{22, 3, 3, 0x40, 0})
				for {
					if _, err := g.Write(noise); err != nil {
						return
					}
				}
			}
		}},
	{Name: "tls-plain", Attacks: "the handshake: plain HTTP instead of it", TLS: true,
		setUp: func(h *Host) {
			h.greets = func(g *greeting) {
				g.done = true
				_, _ = g.Read(make([]byte, 1))
				_, _ = g.Write([]byte(status(400)))
			}
		}},
	{Name: "tls-bodies", Attacks: "memory: an endless body behind TLS", TLS: true,
		setUp: always(withoutEnd(ok+"\r\n", "secret words "), "/", "/a")},
}

// cut answers each request with one byte more than the last, and then ends the connection.
func cut(end func(*exchange) bool) answer {
	text := html("<title>Whole</title>A page that is rarely seen whole. <a href=/next>next</a>")
	return func(x *exchange) bool {
		x.say(text[:(x.nth*7)%len(text)])
		return end(x)
	}
}

func paths(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("/%d", i))
	}
	return list
}
