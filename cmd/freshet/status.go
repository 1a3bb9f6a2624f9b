package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"freshet/crawl/explain"
	"freshet/dashboard"
	"freshet/feed"
	"freshet/feed/broadcast"
	"freshet/feed/sink"
	"freshet/feed/webhook"
	"freshet/index"
	"freshet/node"
	"freshet/store/segments"
)

// front is the control socket and the --listen address of a running crawl.
type front struct {
	servers []*http.Server
	window  string         // URL of the window; empty: it is off
	socket  string         // path of the control socket; empty: none
	done    sync.WaitGroup // of the listeners and the recorder of the status
	forget  func()         // ends the recorder of the status; may be nil
	running sync.WaitGroup // of running requests
}

// listening holds the options for --listen.
type listening struct {
	address string // empty: not
	insist  bool   // the operator set the address
	access  dashboard.Access
	secret  string      // of hubs; empty: none
	tls     *tls.Config // nil: none
}

// listening reads the options for --listen. It returns an error for an address beyond loopback without a token, or
// without TLS or --plain-http.
func (s *crawlSettings) listening(insist bool) (l listening, err error) {
	l.address, l.insist = s.listen, insist
	if s.listen == "" {
		return l, nil
	}
	host, err := hostOf(s.listen)
	if err != nil {
		return l, fmt.Errorf("--listen: %w", err)
	}
	for _, secret := range []struct {
		setting, what, file string
		to                  *string
	}{
		{"token-file", "token", s.tokenFile, &l.access.Token},
		{"look-token-file", "token", s.lookTokenFile, &l.access.LookToken},
		{"websub-secret-file", "secret", s.hubSecret, &l.secret},
	} {
		if secret.file == "" {
			continue
		}
		if *secret.to, err = readSecret(secret.setting, secret.what, secret.file); err != nil {
			return l, err
		}
	}
	switch {
	case s.tlsCert == "" && s.tlsKey == "":
	case s.tlsKey == "":
		return l, errors.New("--tls-cert needs --tls-key: add it")
	case s.tlsCert == "":
		return l, errors.New("--tls-key needs --tls-cert: add it")
	default:
		pair, err := tls.LoadX509KeyPair(s.tlsCert, s.tlsKey)
		if err != nil {
			return l, fmt.Errorf("--tls-cert %q, --tls-key %q: %w", s.tlsCert, s.tlsKey, err)
		}
		l.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case l.access.LookToken != "" && l.access.Token == "":
		return l, errors.New("--look-token-file without --token-file lets everybody steer: add --token-file")
	case l.access.LookToken != "" && l.access.LookToken == l.access.Token:
		return l, errors.New("--look-token-file has the same token as --token-file: write a different token into it")
	case s.plainHTTP && l.tls != nil:
		return l, errors.New("--plain-http and --tls-cert exclude each other: use one of them")
	case !loopback && l.access.Token == "":
		return l, fmt.Errorf("--listen %q is beyond loopback: add --token-file, and either --tls-cert with --tls-key or --plain-http", s.listen)
	case !loopback && l.tls == nil && !s.plainHTTP:
		return l, fmt.Errorf("--listen %q is beyond loopback: add --tls-cert and --tls-key, or --plain-http if it is behind a proxy or in a container", s.listen)
	}
	return l, nil
}

