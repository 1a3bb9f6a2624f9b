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

// network serves a web over connections in memory. Every host has an address of its own.
type network struct {
	addresses map[string]netip.Addr
	server    *http.Server
	conns     chan net.Conn
	closed    chan struct{}
	served    sync.WaitGroup
}

func newNetwork(w *sim.Web) *network {
	n := &network{addresses: map[string]netip.Addr{}, conns: make(chan net.Conn), closed: make(chan struct{})}
	for i, host := range w.Hosts() {
		n.addresses[host] = netip.AddrFrom4([4]byte{93, 184, byte(i / 250), byte(1 + i%250)})
	}
	n.server = &http.Server{Handler: w}
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

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make the network a listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(93, 184, 0, 1), Port: 80} }

// stop ends all connections and waits for the server.
func (n *network) stop() {
	_ = n.server.Close()
	n.served.Wait()
}
