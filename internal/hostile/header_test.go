package hostile

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"freshet/node"
)

func TestHeaders(t *testing.T) {
	const mib = 1 << 20
	start := "HTTP/1.1 200 OK\r\n"
	pages := map[string]string{
		"/line":   start + "X-Long: " + strings.Repeat("x", 10*mib) + "\r\n\r\nhello",
		"/lines":  start + strings.Repeat("A: b\r\n", 1_000_000) + "\r\nhello",
		"/short":  start + strings.Repeat("A:\r\n", 2000) + "\r\nhello",
		"/status": "HTTP/1.1 200 " + strings.Repeat("x", mib) + "\r\n\r\nhello",
		"/http2":  "HTTP/2 200\r\n\r\nhello",
		"/code":   "HTTP/1.1 99999 What\r\n\r\nhello",
		"/nul":    start + "X: a\x00b\r\n\r\nhello",
		"/colon":  start + "no colon here\r\n\r\nhello",
		"/space":  start + "Content-Length : 5\r\n\r\nhello",
		"/ssh":    "SSH-2.0-OpenSSH_9.6\r\n",
		"/switch": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
	}
	explains, seeds := map[string]string{}, []string{}
	for path := range pages {
		explains[path], seeds = "fetch: malformed", append(seeds, path)
	}
	for _, path := range []string{"/line", "/lines", "/short", "/status"} {
		explains[path] = "fetch: header-too-large"
	}
	// The crawl reads every answer that a browser would read.
	explains["/nul"], explains["/colon"], explains["/space"], explains["/switch"] = "", "", "", "fetch: 101"
	trial{evil: server{answer: site(pages, seeds...)}, seeds: seeds, explains: explains}.run(t)
}

func TestResets(t *testing.T) {
	phases := map[string]string{
		"/request": "",
		"/header":  "HTTP/1.1 200 OK\r\nContent-Ty",
		"/body":    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
		"/close":   "HTTP/1.1 200 OK\r\n\r\nhello",
		"/chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
	}
	trial{
		evil: server{reset: true, answer: each(func(out io.Writer, r *http.Request) bool {
			io.WriteString(out, phases[r.URL.Path])
			return false
		})},
		hosts: func(n *network) {
			n.host("refuses.test", server{refuse: syscall.ECONNREFUSED})
			n.host("unreachable.test", server{refuse: syscall.EHOSTUNREACH})
			n.host("accepts.test", server{reset: true, answer: func(io.Writer, *http.Request) bool { return false }})
		},
		seeds: []string{"/request", "/header", "/body", "/close", "/chunk", "http://refuses.test/", "http://unreachable.test/", "http://accepts.test/", "https://accepts.test/"},
		explains: map[string]string{
			"/request": "fetch: disconnected", "/header": "fetch: disconnected", "/body": "fetch: truncated-disconnect",
			"/close": "fetch: truncated-disconnect", "/chunk": "fetch: truncated-disconnect",
			"http://refuses.test/": "robots: robots-unreachable", "http://unreachable.test/": "robots: robots-unreachable",
			"http://accepts.test/": "robots: robots-unreachable", "https://accepts.test/": "robots: robots-unreachable",
		},
		options: func(o *node.Options) { o.Retries = new(1) },
	}.run(t)
}
