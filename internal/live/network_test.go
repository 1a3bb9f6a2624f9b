package live

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"freshet/sim"
)

// pipes is a listener whose connections lie in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make it a listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(93, 184, 0, 1), Port: 80} }

// network serves a web over connections in memory. Every host has an address of its own.
type network struct {
	*pipes
	addresses map[string]netip.Addr
	server    *http.Server
	served    sync.WaitGroup
}

func newNetwork(w *sim.Web) *network { return newNetworkOf(w, w.Hosts()...) }

// newNetworkOf has a handler answer for all hosts.
func newNetworkOf(handler http.Handler, hosts ...string) *network {
	n := &network{pipes: newPipes(), addresses: map[string]netip.Addr{}}
	for i, host := range hosts {
		n.addresses[host] = netip.AddrFrom4([4]byte{93, 184, byte(i / 250), byte(1 + i%250)})
	}
	n.server = &http.Server{Handler: handler}
	n.served.Go(func() { _ = n.server.Serve(n) })
	return n
}

// Lookup implements fetch's resolver.
func (n *network) Lookup(_ context.Context, host string) ([]netip.Addr, time.Duration, error) {
	if a, ok := n.addresses[host]; ok {
		return []netip.Addr{a}, time.Hour, nil
	}
	return nil, 0, errors.New("no such name")
}

// stop ends all connections and waits for the server.
func (n *network) stop() {
	_ = n.server.Close()
	n.served.Wait()
}
