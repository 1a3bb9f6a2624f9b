package hostile

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"freshet/clock"
)

// network is hosts, their names and addresses, and connections between them and the crawler, all in
// memory. It logs every request.
type network struct {
	t     *testing.T
	clock *clock.Clock

	mu      sync.Mutex
	lookups map[string]lookup
	servers map[netip.Addr]server
	log     []*request
	work    sync.WaitGroup // servers' ends of connections
}

// lookup answers the n-th question for a name.
type lookup func(n int) []netip.Addr

// server is one machine.
type server struct {
	tls    *tls.Config // nil: plain
	answer answer
	refuse error                // to connect, where not nil
	first  func(net.Conn) error // on the bare connection, where not nil; its error ends the connection
	reset  bool                 // connections end in a reset
}

// answer writes the answer to one request, as bytes, and reports whether the connection stays open.
type answer func(out io.Writer, r *http.Request) (keep bool)

// request is one that a server received.
type request struct {
	address    netip.Addr
	host, path string
	start, end time.Time // the end is the server's, or when the client closed, if that was sooner
	conn       *clientEnd
}

func newNetwork(t *testing.T, c *clock.Clock) *network {
	return &network{t: t, clock: c, lookups: map[string]lookup{}, servers: map[netip.Addr]server{}}
}

// public returns the i-th public address.
func public(i int) netip.Addr { return netip.AddrFrom4([4]byte{93, 184, 216, byte(i)}) }

// host puts a server of that name at a public address of its own.
func (n *network) host(name string, s server) {
	addr := public(len(n.servers) + 1)
	n.servers[addr] = s
	n.name(name, func(int) []netip.Addr { return []netip.Addr{addr} })
}

// name sets the answer for a name.
func (n *network) name(name string, l lookup) { n.lookups[name] = l }

// resolver answers from the network's names. The time to live is short, so that long crawls ask again.
type resolver struct {
	network *network
	mu      sync.Mutex
	asked   map[string]int
}

func (r *resolver) Lookup(_ context.Context, host string) ([]netip.Addr, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.network.lookups[host]
	if !ok {
		return nil, 0, errors.New("no such name")
	}
	r.asked[host]++
	return l(r.asked[host]), time.Second, nil
}

// dial connects to a server. That anything else is dialled than an address with a server is a fault.
func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		n.t.Errorf("dialled %q: %v", address, err)
		return nil, err
	}
	n.mu.Lock()
	s, ok := n.servers[target.Addr()]
	n.mu.Unlock()
	if !ok {
		n.t.Errorf("dialled %s, where nobody may be asked", address)
		return nil, syscall.ECONNREFUSED
	}
	if s.refuse != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: s.refuse}
	}
	near, far := net.Pipe()
	client := &clientEnd{Conn: near, clock: n.clock, reset: s.reset}
	n.work.Go(func() {
		defer far.Close()
		n.serve(target.Addr(), s, client, far)
	})
	return client, nil
}

// clientEnd is the crawler's end of a connection. It notes its close, and can end in a reset.
type clientEnd struct {
	net.Conn
	clock *clock.Clock
	reset bool

	mu     sync.Mutex
	closed time.Time
}

func (c *clientEnd) Read(p []byte) (int, error) {
	count, err := c.Conn.Read(p)
	if c.reset && errors.Is(err, io.EOF) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return count, err
}

func (c *clientEnd) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.IsZero() {
		c.closed = c.clock.Now()
	}
	return c.Conn.Close()
}

// closedAt returns when the crawler closed the connection, zero if it has not.
func (c *clientEnd) closedAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// serve is a server's side of a connection.
func (n *network) serve(at netip.Addr, s server, client *clientEnd, conn net.Conn) {
	if s.first != nil && s.first(conn) != nil {
		return
	}
	if s.tls != nil {
		secure := tls.Server(conn, s.tls)
		if secure.HandshakeContext(context.Background()) != nil {
			return
		}
		conn = secure
	}
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		entry := n.enter(at, r, client)
		keep := s.answer(conn, r)
		n.leave(entry)
		if !keep || r.Close {
			return
		}
	}
}

func (n *network) enter(at netip.Addr, r *http.Request, client *clientEnd) *request {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry := &request{address: at, host: r.Host, path: r.URL.RequestURI(), start: n.clock.Now(), conn: client}
	n.log = append(n.log, entry)
	return entry
}

func (n *network) leave(entry *request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry.end = n.clock.Now()
	if closed := entry.conn.closedAt(); !closed.IsZero() && closed.Before(entry.end) {
		entry.end = closed
	}
}

// requests returns the log, grouped by key, in order of time.
func (n *network) requests(key func(*request) string) map[string][]*request {
	n.mu.Lock()
	defer n.mu.Unlock()
	by := map[string][]*request{}
	for _, r := range n.log {
		by[key(r)] = append(by[key(r)], r)
	}
	return by
}

func byHost(r *request) string    { return r.host }
func byAddress(r *request) string { return r.address.String() }

// apart fails the test if a request came within the delay after the end of the one before.
func (n *network) apart(key func(*request) string, delay time.Duration) {
	for name, requests := range n.requests(key) {
		for i, r := range requests[1:] {
			before := requests[i]
			if gap := r.start.Sub(before.end); gap < delay {
				n.t.Errorf("%s: asked for %s %v after %s, want %v at least", name, r.path, gap, before.path, delay)
			}
		}
	}
}

// page returns an answer in full.
func page(contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
}

// html returns a page of HTML.
func html(body string) string { return page("text/html; charset=utf-8", "<!doctype html>"+body) }

// status returns an answer of a status, with further header lines.
func status(code int, lines ...string) string {
	text := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n", code, http.StatusText(code))
	for _, line := range lines {
		text += line + "\r\n"
	}
	return text + "\r\n"
}

// site answers each path with its text, robots.txt and all others with 404. A text that ends the
// connection is in hangups.
func site(pages map[string]string, hangups ...string) answer {
	return func(out io.Writer, r *http.Request) bool {
		text, ok := pages[r.URL.RequestURI()]
		if !ok {
			text = status(http.StatusNotFound)
		}
		_, err := io.WriteString(out, text)
		for _, path := range hangups {
			if path == r.URL.RequestURI() {
				return false
			}
		}
		return err == nil
	}
}

// each answers robots.txt with 404 and all else as f does.
func each(f answer) answer {
	return func(out io.Writer, r *http.Request) bool {
		if r.URL.Path == "/robots.txt" {
			_, err := io.WriteString(out, status(http.StatusNotFound))
			return err == nil
		}
		return f(out, r)
	}
}

// honestPages is how many pages an honest site has, its root among them.
const honestPages = 6

// honest is a site with a chain of pages, 1 to honestPages-1, from its root.
func honest(out io.Writer, r *http.Request) bool {
	var number int
	if r.URL.Path != "/" {
		if _, err := fmt.Sscanf(r.URL.Path, "/page/%d", &number); err != nil || number >= honestPages {
			_, err := io.WriteString(out, status(http.StatusNotFound))
			return err == nil
		}
	}
	link := ""
	if number+1 < honestPages {
		link = fmt.Sprintf(`<a href="/page/%d">next</a>`, number+1)
	}
	_, err := io.WriteString(out, html(fmt.Sprintf("<title>%s %d</title><p>Page %d of %s says what it has to say. %s", r.Host, number, number, r.Host, link)))
	return err == nil
}
