package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"freshet/weburl"
)

// exchange is one fetch in progress.
type exchange struct {
	f        *Fetcher
	ctx      context.Context
	req      *Request
	site     weburl.Site
	r        *Result
	kept     []byte    // the request as the result keeps it
	deadline time.Time // machine time at which the whole fetch times out
}

// run resolves, connects, sends the request and reads the response. It sets x.r as far as it gets.
func (x *exchange) run() {
	r := x.r
	resolved := x.req.Resolved
	if resolved.Outcome == 0 {
		resolved = x.f.Resolve(x.ctx, x.req.URL.Host(), x.req.URL.Port())
	}
	r.DNS, r.Address = resolved.Took, resolved.Address
	if resolved.Outcome != Answered {
		r.fail(resolved.Outcome, PhaseDNS, resolved.Err)
		return
	}
	if err := x.f.guard(r.Address.Addr()); err != nil {
		r.fail(Refused, PhaseDNS, err)
		return
	}
	if x.ctx.Err() != nil {
		r.fail(Canceled, PhaseConnect, x.ctx.Err())
		return
	}
	var request []byte
	request, x.kept = x.f.requestBytes(x.req)
	if conn := x.f.idle.take(x.site, r.Address); conn != nil {
		r.Reused = true
		if x.over(conn, request); x.req.Once || !r.Unheard() {
			return
		}
		*r = Result{URL: r.URL, Started: r.Started, DNS: r.DNS, Address: r.Address}
	}
	conn := x.connect()
	if conn == nil && errors.Is(r.Err, syscall.ECONNREFUSED) {
		conn = x.connectElsewhere(resolved.Others)
	}
	if conn != nil {
		x.over(conn, request)
	}
}

// connectElsewhere opens a connection to another address of a host after the first one has refused it. If no other one
// can be reached either, the failure stays that of the first.
func (x *exchange) connectElsewhere(others []netip.AddrPort) *connection {
	r, refused := x.r, *x.r
	for _, other := range others {
		if x.f.guard(other.Addr()) != nil {
			continue
		}
		*r = Result{URL: r.URL, Started: r.Started, DNS: r.DNS, Address: other}
		if conn := x.connect(); conn != nil || r.Outcome != ConnectFailed {
			return conn
		}
	}
	*r = refused
	return nil
}

// connect opens a connection to x.r.Address. After a failure it returns nil and sets the failure in x.r.
func (x *exchange) connect() *connection {
	r, began := x.r, x.f.opt.Clock.Now()
	tcp, err := x.dial()
	r.Connect = since(x.f.opt.Clock, began)
	if err != nil {
		outcome := x.ended(err)
		if outcome == Disconnected {
			outcome = ConnectFailed
		}
		if outcome != Canceled {
			x.f.names.demote(x.req.URL.Host(), r.Address.Addr())
		}
		r.fail(outcome, PhaseConnect, err)
		return nil
	}
	conn := &connection{Conn: tcp, tcp: tcp, site: x.site, address: r.Address}
	if x.site.Scheme() != "https" {
		return conn
	}
	began = x.f.opt.Clock.Now()
	conn.Conn, err = x.handshake(tcp)
	r.TLS = since(x.f.opt.Clock, began)
	if err != nil {
		tcp.Close()
		outcome := x.ended(err)
		if outcome == Disconnected && !hungUp(err) {
			outcome = TLSFailed
		}
		r.fail(outcome, PhaseTLS, err)
		return nil
	}
	return conn
}

// dial opens the TCP connection, to the guarded address and to no other.
func (x *exchange) dial() (net.Conn, error) {
	ctx, cancel := x.patience(x.f.opt.ConnectTimeout)
	defer cancel()
	return x.req.Route.dial(ctx, x.f.opt.Dial, x.r.Address.String())
}

// handshake puts TLS over a TCP connection.
func (x *exchange) handshake(tcp net.Conn) (net.Conn, error) {
	ctx, cancel := x.patience(x.f.opt.ConnectTimeout)
	defer cancel()
	config := x.f.tls.Clone()
	config.ServerName = strings.Trim(x.req.URL.Host(), "[]")
	conn := tls.Client(tcp, config)
	return conn, conn.HandshakeContext(ctx)
}

// patience returns x.ctx, ending after d or at x.deadline, whichever comes first.
func (x *exchange) patience(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(x.ctx, x.sooner(d))
}

// sooner returns the machine time d from now, or x.deadline if that comes first.
func (x *exchange) sooner(d time.Duration) time.Time {
	at := x.f.opt.Clock.Deadline(d)
	if at.After(x.deadline) {
		return x.deadline
	}
	return at
}

