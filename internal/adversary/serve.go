package adversary

import (
	"errors"
	"net"
	"net/netip"
)

// Sockets are the listeners of a web on loopback, one for each host, at an address of its own.
type Sockets struct {
	web       *Web
	listeners []net.Listener
}

// Listen serves the web on loopback, at the addresses from 127.77.0.1 on.
func (w *Web) Listen() (*Sockets, error) {
	s := &Sockets{web: w}
	for i, h := range w.Hosts {
		at := netip.AddrFrom4([4]byte{127, 77, byte((i + 1) >> 8), byte(i + 1)})
		listener, err := net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.listeners = append(s.listeners, listener)
		go s.accept(listener, h) // ends with its listener
	}
	return s, nil
}

func (s *Sockets) accept(listener net.Listener, h *Host) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go s.web.serve(conn, h) // ends with the connection
	}
}

// Address returns where the i-th host of the web is served.
func (s *Sockets) Address(i int) string { return s.listeners[i].Addr().String() }

// Close closes the listeners.
func (s *Sockets) Close() error {
	var err error
	for _, listener := range s.listeners {
		err = errors.Join(err, listener.Close())
	}
	return err
}
