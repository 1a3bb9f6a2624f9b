package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/term"

	"freshet/clock"
	"freshet/crawl"
	"freshet/dashboard"
)

// front is what a running crawl shows of itself: the control socket and the --listen address.
type front struct {
	server *http.Server
	socket string // path of the control socket
	done   sync.WaitGroup
}

// serveStatus serves the status of a running engine on the control socket and at listen. If listen is
// taken and the operator did not ask for it (insist), that is a warning.
func serveStatus(engine *crawl.Engine, options crawl.Options, listen string, insist bool) (*front, error) {
	handler := dashboard.Handler(reader{store: engine.Store(), status: func() any { return engine.Status() }, explain: engine.Explain},
		engine.Collector(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := &front{
		server: &http.Server{Handler: withSnapshots(engine.Store(), onlyCrawl(options.Crawl, handler)), ReadHeaderTimeout: 10 * time.Second},
		socket: filepath.Join(options.Dir, socketName),
	}
	socket, err := listenSocket(f.socket)
	if err != nil {
		return nil, err
	}
	f.serve(socket)
	if listen == "" {
		return f, nil
	}
	listener, err := net.Listen("tcp", listen)
	switch {
	case err == nil:
		f.serve(listener)
	case insist:
		f.stop()
		return nil, fmt.Errorf("--listen: %w", err)
	default:
		options.Logger.Warn("no status page", "listen", listen, "error", err)
	}
	return f, nil
}

// validListen refuses an address that others can reach: that asks for a token and TLS, which this page
// does not have. An empty one is for none.
func validListen(listen string) error {
	if listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%q: want HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q: only loopback addresses may be listened on", listen)
	}
	return nil
}

func (f *front) serve(listener net.Listener) {
	f.done.Go(func() { _ = f.server.Serve(listener) }) // ends with http.ErrServerClosed
}

// stop closes the listeners, waits a moment for answers under way and removes the control socket, which
// is ours as long as the engine is open.
func (f *front) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if f.server.Shutdown(ctx) != nil {
		f.server.Close()
	}
	f.done.Wait()
	os.Remove(f.socket)
}

// progress prints a line on standard error: rewritten each second on a terminal, a new one every five
// seconds elsewhere.
type progress struct {
	end  chan struct{}
	done sync.WaitGroup
}

func startProgress(engine *crawl.Engine, c *clock.Clock, quiet bool) *progress {
	p := &progress{end: make(chan struct{})}
	if quiet {
		return p
	}
	if c == nil {
		c = clock.Real()
	}
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	every := 5 * time.Second
	if terminal {
		every = time.Second
	}
	p.done.Go(func() {
		timer := c.NewTimer(c.Span(every))
		defer timer.Stop()
		for {
			select {
			case <-p.end:
				if terminal {
					fmt.Fprintln(os.Stderr)
				}
				return
			case <-timer.C:
			}
			line := engine.Status().Line()
			if terminal {
				fmt.Fprintf(os.Stderr, "\r\x1b[K%s", fit(line))
			} else {
				fmt.Fprintln(os.Stderr, line)
			}
			c.Reset(timer, c.Span(every))
		}
	})
	return p
}

// fit cuts a line to the terminal's width, so that it can be rewritten.
func fit(line string) string {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width < 20 || len(line) < width {
		return line
	}
	return line[:width-1]
}

func (p *progress) stop() {
	close(p.end)
	p.done.Wait()
}
