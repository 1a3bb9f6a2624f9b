package fetch

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// connection is an open connection to a site, over TLS or not.
type connection struct {
	net.Conn
	tcp     net.Conn // under TLS, or the same
	site    weburl.Site
	address netip.AddrPort
	since   time.Time // clock time since which it has been idle
}

// asks says whether a request over the connection waits for its answer. Until then, closing the connection takes back
// what the server has not received, also if the process dies. Else the system would go on sending the request, and the
// server might get it long after it was given up, while another one is in flight.
func (c *connection) asks(asks bool) {
	tcp, ok := c.tcp.(interface{ SetLinger(seconds int) error })
	if !ok {
		return
	}
	linger := -1 // the system's default
	if asks {
		linger = 0
	}
	_ = tcp.SetLinger(linger) // it fails only on a closed connection
}

// idle holds the connections that wait for the next request of their site, one a site. Connections that have waited
// too long are closed at the next take or put; no goroutine does it.
type idle struct {
	clock   *clock.Clock
	max     int
	timeout time.Duration // machine time

	mu     sync.Mutex // guards the fields below
	bySite map[weburl.Site]*list.Element
	recent list.List // of *connection, the newest first
	closed bool
}

func newIdle(c *clock.Clock, limit int, timeout time.Duration) *idle {
	return &idle{clock: c, max: limit, timeout: timeout, bySite: map[weburl.Site]*list.Element{}}
}

// take returns the open connection to a site at an address, or nil. It closes a connection to another address, and
// one that the server has closed or sent bytes on.
func (p *idle) take(site weburl.Site, address netip.AddrPort) *connection {
	p.mu.Lock()
	p.expire()
	element, ok := p.bySite[site]
	if !ok {
		p.mu.Unlock()
		return nil
	}
	c := p.remove(element)
	p.mu.Unlock()
	if c.address != address || !alive(c.tcp, c.tcp != c.Conn) {
		c.Close()
		return nil
	}
	return c
}

// put keeps a connection for the next request of its site. It closes the one that it replaces and, if there are too
// many, the one that has waited longest.
func (p *idle) put(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return
	}
	if element, ok := p.bySite[c.site]; ok {
		p.remove(element).Close()
	}
	c.since = p.clock.Now()
	p.bySite[c.site] = p.recent.PushFront(c)
	p.expire()
	if p.recent.Len() > p.max {
		p.remove(p.recent.Back()).Close()
	}
}

// expire closes connections that have waited too long.
func (p *idle) expire() {
	for oldest := p.recent.Back(); oldest != nil; oldest = p.recent.Back() {
		if since(p.clock, oldest.Value.(*connection).since) < p.timeout {
			return
		}
		p.remove(oldest).Close()
	}
}

func (p *idle) remove(element *list.Element) *connection {
	c := p.recent.Remove(element).(*connection)
	delete(p.bySite, c.site)
	return c
}

// close closes all connections, and later ones as they are put.
func (p *idle) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for oldest := p.recent.Back(); oldest != nil; oldest = p.recent.Back() {
		p.remove(oldest).Close()
	}
}
