package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"freshet/clock"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// No request ever goes to an address that the guard refuses, however the host is spelled.
func TestForbiddenAddressesNeverDialed(t *testing.T) {
	w := answer("HTTP/1.1 204 No\r\n\r\n", true)
	w.addrs = map[string][]netip.Addr{
		"private.example": {netip.MustParseAddr("10.0.0.1")},
		"mapped.example":  {netip.MustParseAddr("::ffff:127.0.0.1")},
		"mixed.example":   {netip.MustParseAddr("169.254.169.254"), public},
	}
	f := w.fetcher(t, func(o *Options) {
		o.Resolve = map[string]netip.AddrPort{"told.example": netip.MustParseAddrPort("127.0.0.1:8080")}
	})
	for _, raw := range []string{
		"http://private.example/", "http://mapped.example/", "http://told.example/", "http://127.0.0.1/",
		"http://2130706433/", "http://0x7f.1/", "http://[::1]/", "http://[::ffff:169.254.169.254]/",
		"http://169.254.169.254/latest/meta-data/", "https://192.168.0.1/", "http://0.0.0.0/",
	} {
		r := f.Fetch(t.Context(), Request{URL: page(t, raw)})
		if r.Outcome != Refused || r.Phase != PhaseDNS || !errors.Is(r.Err, ErrAddress) {
			t.Errorf("%s: %v in %v: %v", raw, r.Outcome, r.Phase, r.Err)
		}
	}
	// A resolution is asked about again.
	forged := Resolution{Address: netip.MustParseAddrPort("127.0.0.1:80"), Outcome: Answered}
	if r := f.Fetch(t.Context(), Request{URL: page(t, "http://private.example/"), Resolved: forged}); r.Outcome != Refused {
		t.Errorf("forged resolution: %v", r.Outcome)
	}
	if len(w.dialed) != 0 {
		t.Fatalf("dialed %v", w.dialed)
	}
	if r := f.Fetch(t.Context(), Request{URL: page(t, "http://mixed.example/")}); r.Outcome != Answered {
		t.Errorf("a host with one public address: %v: %v", r.Outcome, r.Err)
	}
	if diff := cmp.Diff([]string{"93.184.216.34:80"}, w.dialed); diff != "" {
		t.Errorf("dialed (-want +got)\n%s", diff)
	}
}

// A name that answers with a private address after Resolve gains nothing.
func TestRebinding(t *testing.T) {
	w := answer("HTTP/1.1 204 No\r\n\r\n", true)
	w.addrs = map[string][]netip.Addr{"example.com": {public}}
	f := w.fetcher(t, nil)
	res := f.Resolve(t.Context(), "example.com", 8080)
	w.addrs["example.com"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	f.names.byHost = nil
	f.Fetch(t.Context(), Request{URL: page(t, "http://example.com:8080/"), Resolved: res})
	if diff := cmp.Diff([]string{"93.184.216.34:8080"}, w.dialed); diff != "" {
		t.Errorf("dialed (-want +got)\n%s", diff)
	}
}

func TestResolveOverride(t *testing.T) {
	w := answer("HTTP/1.1 204 No\r\n\r\n", true)
	f := w.fetcher(t, func(o *Options) {
		o.Resolve = map[string]netip.AddrPort{"example.com": netip.MustParseAddrPort("127.0.0.9:8088")}
		o.AllowPrivate = true
	})
	for _, raw := range []string{"http://example.com/", "http://EXAMPLE.com:99/x"} {
		f.Fetch(t.Context(), Request{URL: page(t, raw)})
	}
	if diff := cmp.Diff([]string{"127.0.0.9:8088", "127.0.0.9:8088"}, w.dialed); diff != "" {
		t.Errorf("dialed (-want +got)\n%s", diff)
	}
}

// lookups is a Resolver that counts and answers by a function.
type lookups struct {
	mu    sync.Mutex
	hosts []string
	reply func(ctx context.Context, n int) ([]netip.Addr, time.Duration, error)
}

func (l *lookups) Lookup(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	l.mu.Lock()
	l.hosts = append(l.hosts, host)
	n := len(l.hosts)
	l.mu.Unlock()
	return l.reply(ctx, n)
}

func (l *lookups) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.hosts)
}

