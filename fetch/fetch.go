package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"freshet/clock"
	"freshet/memory"
	"freshet/weburl"

	"golang.org/x/net/http/httpguts"
)

// Options configures a Fetcher. A zero field takes the default named beside it. Durations are machine
// time: a server does not run faster because a demo's clock does.
type Options struct {
	Clock     *clock.Clock // needed
	UserAgent string       // needed: product token, version and contact, as in "freshet/1.0 (+https://…)"
	Accept    string       // text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8

	ConnectTimeout   time.Duration // 10 s: for the look-up, the connection and the TLS handshake each
	FirstByteTimeout time.Duration // 20 s: from the request to the first byte of the answer
	TotalTimeout     time.Duration // 120 s: the whole fetch
	IdleTimeout      time.Duration // 30 s: how long a kept connection waits for its next request
	MaxIdle          int           // 256 kept connections; the one that waited longest is closed for a new one

	MaxBody        int64 // 16 MiB: bytes of a body on the wire; reading stops there
	MaxHeader      int   // 256 KiB: bytes of header, interim responses included; trailers as many again
	MaxHeaderLines int   // 1000
	// Memory is charged for what a response takes beyond its first 32 KiB, until Result.Drop. One response may need
	// MostHeld bytes. The default is 256 MiB, or what two responses need if that is more.
	Memory *memory.Account

	// Resolve maps a host, as Site.Name spells it, to an address and a port. Connections to any port of that host
	// go there. The address guard still applies.
	Resolve      map[string]netip.AddrPort
	AllowPrivate bool     // skip Guard
	Resolver     Resolver // SystemResolver's
	MaxNames     int      // 100,000 remembered look-ups
	MaxSessions  int      // 4096 TLS sessions that are kept for resumption, of at most 16 KiB each

	In, Out *Pace // rate caps on what all fetches together read and write; nil: none

	// MaySend is asked right before a request is sent. It is not sent after an error, and the fetch is Canceled: what
	// had the fetch begun may have ended while the process stood still. nil: all are sent.
	MaySend func() error
	// Dial opens a TCP connection to a literal address; net.Dialer's by default.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLSConfig is the base of every handshake's configuration: roots, ciphers. The Fetcher sets ServerName, a
	// minimum version of 1.2, the protocols and the session cache.
	TLSConfig *tls.Config
}

// Validate returns all faults of o, joined, or nil.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("fetch: options: "+format, args...))
	}
	if o.Clock == nil {
		fault("no clock")
	}
	if o.UserAgent == "" || !httpguts.ValidHeaderFieldValue(o.UserAgent) {
		fault("user agent %q: want a product token and a contact", o.UserAgent)
	}
	if !httpguts.ValidHeaderFieldValue(o.Accept) {
		fault("accept %q: not a header value", o.Accept)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"connect time-out", o.ConnectTimeout}, {"first-byte time-out", o.FirstByteTimeout},
		{"total time-out", o.TotalTimeout}, {"idle time-out", o.IdleTimeout},
	} {
		if d.value < 0 {
			fault("%s %v: want 0 or more", d.name, d.value)
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"max idle", int64(o.MaxIdle)}, {"max body", o.MaxBody}, {"max header", int64(o.MaxHeader)},
		{"max header lines", int64(o.MaxHeaderLines)}, {"max names", int64(o.MaxNames)}, {"max sessions", int64(o.MaxSessions)},
	} {
		if n.value < 0 {
			fault("%s %d: want 0 or more", n.name, n.value)
		}
	}
	if most := o.MostHeld(); o.Memory != nil && o.Memory.Most() < most {
		fault("a response may take %d bytes of the account, which gives one at most %d", most, o.Memory.Most())
	}
	return errors.Join(faults...)
}

// MostHeld returns how many bytes of memory one response may need: its bytes, its trailers and its parsed header.
func (o Options) MostHeld() int64 {
	o = o.withLimits()
	return o.MaxBody + 2*int64(o.MaxHeader) + headerFactor*int64(o.MaxHeader) + roomBytes
}

// headerFactor is how many bytes the parsed header takes for each byte of its text.
const headerFactor = 3

// Request is a request for one page.
type Request struct {
	URL weburl.URL
	// ETag and LastModified are those of the stored copy. If set, they make the request conditional. Values that a
	// header cannot carry are left out.
	ETag, LastModified string
	// KeepAlive asks the server to leave the connection open, and keeps it for the next request to the site. An
	// open connection is used either way.
	KeepAlive bool
	// Once sends the request only once, even if it ends Unheard. A server that had closed the connection never got
	// the request. But a server that read it and hung up would get two in a row.
	Once bool
	// Header is sent too. Its fields replace the Fetcher's fields of the same name. It cannot set Host, Connection
	// or the framing of a body. Invalid fields are left out. The values of Authorization, Proxy-Authorization and
	// Cookie are sent, and hidden in Result.RequestBytes.
	Header http.Header
	// Wanted reports whether the body of a 2xx response with this Content-Type is to be read. nil: every body is.
	Wanted func(contentType string) bool
	Route  Route // how to get there
	// In and Out are rate caps in addition to those of the Fetcher.
	In, Out *Pace
	// Resolved is where to connect, from Resolve. If it is zero, Fetch calls Resolve itself.
	Resolved Resolution
	MaxBody  int64 // Options.MaxBody if it is 0 or larger than that
}