// ended returns what an error on a connection means: the caller canceled, time ran out, or the server hung up.
func (x *exchange) ended(err error) Outcome {
	fault, ok := errors.AsType[net.Error](err)
	switch {
	case x.ctx.Err() != nil:
		return Canceled
	case ok && fault.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return Disconnected
}

// hungUp reports whether the other side closed or reset the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// over sends the request over a connection and reads the response. It then keeps the connection or closes it.
func (x *exchange) over(conn *connection, request []byte) {
	stop := context.AfterFunc(x.ctx, func() { conn.Close() })
	first := x.f.rooms.Get().(*room)
	in := &reader{x: x, conn: conn, buf: first[:0]}
	ended := false
	defer func() {
		if !ended { // by a panic: release what it held
			in.hold.Release()
			conn.Close()
		}
	}()
	keep := x.talk(in, request)
	in.finish(first)
	ended = true
	if stop() && keep {
		x.r.Kept = true
		x.f.idle.put(conn)
		return
	}
	conn.Close()
}

// talk writes the request and reads the response. It reports whether the connection can be used again.
func (x *exchange) talk(in *reader, request []byte) (keep bool) {
	r, c := x.r, x.f.opt.Clock
	asked := c.Now()
	in.conn.SetDeadline(x.sooner(x.f.opt.FirstByteTimeout))
	if x.f.opt.MaySend != nil {
		if err := x.f.opt.MaySend(); err != nil {
			r.fail(Canceled, PhaseRequest, err)
			return false
		}
	}
	in.conn.asks(true)
	n, err := in.conn.Write(request)
	r.RequestBytes = x.kept[:min(n, len(x.kept))]
	if err == nil {
		_, err = x.pace(in.conn, x.f.opt.FirstByteTimeout, n, x.f.opt.Out, x.req.Out)
	}
	if err == nil {
		err = in.fill()
	}
	if err != nil {
		r.fail(x.ended(err), PhaseRequest, err)
		return false
	}
	r.FirstByte = since(c, asked)
	in.conn.SetDeadline(x.deadline)
	h, err := in.head()
	if err != nil {
		r.fail(x.headerOutcome(err), PhaseHeader, err)
		return false
	}
	r.Status, r.Header, r.HeaderLen, r.Interim = h.status, h.header, in.at, in.interim
	if wanted := x.req.Wanted; wanted != nil && h.status/100 == 2 && !wanted(h.header.Get("Content-Type")) {
		r.fail(Unwanted, PhaseBody, fmt.Errorf("%q", h.header.Get("Content-Type")))
		return false
	}
	f, err := h.framing()
	if err == nil {
		err = in.body(f)
	}
	if err != nil {
		x.cut(err)
		return false
	}
	in.conn.asks(false)
	r.Outcome, r.Phase, r.Stray = Answered, PhaseDone, in.at < len(in.buf)
	return x.req.KeepAlive && f.sole && h.persistent() && !r.Stray
}

// pace waits as the rate caps demand after n bytes were moved. The server is not charged for this wait: it extends
// the deadline of the whole fetch, and the time for the connection's next step starts after it. pace returns how
// long it waited, in machine time.
func (x *exchange) pace(conn *connection, next time.Duration, n int, caps ...*Pace) (waited time.Duration, err error) {
	for _, p := range caps {
		took, err := p.wait(x.ctx, x.f.opt.Clock, n)
		if err != nil {
			return waited, err
		}
		waited += took
	}
	if waited > 0 {
		x.deadline = x.deadline.Add(waited)
		conn.SetDeadline(x.sooner(next))
	}
	return waited, nil
}

// headerOutcome returns why a header could not be read.
func (x *exchange) headerOutcome(err error) Outcome {
	switch {
	case errors.Is(err, errTooLarge):
		return HeaderTooLarge
	case errors.Is(err, errTooSlow):
		return TimedOut
	case errors.Is(err, errMalformed):
		return Malformed
	}
	return x.ended(err)
}

// cut ends the fetch in the middle of the body.
func (x *exchange) cut(err error) {
	outcome, why := Cut, TruncatedDisconnect
	switch {
	case errors.Is(err, errMalformed):
		outcome, why = Malformed, TruncatedUnspecified
	case errors.Is(err, errTooLong):
		why = TruncatedLength
	case errors.Is(err, errTooSlow), x.ended(err) == TimedOut:
		why = TruncatedTime
	case x.ended(err) == Canceled:
		outcome, why = Canceled, TruncatedUnspecified
	}
	x.r.Truncated = why
	x.r.fail(outcome, PhaseBody, err)
}
