package fetch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"freshet/clock"

	"pgregory.net/rapid"
)

// exchangeOf fetches from a server that sends wire in pieces of size bytes and closes.
func exchangeOf(t testing.TB, wire []byte, size int) *Result {
	w := &web{serve: func(_ int, conn net.Conn) {
		http.ReadRequest(bufio.NewReader(conn))
		for rest := wire; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := conn.Write(rest[:min(size, len(rest))]); err != nil {
				return
			}
		}
	}}
	f := w.fetcher(t, func(o *Options) { o.MaxBody, o.MaxHeader, o.MaxHeaderLines = 2000, 1000, 30 })
	r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/"), KeepAlive: true})
	f.Close()
	w.work.Wait()
	return r
}

// checkExchange holds the laws of every response, however broken.
func checkExchange(t testing.TB, wire []byte, r *Result) {
	t.Helper()
	if !bytes.HasPrefix(wire, r.ResponseBytes) {
		t.Errorf("recorded %q of %q", r.ResponseBytes, wire)
	}
	if len(r.ResponseBytes)-r.HeaderLen > 2000+1000+roomBytes || r.BodyLen > 2000 {
		t.Errorf("%d bytes of response, %d of body", len(r.ResponseBytes), r.BodyLen)
	}
	if r.Interim > r.HeaderLen && r.HeaderLen > 0 || r.HeaderLen > len(r.ResponseBytes) {
		t.Errorf("interim %d, header %d of %d bytes", r.Interim, r.HeaderLen, len(r.ResponseBytes))
	}
	if (r.Outcome == Answered) != (r.Err == nil) || (r.Outcome == Answered) != (r.Phase == PhaseDone) {
		t.Errorf("%v in %v: %v", r.Outcome, r.Phase, r.Err)
	}
	if (r.Phase == PhaseBody) != (r.Truncated != "") || (r.Status == 0) != (r.HeaderLen == 0) {
		t.Errorf("%v in %v, truncated %q, status %d, header of %d bytes", r.Outcome, r.Phase, r.Truncated, r.Status, r.HeaderLen)
	}
}

// Whatever a server sends, the exchange ends, within bounds, and in the same way however the bytes
// are cut into packets.
func FuzzExchange(f *testing.F) {
	for _, wire := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nA: b\r\n\r\nstray",
		"HTTP/1.0 301 Moved\nLocation: /x\n y\n\nbody",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
	} {
		f.Add([]byte(wire), uint16(3))
	}
	f.Fuzz(func(t *testing.T, wire []byte, size uint16) {
		whole := exchangeOf(t, wire, len(wire)+1)
		checkExchange(t, wire, whole)
		pieces := exchangeOf(t, wire, int(size%4096)+1)
		checkExchange(t, wire, pieces)
		if whole.Outcome != pieces.Outcome || whole.Status != pieces.Status || !bytes.Equal(whole.Body(), pieces.Body()) {
			t.Errorf("at once %v %d %q, in pieces %v %d %q", whole.Outcome, whole.Status, whole.Body(), pieces.Outcome, pieces.Status, pieces.Body())
		}
	})
}

// A body survives any chunking.
func TestChunksLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var wire, body strings.Builder
		wire.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, piece := range rapid.SliceOfN(rapid.StringMatching(`[a-f0-9\r\n]{1,40}`), 0, 20).Draw(rt, "pieces") {
			wire.WriteString("0" + hex(len(piece)) + "\r\n" + piece + "\r\n")
			body.WriteString(piece)
		}
		wire.WriteString("00\r\n\r\n")
		r := exchangeOf(t, []byte(wire.String()), rapid.IntRange(1, 100).Draw(rt, "packet"))
		if r.Outcome != Answered || string(r.Body()) != body.String() || string(r.ResponseBytes) != wire.String() {
			rt.Errorf("%v, body %q, want %q: %v", r.Outcome, r.Body(), body.String(), r.Err)
		}
	})
}

// BenchmarkExchange fetches a page of 20 KB over one kept connection on loopback. The server's share
// is in the time.
func BenchmarkExchange(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("x", 20_000)
	wires := map[string]string{
		"framing=length": "HTTP/1.1 200 OK\r\nServer: x\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\nETag: \"1\"\r\nContent-Length: 20000\r\n\r\n" + body,
		"framing=chunks": "HTTP/1.1 200 OK\r\nServer: x\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n4E20\r\n" + body + "\r\n0\r\n\r\n",
	}
	var server sync.WaitGroup
	server.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server.Go(func() {
				defer conn.Close()
				buf := make([]byte, 4096)
				for {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					framing, _, _ := strings.Cut(strings.TrimPrefix(string(buf[:n]), "GET /"), " ")
					io.WriteString(conn, wires[framing])
				}
			})
		}
	})
	for _, name := range []string{"framing=length", "framing=chunks"} {
		b.Run(name, func(b *testing.B) {
			f, err := New(Options{Clock: clock.Real(), UserAgent: "freshet", AllowPrivate: true})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			address := netip.MustParseAddrPort(listener.Addr().String())
			req := Request{URL: page(b, "http://"+address.String()+"/"+name), KeepAlive: true, Resolved: Resolution{Address: address, Outcome: Answered}}
			b.ReportAllocs()
			b.SetBytes(20_000)
			for b.Loop() {
				if r := f.Fetch(b.Context(), req); r.Outcome != Answered {
					b.Fatal(r.Err)
				}
			}
		})
	}
	listener.Close()
	server.Wait()
}

// A result keeps its bytes until it is dropped, whatever other fetches read. The next fetches use the room of a
// dropped result again.
func TestDrop(t *testing.T) {
	for _, size := range []int{100, 20_000, 40_000} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("size=%d/chunked=%t", size, chunked), func(t *testing.T) {
				bodyOf := func(dial int) string { return strings.Repeat(string(rune('a'+dial)), size) }
				w := &web{serve: func(dial int, conn net.Conn) {
					http.ReadRequest(bufio.NewReader(conn))
					if chunked {
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, bodyOf(dial))
					} else {
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, bodyOf(dial))
					}
				}}
				f := w.fetcher(t, nil)
				kept := map[int]*Result{}
				for dial := range 12 {
					r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
					if dial%3 == 0 {
						kept[dial] = r
						continue
					}
					if r.Drop(); r.RequestBytes != nil || r.ResponseBytes != nil || r.Body() != nil {
						t.Errorf("a dropped result has bytes")
					}
				}
				for dial, r := range kept {
					if string(r.Body()) != bodyOf(dial) || !bytes.Contains(r.ResponseBytes, r.Body()) {
						t.Errorf("fetch %d: body %.10q…, want %.10q…", dial, r.Body(), bodyOf(dial))
					}
				}
			})
		}
	}
}
