package fetch

import (
	"context"
	"net/netip"
	"time"
)

// Resolver looks names up. Lookup returns the addresses of a host, best first, and how long they may
// be used; an error that wraps ErrNoHost says for sure that there are none. It is called concurrently.
type Resolver interface {
	Lookup(ctx context.Context, host string) (addrs []netip.Addr, ttl time.Duration, err error)
}

// Resolution is where a host is to be reached, or why it cannot be.
type Resolution struct {
	Address netip.AddrPort // guarded; invalid unless Outcome is Answered
	Outcome Outcome        // Answered, DNSFailed, Refused, TimedOut or Canceled; 0 in the zero value
	Err     error          // nil when Answered
	Took    time.Duration  // machine time
}

// Resolve says where Fetch is to connect for a host (as URL.Host spells it) and port, so that the
// caller can ask leave of the address before a request goes there. Fetch then connects to exactly
// this address: a name that answers otherwise on its second look-up gains nothing.
func (f *Fetcher) Resolve(ctx context.Context, host string, port uint16) Resolution {
	return Resolution{}
}
