package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// secure returns a web whose servers speak TLS with the standard library's test certificate, and the pool that trusts
// it. The certificate is for example.com until 2084.
func secure(t *testing.T) (*web, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	config := &tls.Config{Certificates: server.TLS.Certificates}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	server.Close()
	plain := answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
	return &web{serve: func(dial int, conn net.Conn) { plain.serve(dial, tls.Server(conn, config)) }}, pool
}

func TestTLS(t *testing.T) {
	tests := []struct {
		name, url string
		change    func(*tls.Config)
		outcome   Outcome
	}{
		{"trusted", "https://example.com/", func(*tls.Config) {}, Answered},
		{"wrong name", "https://example.org/", func(*tls.Config) {}, TLSFailed},
		{"expired", "https://example.com/", func(c *tls.Config) {
			c.Time = func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }
		}, TLSFailed},
		{"unknown authority", "https://example.com/", func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }, TLSFailed},
		{"old version asked for", "https://example.com/", func(c *tls.Config) { c.MinVersion = tls.VersionTLS10 }, Answered},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, pool := secure(t)
			config := &tls.Config{RootCAs: pool}
			test.change(config)
			f := w.fetcher(t, func(o *Options) { o.TLSConfig = config })
			req := Request{URL: page(t, test.url), KeepAlive: true}
			r := f.Fetch(t.Context(), req)
			if r.Outcome != test.outcome || r.Outcome != Answered && r.Phase != PhaseTLS {
				t.Fatalf("%v in %v: %v", r.Outcome, r.Phase, r.Err)
			}
			if r.Outcome != Answered {
				return
			}
			if string(r.ResponseBytes) != "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" {
				t.Errorf("recorded %q", r.ResponseBytes)
			}
			if again := f.Fetch(t.Context(), req); !again.Reused || again.Outcome != Answered {
				t.Errorf("second request: reused %v, %v: %v", again.Reused, again.Outcome, again.Err)
			}
		})
	}
}

// A second connection to a site resumes the session of the first.
func TestTLSResumption(t *testing.T) {
	w, pool := secure(t)
	resumed := make(chan bool, 2)
	f := w.fetcher(t, func(o *Options) {
		o.TLSConfig = &tls.Config{RootCAs: pool, VerifyConnection: func(state tls.ConnectionState) error {
			resumed <- state.DidResume
			return nil
		}}
	})
	for _, want := range []bool{false, true} {
		r := f.Fetch(t.Context(), Request{URL: page(t, "https://example.com/")})
		if got := <-resumed; r.Outcome != Answered || got != want {
			t.Errorf("%v: resumed %v, want %v: %v", r.Outcome, got, want, r.Err)
		}
	}
}

// Some servers do not shake hands but do these things.
func TestTLSPeers(t *testing.T) {
	tests := []struct {
		name    string
		serve   func(net.Conn)
		outcome Outcome
	}{
		{"hangs up at once", func(conn net.Conn) {}, Disconnected},
		{"hangs up after the hello", func(conn net.Conn) { conn.Read(make([]byte, 4096)) }, Disconnected},
		{"speaks HTTP", func(conn net.Conn) {
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, TLSFailed},
		{"speaks only an old version", func(conn net.Conn) {
			tls.Server(conn, &tls.Config{MaxVersion: tls.VersionTLS11}).HandshakeContext(context.Background())
			io.Copy(io.Discard, conn)
		}, TLSFailed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := &web{serve: func(_ int, conn net.Conn) { test.serve(conn) }}
			r := w.fetcher(t, nil).Fetch(t.Context(), Request{URL: page(t, "https://example.com/")})
			if r.Outcome != test.outcome || r.Phase != PhaseTLS {
				t.Errorf("%v in %v: %v", r.Outcome, r.Phase, r.Err)
			}
		})
	}
}

// Resets and refusals of real sockets.
func TestSockets(t *testing.T) {
	tests := []struct {
		name  string
		speak string // before the reset; "-" resets before reading the request
		want  Outcome
		phase Phase
	}{
		{"reset before the answer", "", Disconnected, PhaseRequest},
		{"reset in the header", "HTTP/1.1 200 OK\r\n", Disconnected, PhaseHeader},
		{"reset in a body to be closed", "HTTP/1.1 200 OK\r\n\r\nhello", Cut, PhaseBody},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				http.ReadRequest(bufio.NewReader(conn))
				io.WriteString(conn, test.speak)
				// The client shows by its silence that it has read; then the connection is reset.
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}()
			f := answer("", true).fetcher(t, func(o *Options) { o.AllowPrivate, o.Dial = true, nil })
			u := page(t, "http://"+listener.Addr().String()+"/")
			r := f.Fetch(t.Context(), Request{URL: u})
			<-done
			listener.Close()
			// A reset may overtake earlier bytes.
			if r.Outcome != test.want && r.Outcome != Disconnected {
				t.Errorf("%v in %v: %v", r.Outcome, r.Phase, r.Err)
			}
			if r.Outcome == Cut && (r.Truncated != TruncatedDisconnect || r.Phase != test.phase) {
				t.Errorf("cut by %q in %v", r.Truncated, r.Phase)
			}
			if r = f.Fetch(t.Context(), Request{URL: u}); r.Outcome != ConnectFailed || r.Phase != PhaseConnect {
				t.Errorf("with nobody listening: %v in %v: %v", r.Outcome, r.Phase, r.Err)
			}
		})
	}
}

// A session that a server has made large is not kept.
func TestLargeSession(t *testing.T) {
	for _, test := range []struct {
		ticket int
		kept   bool
	}{{1 << 10, true}, {32 << 10, false}} {
		session, err := tls.NewResumptionState(make([]byte, test.ticket), &tls.SessionState{})
		if err != nil {
			t.Fatal(err)
		}
		cache := smallSessions{tls.NewLRUClientSessionCache(8)}
		cache.Put("a.test", session)
		if session, _ := cache.Get("a.test"); (session != nil) != test.kept {
			t.Errorf("a ticket of %d bytes: kept %v", test.ticket, session != nil)
		}
	}
}