func TestLookupsRemembered(t *testing.T) {
	addrs := []netip.Addr{public}
	tests := []struct {
		name    string
		addrs   []netip.Addr
		ttl     time.Duration
		err     error
		outcome Outcome
		believe time.Duration
	}{
		{"for the time to live", addrs, time.Hour, nil, Answered, time.Hour},
		{"a minute at least", addrs, 0, nil, Answered, time.Minute},
		{"a day at most", addrs, 1000 * time.Hour, nil, Answered, 24 * time.Hour},
		{"no such host", nil, time.Hour, ErrNoHost, DNSFailed, 10 * time.Minute},
		{"no addresses", nil, time.Minute, nil, DNSFailed, time.Minute},
		{"failure", nil, time.Hour, errors.New("refused"), DNSFailed, 30 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lookups{reply: func(context.Context, int) ([]netip.Addr, time.Duration, error) {
					return test.addrs, test.ttl, test.err
				}}
				f := answer("", true).fetcher(t, func(o *Options) { o.Resolver = l })
				ask := func(wantLookups int) {
					t.Helper()
					if res := f.Resolve(t.Context(), "example.com", 80); res.Outcome != test.outcome || l.count() != wantLookups {
						t.Errorf("%v, %d look-ups, want %d: %v", res.Outcome, l.count(), wantLookups, res.Err)
					}
				}
				ask(1)
				clock.Real().Sleep(t.Context(), test.believe-1)
				ask(1)
				clock.Real().Sleep(t.Context(), 1)
				ask(2)
			})
		})
	}
}

// Many callers ask for one host at once and share one look-up. When the caller that looks up goes away, another takes
// over. A resolver that never answers costs ConnectTimeout.
func TestLookupsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lookups{reply: func(ctx context.Context, n int) ([]netip.Addr, time.Duration, error) {
			if n == 1 {
				<-ctx.Done()
				return nil, 0, ctx.Err()
			}
			clock.Real().Sleep(ctx, time.Second)
			return []netip.Addr{public}, time.Hour, ctx.Err()
		}}
		f := answer("", true).fetcher(t, func(o *Options) { o.Resolver = l })
		leader, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if res := f.Resolve(leader, "example.com", 80); res.Outcome != Canceled {
				t.Errorf("the first to ask: %v", res.Outcome)
			}
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				if res := f.Resolve(t.Context(), "example.com", 80); res.Outcome != Answered {
					t.Errorf("%v: %v", res.Outcome, res.Err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if l.count() != 2 {
			t.Errorf("%d look-ups, want 2", l.count())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &lookups{reply: func(ctx context.Context, _ int) ([]netip.Addr, time.Duration, error) {
			<-ctx.Done()
			return nil, 0, ctx.Err()
		}}
		f := answer("", true).fetcher(t, func(o *Options) { o.Resolver = l })
		if res := f.Resolve(t.Context(), "example.com", 80); res.Outcome != TimedOut || res.Took != 10*time.Second {
			t.Errorf("%v after %v: %v", res.Outcome, res.Took, res.Err)
		}
	})
}

func TestNamesBounded(t *testing.T) {
	l := &lookups{reply: func(context.Context, int) ([]netip.Addr, time.Duration, error) {
		return []netip.Addr{public}, time.Hour, nil
	}}
	f := answer("", true).fetcher(t, func(o *Options) { o.Resolver, o.MaxNames = l, 2 })
	for host := range strings.FieldsSeq("a b a c a b") { // c takes the place of b, b that of c
		f.Resolve(t.Context(), host, 80)
	}
	if diff := cmp.Diff(strings.Fields("a b c b"), l.hosts); diff != "" {
		t.Errorf("look-ups (-want +got)\n%s", diff)
	}
	if len(f.names.byHost) != 2 || f.names.recent.Len() != 2 {
		t.Errorf("%d names kept", len(f.names.byHost))
	}
}

