package fetch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"freshet/clock"
)

// tunnel is an HTTP proxy on loopback that knows CONNECT alone.
func tunnel(t *testing.T) (address string, asked func() []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var requests []string
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				request, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				mu.Lock()
				requests = append(requests, request.Method+" "+request.RequestURI+" "+request.Header.Get("Proxy-Authorization"))
				mu.Unlock()
				if request.Header.Get("Proxy-Authorization") == "" {
					fmt.Fprint(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
					return
				}
				target, err := net.Dial("tcp", request.RequestURI)
				if err != nil {
					return
				}
				defer target.Close()
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
				work.Go(func() { io.Copy(target, conn); target.Close() })
				io.Copy(conn, target)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); work.Wait() })
	return listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

func TestRoute(t *testing.T) {
	var from string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ = net.SplitHostPort(r.RemoteAddr)
		fmt.Fprint(w, "hello")
	}))
	t.Cleanup(server.Close)
	f, err := New(Options{Clock: clock.Real(), UserAgent: "test", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	get := func(route Route) *Result {
		return f.Fetch(t.Context(), Request{URL: page(t, server.URL+"/x"), Route: route})
	}

	if r := get(Route{Bind: netip.MustParseAddr("127.0.0.9")}); r.Outcome != Answered || from != "127.0.0.9" {
		t.Errorf("bound: %v from %s: want 127.0.0.9", r.Err, from)
	}
	address, asked := tunnel(t)
	proxy, err := ParseProxy("http://me:p%40ss@" + address)
	if err != nil {
		t.Fatal(err)
	}
	r := get(Route{Proxy: proxy})
	if r.Outcome != Answered || string(r.Body()) != "hello" || !bytes.HasPrefix(r.RequestBytes, []byte("GET /x HTTP/1.1\r\n")) {
		t.Errorf("by proxy: %v %q after %q", r.Err, r.Body(), r.RequestBytes)
	}
	target := strings.TrimPrefix(server.URL, "http://")
	if got := asked(); len(got) != 1 || got[0] != "CONNECT "+target+" Basic bWU6cEBzcw==" {
		t.Errorf("the proxy was asked %q", got)
	}
	proxy.User = nil
	if r := get(Route{Proxy: proxy}); r.Outcome != ConnectFailed || !strings.Contains(r.Err.Error(), "407") {
		t.Errorf("refused by the proxy: %v, %v", r.Outcome, r.Err)
	}
	for _, text := range []string{"", "a.test:80", "ftp://a.test:1", "http://a.test", "http://a.test:80/x"} {
		if _, err := ParseProxy(text); err == nil {
			t.Errorf("%q is a proxy", text)
		}
	}
}

// TestSecrets holds that the fetcher sends credentials and keeps them nowhere.
func TestSecrets(t *testing.T) {
	var sent http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header }))
	t.Cleanup(server.Close)
	f, err := New(Options{Clock: clock.Real(), UserAgent: "test", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	header := http.Header{"Authorization": {"Basic c2VjcmV0"}, "Cookie": {"secret=1"}, "X-Open": {"seen"}}
	r := f.Fetch(t.Context(), Request{URL: page(t, server.URL+"/"), Header: header})
	if r.Outcome != Answered || sent.Get("Authorization") != "Basic c2VjcmV0" || sent.Get("Cookie") != "secret=1" {
		t.Fatalf("%v: sent %v", r.Err, sent)
	}
	kept := string(r.RequestBytes)
	if strings.Contains(kept, "secret") || strings.Contains(kept, "c2VjcmV0") || !strings.Contains(kept, "Authorization: [hidden]\r\n") || !strings.Contains(kept, "X-Open: seen\r\n") {
		t.Errorf("kept:\n%s", kept)
	}
}

// TestWanted holds that a body of another type is not read.
func TestWanted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		fmt.Fprint(w, "body")
	}))
	t.Cleanup(server.Close)
	f, err := New(Options{Clock: clock.Real(), UserAgent: "test", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	wanted := func(contentType string) bool { return strings.HasPrefix(contentType, "text/") }
	for kind, want := range map[string]Outcome{"text/html": Answered, "video/mp4": Unwanted} {
		r := f.Fetch(t.Context(), Request{URL: page(t, server.URL+"/?type="+kind), Wanted: wanted})
		if r.Outcome != want || (r.BodyLen > 0) != (want == Answered) || r.Status != 200 {
			t.Errorf("%s: %v, status %d, body %q: want %v", kind, r.Outcome, r.Status, r.Body(), want)
		}
	}
}
