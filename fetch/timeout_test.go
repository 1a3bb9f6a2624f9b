package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"
	"freshet/memory"
)

// slow answers after a wait, a piece each pause, and closes when the client does.
func slow(wait, pause time.Duration, pieces ...string) *web {
	return &web{serve: func(_ int, conn net.Conn) {
		c := clock.Real()
		http.ReadRequest(bufio.NewReader(conn))
		c.Sleep(context.Background(), wait)
		for _, piece := range pieces {
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
			c.Sleep(context.Background(), pause)
		}
		io.Copy(io.Discard, conn)
	}}
}

func TestTimeouts(t *testing.T) {
	header := "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
	tests := []struct {
		name      string
		web       *web
		outcome   Outcome
		phase     Phase
		truncated Truncation
		total     time.Duration
		body      int
	}{
		{"no answer", slow(time.Hour, 0), TimedOut, PhaseRequest, "", 20 * time.Second, 0},
		{"answer just in time", slow(19*time.Second, 0, "HTTP/1.1 204 No\r\n\r\n"), Answered, PhaseDone, "", 19 * time.Second, 0},
		{"a header byte a second", slow(0, time.Second, strings.Split(header+strings.Repeat(" ", 200), "")...), Cut, PhaseBody, TruncatedTime, 2 * time.Minute, 77},
		{"a header without end", slow(0, time.Second, strings.Split("HTTP/1.1 200 OK\r\n"+strings.Repeat("x", 200), "")...), TimedOut, PhaseHeader, "", 2 * time.Minute, 0},
		{"a body byte a second", slow(0, time.Second, append([]string{header}, strings.Split(strings.Repeat("x", 300), "")...)...), Cut, PhaseBody, TruncatedTime, 2 * time.Minute, 119},
		{"a body that stops", slow(0, 0, header, "hello"), Cut, PhaseBody, TruncatedTime, 2 * time.Minute, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := test.web.fetcher(t, nil)
				r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/"), KeepAlive: true})
				if r.Outcome != test.outcome || r.Phase != test.phase || r.Truncated != test.truncated {
					t.Errorf("%v in %v, truncated %q: %v", r.Outcome, r.Phase, r.Truncated, r.Err)
				}
				if r.Total != test.total || r.Ended.Sub(r.Started) != test.total {
					t.Errorf("took %v, want %v", r.Total, test.total)
				}
				// One byte may arrive in the instant of the time-out.
				if n := r.BodyLen; n != test.body && n != test.body+1 {
					t.Errorf("%d bytes of body, want %d", n, test.body)
				}
			})
		})
	}
}

// TestGivenUp holds that closing takes back what the server has not received of a request that was given up. The server
// sees a reset then, and else the end of the stream.
func TestGivenUp(t *testing.T) {
	tests := []struct {
		name, answer string
		patience     time.Duration
		want         error
	}{
		{"time-out", "", 50 * time.Millisecond, syscall.ECONNRESET},
		{"answer cut off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234", 50 * time.Millisecond, syscall.ECONNRESET},
		{"answer", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234", time.Minute, io.EOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			saw := make(chan error, 1)
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					saw <- err
					return
				}
				defer conn.Close()
				http.ReadRequest(bufio.NewReader(conn))
				io.WriteString(conn, test.answer)
				_, err = conn.Read(make([]byte, 1))
				saw <- err
			}()
			f, err := New(Options{Clock: clock.Real(), UserAgent: "test/1.0 (+https://example.org/)", AllowPrivate: true, FirstByteTimeout: test.patience, TotalTimeout: 2 * test.patience})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.Fetch(t.Context(), Request{URL: page(t, "http://"+listener.Addr().String()+"/")})
			if err := <-saw; !errors.Is(err, test.want) {
				t.Errorf("the server saw %v, want %v", err, test.want)
			}
		})
	}
}

// Time-outs are the machine's, and so are a result's durations, at whatever rate the clock runs.
func TestTimeoutOfFastClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := slow(time.Hour, 0)
		machine := clock.Real()
		fast := clock.New(machine.Now(), 8640)
		f := w.fetcher(t, func(o *Options) { o.Clock = fast })
		r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
		if off := (r.Total - 20*time.Second).Abs(); off > time.Millisecond {
			t.Errorf("took %v of the machine's time, want 20 s", r.Total)
		}
		if off := (r.Ended.Sub(r.Started) - 20*8640*time.Second).Abs(); off > time.Minute {
			t.Errorf("took %v of the clock's time, want 48 h", r.Ended.Sub(r.Started))
		}
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := answer("", true)
		f := w.fetcher(t, func(o *Options) {
			o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
		if r.Outcome != TimedOut || r.Phase != PhaseConnect || r.Connect != 10*time.Second {
			t.Errorf("%v in %v after %v: %v", r.Outcome, r.Phase, r.Connect, r.Err)
		}
	})
}

