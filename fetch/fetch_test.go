package fetch

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/clock"
	"freshet/weburl"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// public is an address that Guard lets pass; nothing ever connects to it.
var public = netip.MustParseAddr("93.184.216.34")

// web is a network without sockets: every dial is answered by serve over a pipe.
type web struct {
	serve func(dial int, conn net.Conn) // in a goroutine a connection; the connection is closed after it
	addrs map[string][]netip.Addr       // of hosts; public for all others if nil

	mu     sync.Mutex
	dialed []string
	work   sync.WaitGroup
}

func (w *web) dial(_ context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.dialed)
	w.dialed = append(w.dialed, address)
	client, server := net.Pipe()
	w.work.Go(func() {
		defer server.Close()
		w.serve(n, server)
	})
	return client, nil
}

// Lookup implements Resolver.
func (w *web) Lookup(_ context.Context, host string) ([]netip.Addr, time.Duration, error) {
	if w.addrs == nil {
		return []netip.Addr{public}, time.Hour, nil
	}
	return w.addrs[host], time.Hour, nil
}

// fetcher returns a Fetcher on w. The end of the test closes it.
func (w *web) fetcher(t testing.TB, change func(*Options)) *Fetcher {
	t.Helper()
	opt := Options{Clock: clock.Real(), UserAgent: "freshet/1.0 (+https://example.org/bot)", Dial: w.dial, Resolver: w}
	if change != nil {
		change(&opt)
	}
	f, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		w.work.Wait()
	})
	return f
}

// answer returns a web whose server reads a request and writes text, again and again until the client closes. With
// hangup the server closes after the first.
func answer(text string, hangup bool) *web {
	return &web{serve: func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			if _, err := io.WriteString(conn, text); err != nil || hangup {
				return
			}
		}
	}}
}

