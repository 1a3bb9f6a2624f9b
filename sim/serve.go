package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// ServeHTTP answers a request for the host that it names, after the latency of that host's site. A host that the web
// does not have gets 421. If the request's context ends first, ServeHTTP aborts the answer with http.ErrAbortHandler.
// It makes a Web an http.Handler, for tests without a network.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	s := w.byHost[host]
	if s == nil {
		http.Error(rw, "no such host here", http.StatusMisdirectedRequest)
		return
	}
	if w.config.OnRequest != nil {
		start := w.config.Clock.Now()
		defer func() { w.config.OnRequest(host, start, w.config.Clock.Now()) }()
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(rw, "GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	if w.config.Clock.Sleep(r.Context(), s.latency) != nil {
		panic(http.ErrAbortHandler)
	}
	now := w.config.Clock.Now()
	path := r.URL.Path
	if r.URL.RawQuery != "" {
		path = deadPrefix // no page has a query
	}
	a := s.answer(path, now.Sub(w.config.Start))
	s.validate(&a, now)
	s.write(rw, r, &a, now)
}

// Server is a Web on the network.
type Server struct {
	addresses map[string]netip.AddrPort
	stop      context.CancelFunc
	loops     sync.WaitGroup // accepting connections, watching the context
	handlers  sync.WaitGroup // requests being answered

	mu      sync.Mutex
	stopped bool // no more requests are answered
}

// Serve listens for each host on a loopback address of its own, at a free port, until ctx ends or Close is called. On a
// machine whose only loopback address is 127.0.0.1, the hosts differ by port alone.
func (w *Web) Serve(ctx context.Context) (*Server, error) {
	srv := &Server{addresses: map[string]netip.AddrPort{}}
	var listeners []net.Listener
	for i, s := range w.sites {
		l, err := listen(i)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, fmt.Errorf("sim: listen for %s: %w", s.host, err)
		}
		listeners = append(listeners, l)
		srv.addresses[s.host] = l.Addr().(*net.TCPAddr).AddrPort()
	}
	ctx, srv.stop = context.WithCancel(ctx)
	server := &http.Server{
		Handler:           srv.counted(w),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	for _, l := range listeners {
		srv.loops.Go(func() { _ = server.Serve(l) }) // ends with http.ErrServerClosed
	}
	srv.loops.Go(func() {
		<-ctx.Done()
		srv.mu.Lock()
		srv.stopped = true
		srv.mu.Unlock()
		_ = server.Close() // errors of listeners and connections that are no longer used
	})
	return srv, nil
}

// counted returns a handler whose requests Close can wait for.
func (srv *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		srv.mu.Lock()
		if srv.stopped {
			srv.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		srv.handlers.Add(1)
		srv.mu.Unlock()
		defer srv.handlers.Done()
		h.ServeHTTP(rw, r)
	})
}

// listen listens on the i-th address of a loopback network of our own, or else on 127.0.0.1.
func listen(i int) (net.Listener, error) {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.83.%d.%d:0", i/250, 1+i%250))
	if err != nil {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	return l, err
}

// Resolve returns the address and port of each host.
func (srv *Server) Resolve() map[string]netip.AddrPort { return srv.addresses }

// Close stops listening, aborts the answers under way, and returns when no request is being answered. It is safe to
// call more than once.
func (srv *Server) Close() {
	srv.stop()
	srv.loops.Wait()
	srv.handlers.Wait()
}
