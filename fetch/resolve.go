package fetch

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/clock"
	"freshet/weburl"
)

// ErrNoHost is wrapped by a Resolver's error that says for sure that a host has no address.
var ErrNoHost = errors.New("host has no address")

// Resolver looks names up. Lookup returns the addresses of a host, best first, and how long they may
// be used; an error that wraps ErrNoHost says for sure that there are none (ttl then bounds how long
// that is believed). It is called concurrently.
type Resolver interface {
	Lookup(ctx context.Context, host string) (addrs []netip.Addr, ttl time.Duration, err error)
}

// How long a look-up is believed, in machine time, whatever the name server says: not less than
// minTTL, so that a site is not looked up again for every page, and not more than maxTTL. A name that
// does not exist is believed for at most maxNegativeTTL, a failure to find out for failureTTL.
const (
	minTTL         = time.Minute
	maxTTL         = 24 * time.Hour
	maxNegativeTTL = 10 * time.Minute
	failureTTL     = 30 * time.Second
)

// maxAddresses is how many addresses of a host are remembered; a name server may send thousands.
const maxAddresses = 16

// Resolution is where a host is to be reached, or why it cannot be.
type Resolution struct {
	Address netip.AddrPort // guarded; invalid unless Outcome is Answered
	Outcome Outcome        // Answered, DNSFailed, Refused, TimedOut or Canceled; 0 in the zero value
	Err     error          // nil when Answered
	Took    time.Duration  // machine time
}

// Resolve says where Fetch is to connect for a host (as URL.Host spells it) and port, so that the
// caller can ask leave of the address before a request goes there. Fetch then connects to exactly
// this address: a name that answers otherwise on its second look-up gains nothing. Look-ups are
// remembered for the time to live that the name server gives, failures for a shorter one. Addresses
// that Guard refuses are passed over; a host that has no other is Refused.
func (f *Fetcher) Resolve(ctx context.Context, host string, port uint16) Resolution {
	started := f.opt.Clock.Now()
	res := f.resolve(ctx, host, port)
	res.Took = since(f.opt.Clock, started)
	return res
}

func (f *Fetcher) resolve(ctx context.Context, host string, port uint16) Resolution {
	if address, ok := f.opt.Resolve[weburl.HostName(host)]; ok {
		if err := f.guard(address.Addr()); err != nil {
			return Resolution{Outcome: Refused, Err: err}
		}
		return Resolution{Address: address, Outcome: Answered}
	}
	addrs, err := f.addresses(ctx, host)
	if err != nil {
		return Resolution{Outcome: lookupOutcome(ctx, err), Err: err}
	}
	for _, addr := range addrs {
		if err = f.guard(addr); err == nil {
			return Resolution{Address: netip.AddrPortFrom(addr.Unmap(), port), Outcome: Answered}
		}
	}
	return Resolution{Outcome: Refused, Err: err}
}

// lookupOutcome tells what a failed look-up was: the caller's end, our patience or the name's fault.
func lookupOutcome(ctx context.Context, err error) Outcome {
	switch {
	case ctx.Err() != nil:
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return DNSFailed
}

// guard is Guard unless the options permit every address.
func (f *Fetcher) guard(addr netip.Addr) error {
	if f.opt.AllowPrivate {
		return nil
	}
	return Guard(addr)
}

// addresses returns the addresses of a host, which is never an empty list without an error.
func (f *Fetcher) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{addr}, nil
	}
	return f.names.lookup(ctx, host)
}

// names remembers look-ups, those that failed included, and asks for one host once at a time.
type names struct {
	resolver Resolver
	clock    *clock.Clock
	max      int
	patience time.Duration // for one look-up, machine time

	mu     sync.Mutex               // guards the fields below
	byHost map[string]*list.Element // of *name
	recent list.List                // most lately used first
}

// name is one host's look-up. Its fields past ready are written before ready is closed.
type name struct {
	host  string
	ready chan struct{}

	addrs    []netip.Addr
	err      error
	deserted bool          // the caller that asked went away first
	at       time.Time     // clock time of the answer
	ttl      time.Duration // machine time
}

func newNames(resolver Resolver, c *clock.Clock, limit int, patience time.Duration) *names {
	return &names{resolver: resolver, clock: c, max: limit, patience: patience, byHost: map[string]*list.Element{}}
}

// lookup returns what is remembered or asks. Callers for a host that is being asked about wait for
// the one that asks; if that one's context ends they ask themselves.
func (n *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	for {
		entry, mine := n.entry(host)
		if mine {
			n.ask(ctx, entry)
			return entry.addrs, entry.err
		}
		select {
		case <-entry.ready:
		case <-ctx.Done():
			return nil, fmt.Errorf("fetch: look up %s: %w", host, ctx.Err())
		}
		if !entry.deserted {
			return entry.addrs, entry.err
		}
	}
}

// entry returns the usable entry of a host, or a new one that the caller must fill (mine).
func (n *names) entry(host string) (entry *name, mine bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if element, ok := n.byHost[host]; ok {
		if entry = element.Value.(*name); !n.stale(entry) {
			n.recent.MoveToFront(element)
			return entry, false
		}
		n.recent.Remove(element)
	}
	entry = &name{host: host, ready: make(chan struct{})}
	n.byHost[host] = n.recent.PushFront(entry)
	if n.recent.Len() > n.max {
		oldest := n.recent.Back()
		delete(n.byHost, oldest.Value.(*name).host)
		n.recent.Remove(oldest)
	}
	return entry, true
}

// since returns the machine time that has passed since a clock's time.
func since(c *clock.Clock, t time.Time) time.Duration { return c.Machine(c.Now().Sub(t)) }

// stale reports whether an entry is answered and too old.
func (n *names) stale(entry *name) bool {
	select {
	case <-entry.ready:
		return since(n.clock, entry.at) >= entry.ttl
	default:
		return false
	}
}

// ask fills an entry and lets those who wait for it go on.
func (n *names) ask(ctx context.Context, entry *name) {
	defer close(entry.ready)
	patient, cancel := context.WithDeadline(ctx, n.clock.Deadline(n.patience))
	defer cancel()
	addrs, ttl, err := n.resolver.Lookup(patient, entry.host)
	if err == nil && len(addrs) == 0 {
		err = ErrNoHost
	}
	switch {
	case err == nil:
		ttl = min(max(ttl, minTTL), maxTTL)
	case ctx.Err() != nil:
		err, ttl, entry.deserted = ctx.Err(), 0, true
	case errors.Is(err, ErrNoHost):
		ttl = min(max(ttl, failureTTL), maxNegativeTTL)
	default:
		if patient.Err() != nil {
			err = context.DeadlineExceeded
		}
		ttl = failureTTL
	}
	if err != nil {
		addrs, err = nil, fmt.Errorf("fetch: look up %s: %w", entry.host, err)
	}
	if len(addrs) > maxAddresses {
		addrs = slices.Clone(addrs[:maxAddresses])
	}
	entry.addrs, entry.err, entry.at, entry.ttl = addrs, err, n.clock.Now(), ttl
}

// demote puts an address to which no connection could be made behind the host's other ones.
func (n *names) demote(host string, addr netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	element, ok := n.byHost[host]
	if !ok {
		return
	}
	old := element.Value.(*name)
	select {
	case <-old.ready:
	default:
		return
	}
	if len(old.addrs) < 2 || old.addrs[0].Unmap() != addr {
		return
	}
	rotated := *old // those who hold the old one go on reading it
	rotated.addrs = append(append([]netip.Addr{}, old.addrs[1:]...), old.addrs[0])
	element.Value = &rotated
}