// Fetcher fetches pages. It is safe for concurrent use.
type Fetcher struct {
	opt    Options
	names  *names
	idle   *idle
	memory *memory.Account // bytes of long responses
	tls    *tls.Config
	rooms  sync.Pool // of *room
}

// New returns a Fetcher, or the error of opt.Validate.
func New(opt Options) (*Fetcher, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	f := &Fetcher{
		opt:    opt,
		names:  newNames(opt.Resolver, opt.Clock, opt.MaxNames, opt.ConnectTimeout),
		idle:   newIdle(opt.Clock, opt.MaxIdle, opt.IdleTimeout),
		memory: opt.Memory,
		tls:    &tls.Config{},
	}
	if opt.TLSConfig != nil {
		f.tls = opt.TLSConfig.Clone()
	}
	f.tls.MinVersion = max(f.tls.MinVersion, tls.VersionTLS12)
	f.tls.NextProtos = []string{"http/1.1"}
	f.tls.ClientSessionCache = smallSessions{tls.NewLRUClientSessionCache(opt.MaxSessions)}
	f.rooms.New = func() any { return new(room) }
	return f, nil
}

// smallSessions keeps TLS sessions for resumption, but not large ones: servers choose the length of tickets and
// certificates.
type smallSessions struct{ tls.ClientSessionCache }

// maxSession bounds a session, in encoded bytes.
const maxSession = 16 << 10

// Put implements tls.ClientSessionCache.
func (s smallSessions) Put(key string, session *tls.ClientSessionState) {
	if session != nil && sessionBytes(session) > maxSession {
		session = nil
	}
	s.ClientSessionCache.Put(key, session)
}

// sessionBytes returns the encoded length of a session, or more than maxSession if it is unknown.
func sessionBytes(session *tls.ClientSessionState) int {
	ticket, state, err := session.ResumptionState()
	if err != nil || state == nil {
		return maxSession + 1
	}
	encoded, err := state.Bytes()
	if err != nil {
		return maxSession + 1
	}
	return len(ticket) + len(encoded)
}

// withDefaults returns o with defaults in place of zero fields.
func (o Options) withDefaults() Options {
	o.Accept = cmp.Or(o.Accept, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.FirstByteTimeout = cmp.Or(o.FirstByteTimeout, 20*time.Second)
	o.TotalTimeout = cmp.Or(o.TotalTimeout, 120*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	o.MaxIdle = cmp.Or(o.MaxIdle, 256)
	o = o.withLimits()
	if o.Memory == nil {
		most := o.MostHeld()
		share := max(256<<20, 2*most)
		o.Memory, _ = memory.New(share).Open("bodies", share, most)
	}
	o.MaxNames = cmp.Or(o.MaxNames, 100_000)
	o.MaxSessions = cmp.Or(o.MaxSessions, 4096)
	if o.Resolver == nil {
		o.Resolver = SystemResolver()
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	return o
}

// withLimits returns o with defaults in place of the zero limits of a response.
func (o Options) withLimits() Options {
	o.MaxBody = cmp.Or(o.MaxBody, 16<<20)
	o.MaxHeader = cmp.Or(o.MaxHeader, 256<<10)
	o.MaxHeaderLines = cmp.Or(o.MaxHeaderLines, 1000)
	return o
}

// Close closes the kept connections. Fetch must not be called afterwards. A Fetch that is still running closes its
// connection when it ends.
func (f *Fetcher) Close() error {
	f.idle.close()
	return nil
}

// Idle returns how many connections wait for their site's next request.
func (f *Fetcher) Idle() int {
	f.idle.mu.Lock()
	defer f.idle.mu.Unlock()
	return f.idle.recent.Len()
}

// Names returns how many look-ups are remembered.
func (f *Fetcher) Names() int {
	f.names.mu.Lock()
	defer f.names.mu.Unlock()
	return f.names.recent.Len()
}

// Fetch requests one page and returns the result, never nil. A failure is the result's Outcome. Fetch returns soon
// after ctx ends. If a reused connection is closed before any byte of an answer, the request is sent again over a
// new one, unless req.Once is set.
func (f *Fetcher) Fetch(ctx context.Context, req Request) *Result {
	r := &Result{URL: req.URL, Started: f.opt.Clock.Now()}
	x := exchange{f: f, ctx: ctx, req: &req, site: req.URL.Site(), r: r, deadline: f.opt.Clock.Deadline(f.opt.TotalTimeout)}
	x.run()
	r.Ended = f.opt.Clock.Now()
	r.Total = f.opt.Clock.Machine(r.Ended.Sub(r.Started))
	return r
}