// readSecret reads a token or secret from the file that a setting names.
func readSecret(setting, what, file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("--%s: there is no file %q: openssl rand -hex 32 > %[2]s makes one", setting, file)
	}
	if err != nil {
		return "", fmt.Errorf("--%s: %w", setting, err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < 16 {
		return "", fmt.Errorf("--%s %s: want a %s of at least 16 characters, such as openssl rand -hex 32 prints", setting, file, what)
	}
	return secret, nil
}

// apiOptions returns the options of the API over a running crawl or a directory.
func apiOptions(r reader, s dashboard.Steerer) dashboard.Options {
	return dashboard.Options{Reader: r, Steerer: s, Version: version(), Statuses: []any{status{}}, Explanations: []any{explain.Explanation{}}, ExplainSettings: explainable()}
}

// serveStatus serves the API of a running engine on the control socket, which only its owner may open, and at
// --listen. now tells its status. If the default address is taken, it only logs a warning.
func serveStatus(steering steerer, now func() node.Status, options node.Options, open listening, news *publisher, nodes func() dashboard.Nodes) (*front, error) {
	engine := steering.engine
	r := newReader(engine.Store())
	r.status, r.refresh, r.waits, r.clock = now, engine.Refreshing, engine.Waits, options.Clock
	r.explain = engine.ExplainWithin
	served := apiOptions(r, steering)
	served.Collectors = []prometheus.Collector{engine.Collector(), broadcast.Collector(news.totals), webhook.Collector(news.told.Load), sink.Collector(news.handed), index.Collector(news.pages.Load), segments.Collector(options.Segments), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	served.Corpus, served.Queries = news.corpus(engine.Store()), news.noted()
	served.HubSecret, served.Ready, served.Nodes = open.secret, engine.Ready, nodes
	served.Changes, served.ChangeLine = news.changes(engine.Store()), feed.Change{}
	served.Subscribers = news.subscribers
	served.Trend, served.Feed = dashboard.NewTrend(), func() (any, bool) { return news.totals() }
	handler := news.serve(engine.Store(), dashboard.Handler(served))
	f := &front{socket: filepath.Join(options.Dir, socketName)}
	handler = onlyCrawl(options.Crawl, "running in the directory", handler)
	socket, err := listenSocket(f.socket)
	if err != nil {
		return nil, err
	}
	f.serve(socket, withSnapshots(engine.Store(), handler))
	if open.address == "" {
		return f, nil
	}
	var watching context.Context
	watching, f.forget = context.WithCancel(context.Background())
	f.done.Go(func() { served.Trend.Run(watching, served.Reader) })
	listener, err := net.Listen("tcp", open.address)
	switch {
	case err == nil:
		f.window = "http://" + openAt(listener.Addr()) + "/"
		if open.tls != nil {
			f.window = "https://" + openAt(listener.Addr()) + "/"
			listener = tls.NewListener(listener, open.tls)
		}
		f.serve(listener, open.access.Guard(handler))
	case open.insist:
		f.stop()
		return nil, listenError(open.address, err)
	default:
		cause, remedy := listenTrouble(err)
		options.Logger.Warn("no window", "listen", open.address, "cause", cause, "remedy", remedy)
	}
	return f, nil
}

// untaken returns the address to listen on, or one with another port if a program listens there already.
func untaken(address string) string {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return address // whoever listens says why it cannot
	}
	defer listener.Close()
	return listener.Addr().String()
}

// openAt returns the address to open in a browser on this machine. For a listener on all addresses it returns a
// loopback address.
func openAt(listens net.Addr) string {
	at, err := netip.ParseAddrPort(listens.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return listens.String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
}

// validListen checks the form of an address. An empty one is valid.
func validListen(listen string) error {
	if listen == "" {
		return nil
	}
	_, err := hostOf(listen)
	return err
}

// hostOf returns the host of an address to listen on.
func hostOf(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", fmt.Errorf("%q: want HOST:PORT with a port between 0 and 65535, such as %s", listen, defaultListen)
	}
	return host, nil
}

// listenError makes an error of listening readable.
func listenError(listen string, err error) error {
	cause, remedy := listenTrouble(err)
	return fmt.Errorf("--listen %s: %s: %s", listen, cause, remedy)
}

// listenTrouble says why listening failed, and what helps.
func listenTrouble(err error) (cause, remedy string) {
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there", "stop it, or choose another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have that address", "use one of its own, or 127.0.0.1"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not use that port", "choose one above 1023"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %q has no address", name.Name), "check its spelling, or use 127.0.0.1"
	}
	return err.Error(), "choose another address, such as " + defaultListen
}

// serve serves a listener. It drops clients that send a request slowly or keep an idle connection.
func (f *front) serve(listener net.Listener, handler http.Handler) {
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.running.Add(1)
		defer f.running.Done()
		handler.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: counted, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	f.servers = append(f.servers, server)
	f.done.Go(func() { _ = server.Serve(listener) }) // ends with http.ErrServerClosed
}

// stop closes the listeners, waits a moment for running requests, and removes the control socket. Call it while the
// engine is open: then the socket is still ours.
func (f *front) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, server := range f.servers {
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
	}
	if f.forget != nil {
		f.forget()
	}
	f.done.Wait()
	f.running.Wait()
	if f.socket != "" {
		os.Remove(f.socket)
	}
}
