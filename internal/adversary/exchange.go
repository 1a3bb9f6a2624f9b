package adversary

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"freshet/clock"
)

// answer writes the answer to one request, and reports whether the connection stays open.
type answer func(x *exchange) (keep bool)

// exchange is one request and its answer.
type exchange struct {
	host   *Host
	path   string // with the query
	name   string // host name in the request
	nth    int    // request to the host, from 1
	random *rand.Rand
	ctx    context.Context // ends when the client leaves

	conn  net.Conn
	clock *clock.Clock
	log   *log
	entry *entry
}

// whole notes that the answer was complete with its last piece, whatever follows.
func (x *exchange) whole() { x.log.whole(x.entry) }

// Write sends bytes of the answer.
func (x *exchange) Write(p []byte) (int, error) {
	x.log.writing(x.entry)
	n, err := x.conn.Write(p)
	x.log.written(x.entry, n, err != nil)
	return n, err
}

// say sends a text, and reports whether the client accepted it.
func (x *exchange) say(text string) bool {
	_, err := io.WriteString(x, text)
	return err == nil
}

// wait sleeps, and reports whether the client is still there.
func (x *exchange) wait(d time.Duration) bool { return x.clock.Sleep(x.ctx, d) == nil }

// endless repeats a text until the client leaves.
func (x *exchange) endless(piece string) bool {
	if n := len(piece); n < 16<<10 {
		piece = strings.Repeat(piece, 16<<10/n)
	}
	for x.say(piece) {
	}
	return false
}

// drip sends a text at a byte a second. The answer ends with the last byte.
func (x *exchange) drip(text string) bool {
	for i := range len(text) {
		if i > 0 && !x.wait(time.Second) || !x.say(text[i:i+1]) {
			return false
		}
	}
	return true
}

// reset makes the end of the connection a reset.
func (x *exchange) reset() bool {
	reset(x.conn)
	return false
}

func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = c.SetLinger(0) // so that Close sends a reset
	}
}

// greeting is a connection before its first byte.
type greeting struct {
	net.Conn
	clock *clock.Clock
	done  bool // nothing more is done on it
}

func (g *greeting) wait(d time.Duration) bool { return g.clock.Sleep(context.Background(), d) == nil }

// page returns a whole answer.
func page(contentType, body string, lines ...string) string {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
	return head + crlf(lines) + "\r\n" + body
}

// html returns a page of HTML.
func html(body string, lines ...string) string {
	return page("text/html; charset=utf-8", "<!doctype html>"+body, lines...)
}

// status returns an answer without a body.
func status(code int, lines ...string) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n", code, http.StatusText(code))
	return head + crlf(lines) + "\r\n"
}

func crlf(lines []string) string {
	text := ""
	for _, line := range lines {
		text += line + "\r\n"
	}
	return text
}

// serve is a host's side of a connection.
func (w *Web) serve(conn net.Conn, h *Host) {
	defer conn.Close()
	if h.greets != nil {
		g := &greeting{Conn: conn, clock: w.clock}
		if h.greets(g); g.done {
			return
		}
	}
	if h.Kind.TLS {
		secure := tls.Server(conn, w.secure.config(h))
		if secure.HandshakeContext(context.Background()) != nil {
			return
		}
		conn = secure
	}
	w.exchange(conn, h)
}

// exchange answers the requests of a connection. Another goroutine reads ahead. So an early request is logged when
// it arrives, and so is the client's close.
func (w *Web) exchange(conn net.Conn, h *Host) {
	ctx, gone := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer conn.Close()
	defer gone()
	type asked struct {
		r     *http.Request
		entry *entry
	}
	requests := make(chan asked, 16)
	reading.Go(func() {
		defer close(requests)
		defer gone()
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				w.log.closed(conn)
				return
			}
			select {
			case requests <- asked{r, w.log.begin(h, conn, r)}:
			case <-ctx.Done():
				return
			}
		}
	})
	for a := range requests {
		x := &exchange{host: h, path: a.r.URL.RequestURI(), name: a.r.Host, nth: a.entry.nth, ctx: ctx,
			conn: conn, clock: w.clock, log: &w.log, entry: a.entry,
			random: rand.New(rand.NewPCG(h.seed, uint64(a.entry.nth)))}
		keep := h.answer(x)
		w.log.end(a.entry)
		if !keep || a.r.Close {
			return
		}
	}
}