func page(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestResponses(t *testing.T) {
	long := strings.Repeat("x", 3000)
	type want struct {
		Outcome   Outcome
		Phase     Phase
		Status    int
		Body      string
		Truncated Truncation
		Interim   int
		Kept      bool
		Stray     bool
	}
	// Every server closes after its answer; MaxBody is 1000, MaxHeader 2000, MaxHeaderLines 20.
	tests := []struct {
		name, wire string
		want       want
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
			want{Answered, PhaseDone, 200, "hello", "", 0, true, false}},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			want{Answered, PhaseDone, 200, "", "", 0, true, false}},
		{"to close", "HTTP/1.1 200 OK\r\n\r\nhello",
			want{Answered, PhaseDone, 200, "hello", "", 0, false, false}},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;x=y\r\n, \r\n5  \r\nworld\r\n0\r\nTrailer: t\r\n\r\n",
			want{Answered, PhaseDone, 200, "hello, world", "", 0, true, false}},
		{"chunks with bare line feeds", "HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n5\nhello\n0\n\n",
			want{Answered, PhaseDone, 200, "hello", "", 0, true, false}},
		{"close asked by the server", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, false, false}},
		{"old version", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, false, false}},
		{"old version kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, true, false}},
		{"no reason", "HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno",
			want{Answered, PhaseDone, 404, "no", "", 0, true, false}},
		{"not modified has no body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
			want{Answered, PhaseDone, 304, "", "", 0, true, false}},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n",
			want{Answered, PhaseDone, 204, "", "", 0, true, false}},
		{"interim responses", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 65, true, false}},
		{"switching protocols", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
			want{Answered, PhaseDone, 101, "", "", 0, false, false}},
		{"bytes behind the end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
			want{Answered, PhaseDone, 200, "ok", "", 0, false, true}},
		{"folded line", "HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length:\r\n 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, true, false}},
		{"line without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n: none\r\nContent-Length: 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, true, false}},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nok",
			want{Answered, PhaseDone, 200, "ok", "", 0, true, false}},
		{"chunks and a length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
			want{Answered, PhaseDone, 200, "ok", "", 0, false, false}},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
			want{Malformed, PhaseBody, 200, "", TruncatedUnspecified, 0, false, false}},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
			want{Malformed, PhaseBody, 200, "", TruncatedUnspecified, 0, false, false}},
		{"length past 63 bits", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok",
			want{Malformed, PhaseBody, 200, "", TruncatedUnspecified, 0, false, false}},
		{"transfer coding unasked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
			want{Malformed, PhaseBody, 200, "", TruncatedUnspecified, 0, false, false}},
		{"length too long", "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + long,
			want{Cut, PhaseBody, 200, long[:1000], TruncatedLength, 0, false, false}},
		{"to close too long", "HTTP/1.1 200 OK\r\n\r\n" + long,
			want{Cut, PhaseBody, 200, long[:1000], TruncatedLength, 0, false, false}},
		{"chunk too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n" + long + "\r\n0\r\n\r\n",
			want{Cut, PhaseBody, 200, long[:995], TruncatedLength, 0, false, false}},
		{"chunk of the longest size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n" + long,
			want{Cut, PhaseBody, 200, long[:983], TruncatedLength, 0, false, false}},
		{"chunks without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("5\r\nhello\r\n", 300),
			want{Cut, PhaseBody, 200, strings.Repeat("hello", 100), TruncatedLength, 0, false, false}},
		{"chunk size of no digits", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nxyz\r\n",
			want{Malformed, PhaseBody, 200, "ok", TruncatedUnspecified, 0, false, false}},
		{"chunk size past 63 bits", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nffffffffffffffffff\r\n",
			want{Malformed, PhaseBody, 200, "ok", TruncatedUnspecified, 0, false, false}},
		{"chunk longer than its size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n",
			want{Malformed, PhaseBody, 200, "ok", TruncatedUnspecified, 0, false, false}},
		{"trailers without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + strings.Repeat("A: b\r\n", 1000),
			want{Malformed, PhaseBody, 200, "ok", TruncatedUnspecified, 0, false, false}},
		{"lost in the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
			want{Cut, PhaseBody, 200, "hello", TruncatedDisconnect, 0, false, false}},
		{"lost in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
			want{Cut, PhaseBody, 200, "hello", TruncatedDisconnect, 0, false, false}},
		{"lost before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
			want{Cut, PhaseBody, 200, "hello", TruncatedDisconnect, 0, false, false}},
		{"nothing", "", want{Disconnected, PhaseRequest, 0, "", "", 0, false, false}},
		{"lost in the header", "HTTP/1.1 200 OK\r\nContent-Le",
			want{Disconnected, PhaseHeader, 0, "", "", 0, false, false}},
		{"not HTTP", "SSH-2.0-OpenSSH_9\r\n", want{Malformed, PhaseHeader, 0, "", "", 0, false, false}},
		{"HTTP/2", "HTTP/2 200\r\n\r\n", want{Malformed, PhaseHeader, 0, "", "", 0, false, false}},
		{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", want{Malformed, PhaseHeader, 0, "", "", 0, false, false}},
		{"blank line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", want{Malformed, PhaseHeader, 0, "", "", 0, false, false}},
		{"long header", "HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n",
			want{HeaderTooLarge, PhaseHeader, 0, "", "", 0, false, false}},
		{"many lines", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20) + "\r\n",
			want{HeaderTooLarge, PhaseHeader, 0, "", "", 0, false, false}},
		{"interim responses without end", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50),
			want{HeaderTooLarge, PhaseHeader, 0, "", "", 0, false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := answer(test.wire, true).fetcher(t, func(o *Options) { o.MaxBody, o.MaxHeader, o.MaxHeaderLines = 1000, 2000, 20 })
			r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/"), KeepAlive: true})
			got := want{r.Outcome, r.Phase, r.Status, string(r.Body()), r.Truncated, r.Interim, r.Kept, r.Stray}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\nerror: %v", diff, r.Err)
			}
			if !strings.HasPrefix(test.wire, string(r.ResponseBytes)) {
				t.Errorf("recorded %q of %q", r.ResponseBytes, test.wire)
			}
			if whole := r.Outcome == Answered; whole != (r.Err == nil) || whole && !r.Stray && string(r.ResponseBytes) != test.wire {
				t.Errorf("outcome %v, error %v, recorded %q", r.Outcome, r.Err, r.ResponseBytes)
			}
		})
	}
}