// When nobody answers at an address, the fetcher tries the host's next one.
func TestAddressDemoted(t *testing.T) {
	second := netip.MustParseAddr("93.184.216.35")
	w := answer("HTTP/1.1 204 No\r\n\r\n", true)
	w.addrs = map[string][]netip.Addr{"example.com": {public, second}}
	f := w.fetcher(t, func(o *Options) {
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, public.String()) {
				return nil, errors.New("no route to host")
			}
			return w.dial(ctx, network, address)
		}
	})
	req := Request{URL: page(t, "http://example.com/")}
	if r := f.Fetch(t.Context(), req); r.Outcome != ConnectFailed || r.Phase != PhaseConnect {
		t.Errorf("%v in %v: %v", r.Outcome, r.Phase, r.Err)
	}
	if r := f.Fetch(t.Context(), req); r.Outcome != Answered || r.Address.Addr() != second {
		t.Errorf("%v at %v: %v", r.Outcome, r.Address, r.Err)
	}
}

// An address that refuses connections makes way for the host's next one in the same fetch. Where none can be reached,
// the first one is reported, so that a machine without IPv6 does not hide that nobody listens.
func TestAddressRefuses(t *testing.T) {
	second, third := netip.MustParseAddr("93.184.216.35"), netip.MustParseAddr("93.184.216.36")
	for name, test := range map[string]struct {
		faults map[netip.Addr]error
		want   Outcome
		at     netip.Addr
	}{
		"second": {map[netip.Addr]error{public: syscall.ECONNREFUSED}, Answered, second},
		"third":  {map[netip.Addr]error{public: syscall.ECONNREFUSED, second: syscall.ENETUNREACH}, Answered, third},
		"none": {map[netip.Addr]error{public: syscall.ECONNREFUSED, second: syscall.ENETUNREACH, third: syscall.EADDRNOTAVAIL},
			ConnectFailed, public},
		"late": {map[netip.Addr]error{public: syscall.ECONNREFUSED, second: context.DeadlineExceeded}, TimedOut, second},
		"lost": {map[netip.Addr]error{public: syscall.ENETUNREACH}, ConnectFailed, public},
	} {
		t.Run(name, func(t *testing.T) {
			w := answer("HTTP/1.1 204 No\r\n\r\n", true)
			w.addrs = map[string][]netip.Addr{"example.com": {public, second, third}}
			f := w.fetcher(t, func(o *Options) {
				o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if fault := test.faults[netip.MustParseAddrPort(address).Addr()]; fault != nil {
						return nil, fault
					}
					return w.dial(ctx, network, address)
				}
			})
			r := f.Fetch(t.Context(), Request{URL: page(t, "http://example.com/")})
			if r.Outcome != test.want || r.Address.Addr() != test.at {
				t.Errorf("%v at %v: %v", r.Outcome, r.Address, r.Err)
			}
		})
	}
}

