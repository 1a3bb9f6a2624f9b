package sites

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"freshet/clock"
)

// Server serves one site on one loopback address.
type Server struct {
	site    Site
	address string
	server  *http.Server
	files   *os.Root
	served  sync.WaitGroup // the accepting goroutine and every connection
}

// Options configure a server. Clock and Log are required.
type Options struct {
	Clock   *clock.Clock
	Log     *Log
	Latency time.Duration // delay before each answer, by the clock; default 0

	// Forgetful omits ETag and Last-Modified, and never answers 304.
	Forgetful bool
}

// Serve serves a site on ip, which must be a loopback address, at a port that the system chooses, until Close. Give
// each site of a test an address of its own, such as 127.1.0.1 and 127.1.0.2: the loopback network has them all.
func Serve(site Site, ip string, opt Options) (*Server, error) {
	if parsed := net.ParseIP(ip); parsed == nil || !parsed.IsLoopback() {
		return nil, fmt.Errorf("sites: serve %s: address %q: want a loopback address", site.Name, ip)
	}
	files, err := os.OpenRoot(site.Root)
	if err != nil {
		return nil, fmt.Errorf("sites: serve %s: %w", site.Name, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		files.Close()
		return nil, fmt.Errorf("sites: serve %s: %w", site.Name, err)
	}
	s := &Server{site: site, address: listener.Addr().String(), files: files}
	s.server = &http.Server{
		Handler:     &handler{site: site, files: files, opt: opt},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, wireKey{}, c) },
		ConnState:   s.connState,
	}
	s.served.Go(func() { _ = s.server.Serve(&wireListener{listener, opt}) })
	return s, nil
}

// Site returns the site that is served.
func (s *Server) Site() Site { return s.site }

// Address returns the address of the server, such as "127.1.0.1:41234".
func (s *Server) Address() string { return s.address }

// Resolve returns the value for a crawler's --resolve: the site's host, "=" and the server's address.
func (s *Server) Resolve() string { return s.site.Host() + "=" + s.address }

// Close stops the server. It aborts open requests, and returns when nothing of the server runs any more.
func (s *Server) Close() error {
	err := s.server.Close()
	s.served.Wait()
	return errors.Join(err, s.files.Close())
}

// connState counts the connections. It ends the exchange of a connection whose answer has left, or which is closed.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.served.Add(1)
	case http.StateIdle:
		c.(*wire).finish()
	case http.StateClosed:
		c.(*wire).finish()
		s.served.Done()
	}
}

// wireListener accepts connections as wires.
type wireListener struct {
	net.Listener
	opt Options
}

func (l *wireListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, opt: l.opt}, nil
}

type wireKey struct{}

// wire is a connection that knows when the first byte of a request arrived and when the last byte of its answer left.
// It hides the connection's ReadFrom, so everything that is sent passes through Write.
type wire struct {
	net.Conn
	opt Options

	mu      sync.Mutex
	arrived time.Time // of the first byte since the last request was taken up; zero if none came
	sent    time.Time // just before the last piece of the answer was handed to the system
	current *Exchange // under way; nil between exchanges
	handled bool      // the handler is done with current: what follows is only flushing
}

// piece is the most that is given to the system at once. So the end of a long answer is recorded when its last piece
// leaves, not when its first does.
const piece = 16 << 10

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	now := w.opt.Clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.arrived.IsZero() {
		w.arrived = now
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && w.current != nil && !w.handled {
		w.opt.Log.finish(w.current, now, true) // the client has gone
		w.current = nil
	}
	return n, err
}

func (w *wire) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		w.mu.Lock()
		w.sent = w.opt.Clock.Now()
		w.mu.Unlock()
		n, err := w.Conn.Write(p[:min(len(p), piece)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// begin adds a request to the log. Its start is the time when its first byte was read.
func (w *wire) begin(host, target string) *Exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := w.arrived
	if start.IsZero() { // it came in one piece with the request before it
		start = w.opt.Clock.Now()
	}
	e := w.opt.Log.begin(host, target, start)
	w.arrived, w.sent, w.handled, w.current = time.Time{}, time.Time{}, false, e
	return e
}

// handlerDone says that the handler has written the whole answer. Only buffered bytes are still to be sent.
func (w *wire) handlerDone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handled = true
}

// finish ends the exchange under way, if there is one.
func (w *wire) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil {
		return
	}
	end := w.sent
	if end.IsZero() { // nothing was sent
		end = w.opt.Clock.Now()
	}
	w.opt.Log.finish(w.current, end, !w.handled)
	w.current = nil
}