func TestRequestBytes(t *testing.T) {
	tests := []struct {
		name, want string
		req        Request
	}{
		{"plain", "GET /a%20b?c=d HTTP/1.1\r\nHost: example.com:8080\r\nUser-Agent: freshet/1.0 (+https://example.org/bot)\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\nConnection: close\r\n\r\n",
			Request{URL: page(t, "http://example.com:8080/a b?c=d#e")}},
		{"conditional, kept, with fields of the caller's", "GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: freshet/1.0 (+https://example.org/bot)\r\nAccept-Encoding: gzip, br, zstd\r\nIf-None-Match: \"v1\"\r\nIf-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT\r\nAccept: */*\r\nX-A: 1\r\nX-A: 2\r\nX-B: 3\r\nConnection: keep-alive\r\n\r\n",
			Request{URL: page(t, "http://example.com/"), KeepAlive: true, ETag: `"v1"`, LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
				Header: http.Header{"X-B": {"3"}, "X-A": {"1", "2"}, "Accept": {"*/*"}, "Host": {"evil"}, "Content-Length": {"9"}}}},
		{"values that would break the request", "GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: freshet/1.0 (+https://example.org/bot)\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\nConnection: close\r\n\r\n",
			Request{URL: page(t, "http://example.com/"), ETag: "\"a\"\r\nX: y", LastModified: "a\nb", Header: http.Header{"X y": {"1"}, "Z": {"\r\n"}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := make(chan string, 1)
			w := &web{serve: func(_ int, conn net.Conn) {
				buf := make([]byte, 4096)
				n, _ := conn.Read(buf)
				got <- string(buf[:n])
				io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}}
			r := w.fetcher(t, nil).Fetch(t.Context(), test.req)
			wire := <-got
			if diff := cmp.Diff(test.want, wire); diff != "" {
				t.Errorf("request (-want +got)\n%s", diff)
			}
			if string(r.RequestBytes) != wire {
				t.Errorf("recorded %q, sent %q", r.RequestBytes, wire)
			}
		})
	}
}

func TestKeepAlive(t *testing.T) {
	w := answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
	f := w.fetcher(t, nil)
	u := page(t, "http://example.com/")
	var got []string
	for _, keep := range []bool{true, true, false, true} {
		r := f.Fetch(t.Context(), Request{URL: u, KeepAlive: keep})
		got = append(got, r.Outcome.String(), map[bool]string{true: "reused", false: "new"}[r.Reused], map[bool]string{true: "kept", false: "closed"}[r.Kept])
	}
	want := []string{"answered", "new", "kept", "answered", "reused", "kept", "answered", "reused", "closed", "answered", "new", "kept"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := len(w.dialed); n != 2 {
		t.Errorf("%d dials, want 2", n)
	}
}

// A server that closes a kept connection in silence is asked again over a new one; one that closes in
// the middle of its answer is not.
func TestReusedConnectionLost(t *testing.T) {
	tests := []struct {
		name, second string
		once         bool
		want         Outcome
		reused       bool
		dials        int
	}{
		{"before an answer", "", false, Answered, false, 2},
		{"before an answer, once", "", true, Disconnected, true, 1},
		{"in the answer", "HTTP/1.1 200", false, Disconnected, true, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := &web{}
			w.serve = func(dial int, conn net.Conn) {
				in := bufio.NewReader(conn)
				http.ReadRequest(in)
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				if dial == 0 {
					http.ReadRequest(in)
					io.WriteString(conn, test.second)
				}
			}
			f := w.fetcher(t, nil)
			req := Request{URL: page(t, "http://example.com/"), KeepAlive: true}
			f.Fetch(t.Context(), req)
			req.Once = test.once
			r := f.Fetch(t.Context(), req)
			if r.Outcome != test.want || r.Reused != test.reused || len(w.dialed) != test.dials {
				t.Errorf("%v (%v), reused %v, %d dials", r.Outcome, r.Err, r.Reused, len(w.dialed))
			}
			if r.Outcome == Answered && r.Err != nil {
				t.Errorf("answered with error %v", r.Err)
			}
		})
	}
}

func TestIdleConnections(t *testing.T) {
	w := answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
	f := w.fetcher(t, func(o *Options) { o.MaxIdle = 2 })
	hosts := []string{"a.example", "b.example", "c.example", "b.example", "a.example"}
	var reused []bool
	for _, host := range hosts {
		reused = append(reused, f.Fetch(t.Context(), Request{URL: page(t, "http://"+host+"/"), KeepAlive: true}).Reused)
	}
	// c took the place of a, the connection that had waited longest.
	if diff := cmp.Diff([]bool{false, false, false, true, false}, reused); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The fetcher does not reuse a connection to another address than the resolved one.
	elsewhere := Resolution{Address: netip.MustParseAddrPort("93.184.216.35:80"), Outcome: Answered}
	r := f.Fetch(t.Context(), Request{URL: page(t, "http://a.example/"), Resolved: elsewhere})
	if r.Reused || r.Address != elsewhere.Address {
		t.Errorf("reused %v, address %v", r.Reused, r.Address)
	}
}

// Over real sockets a connection that the server closed, or spoke on unasked, is noticed before use.
func TestDeadConnectionNoticed(t *testing.T) {
	for _, last := range []string{"", "HTTP/1.1 408 Request Timeout\r\n\r\n"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{}, 2)
		var server sync.WaitGroup
		server.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				http.ReadRequest(bufio.NewReader(conn))
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				io.WriteString(conn, last)
				conn.Close()
				closed <- struct{}{}
			}
		})
		f, err := New(Options{Clock: clock.Real(), UserAgent: "freshet", AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		req := Request{URL: page(t, "http://"+listener.Addr().String()+"/"), KeepAlive: true}
		for range 2 {
			r := f.Fetch(t.Context(), req)
			<-closed
			if r.Outcome != Answered || r.Status != 200 || r.Reused {
				t.Errorf("%v %d, reused %v: %v", r.Outcome, r.Status, r.Reused, r.Err)
			}
		}
		f.Close()
		listener.Close()
		server.Wait()
	}
}

func TestOptionsValidate(t *testing.T) {
	_, err := New(Options{UserAgent: "a\nb", MaxBody: -1, TotalTimeout: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no clock", "user agent", "max body -1", "total time-out -1ns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %q", err, want)
		}
	}
}
