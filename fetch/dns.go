package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// unknownTTL is how long an answer without a time to live is used: one from the machine's own resolver or its hosts
// file.
const unknownTTL = 5 * time.Minute

// SystemResolver returns a Resolver that looks in the machine's hosts file (/etc/hosts) and then asks its name
// servers (/etc/resolv.conf). If there are no name servers, it asks the standard library. Names are absolute:
// search domains are not tried. Both files are read once, now.
func SystemResolver() Resolver {
	config, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil || len(config.Servers) == 0 {
		return libraryResolver{}
	}
	servers := make([]string, len(config.Servers))
	for i, server := range config.Servers {
		servers[i] = net.JoinHostPort(server, config.Port)
	}
	r := &serverResolver{servers: servers, attempts: max(1, config.Attempts), timeout: time.Duration(max(1, config.Timeout)) * time.Second}
	if file, err := os.Open("/etc/hosts"); err == nil {
		defer file.Close()
		r.hosts = readHosts(file)
	}
	return r
}

// serverResolver asks recursive name servers: for IPv4 addresses, and if there are none for IPv6 addresses.
type serverResolver struct {
	servers  []string
	attempts int
	timeout  time.Duration // of one question
	hosts    map[string][]netip.Addr
}

// Lookup implements Resolver.
func (r *serverResolver) Lookup(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	host = strings.TrimSuffix(host, ".")
	if addrs := r.hosts[host]; len(addrs) > 0 {
		return addrs, unknownTTL, nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761 section 6.3
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, unknownTTL, nil
	}
	if _, ok := dns.IsDomainName(host); !ok {
		return nil, maxNegativeTTL, fmt.Errorf("%q is not a domain name: %w", host, ErrNoHost)
	}
	addrs, ttl, err := r.ask(ctx, host, dns.TypeA)
	if err != nil || len(addrs) > 0 {
		return addrs, ttl, err
	}
	addrs, ttl6, err := r.ask(ctx, host, dns.TypeAAAA)
	if err == nil && len(addrs) == 0 {
		err, ttl6 = ErrNoHost, min(ttl, ttl6)
	}
	return addrs, ttl6, err
}

// ask sends one question to the servers in turn. No addresses and no error means that the name exists and has no
// addresses of that type.
func (r *serverResolver) ask(ctx context.Context, host string, qtype uint16) ([]netip.Addr, time.Duration, error) {
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(host), qtype)
	var failures []error
	for range r.attempts {
		for _, server := range r.servers {
			reply, err := r.exchange(ctx, question, server)
			switch {
			case ctx.Err() != nil:
				return nil, 0, ctx.Err()
			case err != nil:
				failures = append(failures, err)
			case reply.Rcode == dns.RcodeNameError:
				return nil, negativeTTL(reply), ErrNoHost
			case reply.Rcode != dns.RcodeSuccess:
				failures = append(failures, fmt.Errorf("name server %s: %s", server, dns.RcodeToString[reply.Rcode]))
			default:
				addrs, ttl := answers(reply)
				return addrs, ttl, nil
			}
		}
	}
	return nil, 0, errors.Join(failures...)
}

// exchange asks one server, over TCP if the answer is too long for a datagram.
func (r *serverResolver) exchange(ctx context.Context, question *dns.Msg, server string) (*dns.Msg, error) {
	client := dns.Client{Timeout: r.timeout}
	reply, _, err := client.ExchangeContext(ctx, question, server)
	if err == nil && reply.Truncated {
		client.Net = "tcp"
		reply, _, err = client.ExchangeContext(ctx, question, server)
	}
	return reply, err
}

// answers returns the addresses of a reply and the shortest time to live of the records that lead to them.
func answers(reply *dns.Msg) ([]netip.Addr, time.Duration) {
	var addrs []netip.Addr
	ttl := maxTTL
	for _, record := range reply.Answer {
		var ip net.IP
		switch record := record.(type) {
		case *dns.A:
			ip = record.A
		case *dns.AAAA:
			ip = record.AAAA
		case *dns.CNAME:
		default:
			continue
		}
		ttl = min(ttl, time.Duration(record.Header().Ttl)*time.Second)
		if addr, ok := netip.AddrFromSlice(ip); ok {
			addrs = append(addrs, addr.Unmap())
		}
	}
	if len(addrs) == 0 {
		ttl = negativeTTL(reply)
	}
	return addrs, ttl
}

// negativeTTL returns how long a negative reply may be used (RFC 2308 section 5).
func negativeTTL(reply *dns.Msg) time.Duration {
	for _, record := range reply.Ns {
		if soa, ok := record.(*dns.SOA); ok {
			return time.Duration(min(soa.Minttl, soa.Hdr.Ttl)) * time.Second
		}
	}
	return failureTTL
}

// readHosts reads a hosts file: an address and names a line.
func readHosts(in io.Reader) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, host := range fields[1:] {
			host = strings.ToLower(strings.TrimSuffix(host, "."))
			hosts[host] = append(hosts[host], addr)
			shortFirst(hosts[host])
		}
	}
	return hosts
}

// libraryResolver asks the standard library, which knows no times to live.
type libraryResolver struct{}

// Lookup implements Resolver.
func (libraryResolver) Lookup(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if fault, ok := errors.AsType[*net.DNSError](err); ok && fault.IsNotFound {
		return nil, unknownTTL, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	shortFirst(addrs)
	return addrs, unknownTTL, err
}

// shortFirst sorts IPv4 addresses before IPv6 ones.
func shortFirst(addrs []netip.Addr) {
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
}