// A server that takes the connection and never shakes hands.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{serve: func(_ int, conn net.Conn) { io.Copy(io.Discard, conn) }}
		r := w.fetcher(t, nil).Fetch(t.Context(), Request{URL: page(t, "https://example.com/")})
		if r.Outcome != TimedOut || r.Phase != PhaseTLS || r.TLS != 10*time.Second {
			t.Errorf("%v in %v after %v: %v", r.Outcome, r.Phase, r.TLS, r.Err)
		}
	})
}

func TestCanceled(t *testing.T) {
	tests := []struct {
		name  string
		web   *web
		phase Phase
	}{
		{"waiting", slow(time.Hour, 0), PhaseRequest},
		{"in the header", slow(0, time.Hour, "HTTP/1.1 200 OK\r\n"), PhaseHeader},
		{"in the body", slow(0, time.Hour, "HTTP/1.1 200 OK\r\n\r\nhello"), PhaseBody},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := test.web.fetcher(t, nil)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					clock.Real().Sleep(t.Context(), time.Second)
					cancel()
				}()
				r := f.Fetch(ctx, Request{URL: page(t, "http://example.com/"), KeepAlive: true})
				if r.Outcome != Canceled || r.Phase != test.phase || r.Total != time.Second || r.Kept {
					t.Errorf("%v in %v after %v: %v", r.Outcome, r.Phase, r.Total, r.Err)
				}
				if again := f.Fetch(ctx, Request{URL: page(t, "http://example.com/")}); again.Outcome != Canceled || len(test.web.dialed) != 1 {
					t.Errorf("with an ended context: %v, %d dials", again.Outcome, len(test.web.dialed))
				}
			})
		})
	}
}

// A kept connection is not used once it has waited IdleTimeout.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
		f := w.fetcher(t, nil)
		req := Request{URL: page(t, "http://example.com/"), KeepAlive: true}
		for i, wait := range []time.Duration{0, 29 * time.Second, 30 * time.Second} {
			clock.Real().Sleep(t.Context(), wait)
			if r := f.Fetch(t.Context(), req); r.Reused != (i == 1) {
				t.Errorf("after %v: reused %v", wait, r.Reused)
			}
		}
	})
}

// narrow gives a fetcher a memory account with room for two bodies of 600 KiB.
func narrow(t *testing.T) func(o *Options) {
	return func(o *Options) {
		o.MaxBody = 600 << 10
		var err error
		if o.Memory, err = memory.New(1<<30).Open("bodies", o.MostHeld()+700<<10, o.MostHeld()); err != nil {
			t.Fatal(err)
		}
	}
}

// A long body waits for memory that another body holds. Its own time stands still meanwhile. It goes on when the other
// result is dropped.
func TestMemoryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 600 << 10
		long := "HTTP/1.1 200 OK\r\nContent-Length: 614400\r\n\r\n" + strings.Repeat("x", size)
		f := answer(long, true).fetcher(t, narrow(t))
		req := Request{URL: page(t, "http://example.com/")}
		first, second := f.Fetch(t.Context(), req), f.Fetch(t.Context(), req)
		if first.Outcome != Answered || second.Outcome != Answered || second.BodyLen != size {
			t.Fatalf("%v, %v", first.Err, second.Err)
		}
		go func() {
			clock.Real().Sleep(t.Context(), time.Hour)
			first.Drop()
			first.Drop() // nothing more
		}()
		third := f.Fetch(t.Context(), req)
		if third.Outcome != Answered || third.Total != time.Hour {
			t.Errorf("%v after %v: %v", third.Outcome, third.Total, third.Err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), clock.Real().Deadline(time.Minute))
		defer cancel()
		if r := f.Fetch(ctx, req); r.Outcome != Canceled || r.BodyLen >= size {
			t.Errorf("without memory: %v with %d bytes", r.Outcome, r.BodyLen)
		} else {
			r.Drop()
		}
		second.Drop()
		third.Drop()
		if f.memory.Used() != 0 {
			t.Errorf("%d bytes are charged after every result was dropped", f.memory.Used())
		}
	})
}

