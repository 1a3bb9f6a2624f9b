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

// ErrNoHost is wrapped by a Resolver's error if the host certainly has no address.
var ErrNoHost = errors.New("host has no address")

// Resolver looks names up. Lookup returns the addresses of a host, best first, and how long they may be used. An error
// that wraps ErrNoHost means that the host certainly has none; ttl is then how long that may be assumed. Lookup is
// called concurrently.
type Resolver interface {
	Lookup(ctx context.Context, host string) (addrs []netip.Addr, ttl time.Duration, err error)
}

// A look-up is remembered for at least minTTL and at most maxTTL of machine time, whatever the name server says.
// The minimum avoids a look-up for every page. A name that does not exist is remembered for at most maxNegativeTTL,
// a failed look-up for failureTTL.
const (
	minTTL         = time.Minute
	maxTTL         = 24 * time.Hour
	maxNegativeTTL = 10 * time.Minute
	failureTTL     = 30 * time.Second
)

// maxAddresses is how many addresses of a host are remembered; a name server may send thousands.
const maxAddresses = 16

// Resolution is the address of a host, or why there is none.
type Resolution struct {
	Address netip.AddrPort // guarded; valid only if Outcome is Answered
	// Others are guarded too. Fetch tries them in order if Address refuses the connection.
	Others  []netip.AddrPort
	Outcome Outcome       // Answered, DNSFailed, Refused, TimedOut or Canceled; 0 in the zero value
	Err     error         // nil when Answered
	Took    time.Duration // machine time
}

// Resolve returns where Fetch is to connect for a host (as URL.Host spells it) and port. The caller can wait for
// the gate of that address before it sends a request. Fetch then connects to these addresses alone, so a name that
// resolves differently the second time gains nothing. Look-ups are remembered for the time to live that the name
// server gives, failures for a shorter time. Addresses that Guard refuses are skipped. A host that has no other is
// Refused.
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
	var guarded []netip.AddrPort
	for _, addr := range addrs {
		fault := f.guard(addr)
		if fault != nil {
			err = fault
			continue
		}
		guarded = append(guarded, netip.AddrPortFrom(addr.Unmap(), port))
	}
	if len(guarded) == 0 {
		return Resolution{Outcome: Refused, Err: err}
	}
	return Resolution{Address: guarded[0], Others: guarded[1:], Outcome: Answered}
}

// lookupOutcome returns why a look-up failed: the caller canceled, time ran out, or the name has no address.
func lookupOutcome(ctx context.Context, err error) Outcome {
	switch {
	case ctx.Err() != nil:
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return DNSFailed
}

// guard calls Guard unless the options allow every address.
func (f *Fetcher) guard(addr netip.Addr) error {
	if f.opt.AllowPrivate {
		return nil
	}
	return Guard(addr)
}

// addresses returns the addresses of a host: at least one, or an error.
func (f *Fetcher) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{addr}, nil
	}
	return f.names.lookup(ctx, host)
}

// names remembers look-ups, including failed ones. It looks up a host once at a time.
type names struct {
	resolver Resolver
	clock    *clock.Clock
	max      int
	patience time.Duration // for one look-up, machine time

	mu     sync.Mutex               // guards the fields below
	byHost map[string]*list.Element // of *name
	recent list.List                // most recently used first
}

// name is one host's look-up. Its fields past ready are written before ready is closed.
type name struct {
	host  string
	ready chan struct{}

	addrs    []netip.Addr
	err      error
	deserted bool          // the caller that asked canceled before an answer
	at       time.Time     // clock time of the answer
	ttl      time.Duration // machine time
}

func newNames(resolver Resolver, c *clock.Clock, limit int, patience time.Duration) *names {
	return &names{resolver: resolver, clock: c, max: limit, patience: patience, byHost: map[string]*list.Element{}}
}

// lookup returns what is remembered, or looks the host up. If a look-up of the host is under way, it waits for that
// one. If the other caller's context ends first, it looks the host up itself.
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

// entry returns the valid entry of a host, or a new one. mine means that it is new and that the caller must fill it.
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

// ask fills an entry and wakes the callers that wait for it.
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

// demote moves an address that could not be connected to behind the host's other ones.
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
	rotated := *old // others may still read the old one
	rotated.addrs = append(append([]netip.Addr{}, old.addrs[1:]...), old.addrs[0])
	element.Value = &rotated
}