func TestNameServers(t *testing.T) {
	records := func(lines ...string) []dns.RR {
		var out []dns.RR
		for _, line := range lines {
			rr, err := dns.NewRR(line)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rr)
		}
		return out
	}
	soa := records("example. 500 IN SOA ns.example. root.example. 1 2 3 4 70")
	var long []string
	for range 60 {
		long = append(long, "long.example. 300 IN A 93.184.216.34")
	}
	handler := dns.HandlerFunc(func(out dns.ResponseWriter, in *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(in)
		q := in.Question[0]
		switch {
		case q.Name == "four.example." && q.Qtype == dns.TypeA:
			reply.Answer = records("four.example. 600 IN CNAME c.example.", "c.example. 120 IN A 93.184.216.34", "c.example. 600 IN A 93.184.216.35")
		case q.Name == "six.example." && q.Qtype == dns.TypeAAAA:
			reply.Answer = records("six.example. 600 IN AAAA 2606:2800:220:1::1")
		case q.Name == "none.example.":
			reply.Rcode, reply.Ns = dns.RcodeNameError, soa
		case q.Name == "broken.example.":
			reply.Rcode = dns.RcodeServerFailure
		case q.Name == "long.example." && q.Qtype == dns.TypeA:
			reply.Answer = records(long...)
			if _, datagram := out.RemoteAddr().(*net.UDPAddr); datagram {
				reply.Truncate(dns.MinMsgSize)
			}
		default:
			reply.Ns = soa
		}
		out.WriteMsg(reply)
	})
	address := nameServer(t, handler)
	refusing := nameServer(t, dns.HandlerFunc(func(out dns.ResponseWriter, in *dns.Msg) {
		out.WriteMsg(new(dns.Msg).SetRcode(in, dns.RcodeRefused))
	}))
	resolver := &serverResolver{servers: []string{refusing, address}, attempts: 2, timeout: 5 * time.Second}
	tests := []struct {
		host   string
		addrs  string
		ttl    time.Duration
		noHost bool
		failed bool
	}{
		{"four.example", "93.184.216.34 93.184.216.35", 120 * time.Second, false, false},
		{"six.example", "2606:2800:220:1::1", 600 * time.Second, false, false},
		{"none.example", "", 70 * time.Second, true, true},
		{"empty.example", "", 70 * time.Second, true, true},
		{"broken.example", "", 0, false, true},
		{"localhost", "127.0.0.1 ::1", 5 * time.Minute, false, false},
		{"a.localhost", "127.0.0.1 ::1", 5 * time.Minute, false, false},
		{strings.Repeat("a", 64) + ".example", "", 10 * time.Minute, true, true},
	}
	for _, test := range tests {
		t.Run(test.host, func(t *testing.T) {
			addrs, ttl, err := resolver.Lookup(t.Context(), test.host)
			var got []string
			for _, addr := range addrs {
				got = append(got, addr.String())
			}
			if strings.Join(got, " ") != test.addrs || ttl != test.ttl || errors.Is(err, ErrNoHost) != test.noHost || (err != nil) != test.failed {
				t.Errorf("%v for %v: %v", got, ttl, err)
			}
		})
	}
	if addrs, _, err := resolver.Lookup(t.Context(), "long.example"); len(addrs) != 60 {
		t.Errorf("an answer past a datagram: %d addresses: %v", len(addrs), err)
	}
}

// nameServer serves DNS on loopback, over both transports, until the test ends.
func nameServer(t *testing.T, handler dns.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var running, started sync.WaitGroup
	servers := []*dns.Server{{Listener: listener, Handler: handler}, {PacketConn: packets, Handler: handler}}
	for _, server := range servers {
		started.Add(1)
		server.NotifyStartedFunc = started.Done
		running.Go(func() { server.ActivateAndServe() })
	}
	started.Wait()
	t.Cleanup(func() {
		for _, server := range servers {
			server.Shutdown()
		}
		running.Wait()
	})
	return listener.Addr().String()
}

func TestReadHosts(t *testing.T) {
	got := readHosts(strings.NewReader("# comment\n::1 localhost Six.example # end\n127.0.0.1\tlocalhost loop.example.\nnonsense here\n\n10.0.0.1\n"))
	loop, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	want := map[string][]netip.Addr{"localhost": {loop, six}, "six.example": {six}, "loop.example": {loop}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A name server sends thousands of addresses. The resolver remembers a few of them.
func TestManyAddresses(t *testing.T) {
	w := answer("HTTP/1.1 204 No\r\n\r\n", true)
	many := make([]netip.Addr, 4000)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)})
	}
	w.addrs = map[string][]netip.Addr{"example.com": many}
	f := w.fetcher(t, nil)
	if r := f.Resolve(t.Context(), "example.com", 80); r.Outcome != Answered {
		t.Error(r.Err)
	}
	entry, _ := f.names.entry("example.com")
	if cap(entry.addrs) > maxAddresses {
		t.Errorf("%d addresses are kept", cap(entry.addrs))
	}
}