// Servers that hold back the ends of long bodies are cut when others wait for the memory, and only then.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := "HTTP/1.1 200 OK\r\nContent-Length: 614400\r\n\r\n"
		body := strings.Repeat("x", 600<<10)
		f := slow(0, time.Minute, header+body[:400<<10], body[400<<10:]).fetcher(t, narrow(t))
		req := Request{URL: page(t, "http://example.com/")}
		alone := f.Fetch(t.Context(), req)
		if alone.Outcome != Answered {
			t.Errorf("alone: %v", alone.Err)
		}
		alone.Drop()
		var fetches sync.WaitGroup
		for range 20 {
			fetches.Go(func() {
				r := f.Fetch(t.Context(), req)
				if r.Outcome == Cut && r.Truncated != TruncatedTime {
					t.Errorf("%v, truncated %q: %v", r.Outcome, r.Truncated, r.Err)
				}
				r.Drop()
			})
		}
		began := clock.Real().Now()
		fetches.Wait()
		if took := clock.Real().Now().Sub(began); took > 5*time.Minute {
			t.Errorf("took %v for 20 that held back a minute", took)
		}
		if f.memory.Used() != 0 {
			t.Errorf("%d bytes are charged after every result was dropped", f.memory.Used())
		}
	})
}

// The fetcher charges the memory that a header takes, however many servers send one at once.
func TestLongHeaders(t *testing.T) {
	header := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("x: "+strings.Repeat("y", 250)+"\r\n", 900) + "\r\n"
	f := answer(header, true).fetcher(t, narrow(t))
	r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
	if r.Outcome != Answered || f.memory.Used() < int64(4*len(header)) {
		t.Errorf("%v: %d bytes are charged for a header of %d", r.Err, f.memory.Used(), len(header))
	}
	if r.Drop(); f.memory.Used() != 0 {
		t.Errorf("%d bytes are charged after the result was dropped", f.memory.Used())
	}
}

// Bodies of any framing outgrow their room undamaged. They give back the room that they do not need.
func TestLongBodies(t *testing.T) {
	const size = 700_001
	text := strings.Repeat("0123456789", size/10+1)[:size]
	var chunked strings.Builder
	for i := 0; i < size; i += 50_000 {
		piece := text[i:min(size, i+50_000)]
		chunked.WriteString(hex(len(piece)) + "\r\n" + piece + "\r\n")
	}
	chunked.WriteString("0\r\n\r\n")
	for name, wire := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 700001\r\n\r\n" + text,
		"closing": "HTTP/1.1 200 OK\r\n\r\n" + text,
		"chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked.String(),
	} {
		t.Run(name, func(t *testing.T) {
			f := answer(wire, true).fetcher(t, nil)
			r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
			if r.Outcome != Answered || string(r.Body()) != text || string(r.ResponseBytes) != wire {
				t.Errorf("%v, %d bytes of body, %d of response: %v", r.Outcome, r.BodyLen, len(r.ResponseBytes), r.Err)
			}
			if used := f.memory.Used(); used < size || used > int64(len(wire)) {
				t.Errorf("%d bytes are charged for a response of %d", used, len(wire))
			}
			if r.Drop(); f.memory.Used() != 0 {
				t.Errorf("%d bytes are charged after the result was dropped", f.memory.Used())
			}
		})
	}
}

func hex(n int) string {
	if n == 0 {
		return ""
	}
	return hex(n/16) + string("0123456789ABCDEF"[n%16])
}

// TestMaySend has a fetch lose its leave while it connects, or over an open connection: no request is sent.
func TestMaySend(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := &web{serve: func(_ int, conn net.Conn) {
				in := bufio.NewReader(conn)
				for {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					asked++
					io.WriteString(conn, "HTTP/1.1 204 No\r\n\r\n")
				}
			}}
			may := open
			f := w.fetcher(t, func(o *Options) {
				o.MaySend = func() error {
					if !may {
						return errors.New("the lease is lost")
					}
					return nil
				}
			})
			req := Request{URL: page(t, "http://example.com/"), KeepAlive: true}
			if open {
				f.Fetch(t.Context(), req)
			}
			may = false
			before := asked
			r := f.Fetch(t.Context(), req)
			synctest.Wait()
			if r.Outcome != Canceled || asked != before || f.Idle() != 0 {
				t.Errorf("open %v: %v, %d requests, %d connections wait", open, r.Outcome, asked-before, f.Idle())
			}
		})
	}
}
