package adversary

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// inMemory connects a crawler to a web without sockets. The resolver and the dialler are its methods.
type inMemory struct {
	t   *testing.T
	web *Web

	mu    sync.Mutex
	asked map[*Host]int
}

// address returns where a host is.
func address(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{93, 184, byte(number >> 8), byte(number)})
}

// Lookup implements fetch.Resolver. It never believes anything for long.
func (n *inMemory) Lookup(_ context.Context, name string) ([]netip.Addr, time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, h := range n.web.Hosts {
		if h.Name != name && !strings.HasSuffix(name, "."+h.Name) {
			continue
		}
		addrs := []netip.Addr{address(i)}
		if h.looksUp != nil {
			n.asked[h]++
			addrs = h.looksUp(n.asked[h], addrs[0])
		}
		if len(addrs) > 0 {
			return addrs, time.Second, nil
		}
	}
	return nil, time.Second, errors.New("no such name")
}

// dial connects to a host. That anything else is dialled is a fault.
func (n *inMemory) dial(_ context.Context, _, target string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(target)
	if err != nil {
		n.t.Errorf("dialled %q: %v", target, err)
		return nil, err
	}
	for i, h := range n.web.Hosts {
		if address(i) != at.Addr() {
			continue
		}
		near, far := net.Pipe()
		server := &serverEnd{Conn: far, reset: new(atomic.Bool)}
		n.web.work.Go(func() { n.web.serve(server, h) })
		return &clientEnd{Conn: near, reset: server.reset}, nil
	}
	n.t.Errorf("dialled %s, where nobody may be asked", target)
	return nil, syscall.ECONNREFUSED
}

// serverEnd can end in a reset, as a TCP connection can.
type serverEnd struct {
	net.Conn
	reset *atomic.Bool
}

// SetLinger implements what a TCP connection has.
func (c *serverEnd) SetLinger(seconds int) error {
	c.reset.Store(seconds == 0)
	return nil
}

// clientEnd learns that the other end was reset.
type clientEnd struct {
	net.Conn
	reset *atomic.Bool
}

func (c *clientEnd) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.reset.Load() && errors.Is(err, io.EOF) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}
