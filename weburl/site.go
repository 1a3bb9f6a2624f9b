package weburl

import (
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
	"golang.org/x/net/publicsuffix"
)

// Site is the part of a URL that a server answers for: scheme, host and, where it is not the
// scheme's own, port, as in "https://example.org:8443". Sites come from URL.Site; the methods take
// the form for granted.
type Site string

// Scheme returns "http" or "https".
func (s Site) Scheme() string {
	scheme, _, _ := strings.Cut(string(s), "://")
	return scheme
}

// Host returns the host without port; an IPv6 address keeps its brackets.
func (s Site) Host() string {
	host, _ := s.split()
	return host
}

// Name returns the name of the host: Host without a final dot, which only marks the name as complete. Sites of one name
// are one host, to which politeness is owed.
func (s Site) Name() string { return HostName(s.Host()) }

// HostName returns a canonical host without its final dot.
func HostName(host string) string {
	if name, dotted := strings.CutSuffix(host, "."); dotted && name != "" {
		return name
	}
	return host
}

// Plain returns the site without the final dot of its host.
func (s Site) Plain() Site {
	host, port := s.split()
	if HostName(host) == host {
		return s
	}
	plain := s.Scheme() + "://" + HostName(host)
	if port != "" {
		plain += ":" + port
	}
	return Site(plain)
}

// Port returns the port that a connection goes to: the one that is written, or the scheme's own,
// or 0 for the empty Site.
func (s Site) Port() uint16 {
	_, port := s.split()
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		return uint16(n)
	}
	return defaultPort(s.Scheme())
}

// split returns the host and the port as it is written, without its colon.
func (s Site) split() (host, port string) {
	_, host, _ = strings.Cut(string(s), "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i], host[i+1:]
	}
	return host, ""
}

// Root returns the URL of the site's root page, "/".
func (s Site) Root() URL {
	if s == "" {
		return URL{}
	}
	return URL{string(s) + "/"}
}

// Domain returns the registrable domain of the site's host by the public suffix list, private
// suffixes included: "example.co.uk" for "www.example.co.uk". An address, a name of one label and a
// name that is itself a public suffix are their own domain. A name's final dot is dropped.
func (s Site) Domain() string { return registrable(s.Host()) }

// Partition returns the partition, of n, that the site's registrable domain belongs to.
func (s Site) Partition(n int) Partition { return PartitionOf(s.Domain(), n) }

func registrable(host string) string {
	name := strings.TrimSuffix(host, ".")
	if name == "" || isAddress(name) {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return domain
	}
	return name
}

// isAddress reports whether a canonical host is an IP address: IPv6 in brackets or IPv4, the only
// hosts whose last label is a number.
func isAddress(host string) bool {
	if host[0] == '[' {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// Partition numbers a part of a data directory, from 0.
type Partition uint16

// MaxPartitions is the largest number of partitions a directory may have.
const MaxPartitions = 1 << 16

// PartitionOf returns the partition, of n, that a registrable domain belongs to: its XXH3 hash
// modulo n. What is on disk depends on it, so it never changes. It panics unless
// 1 ≤ n ≤ MaxPartitions.
func PartitionOf(domain string, n int) Partition {
	if n < 1 || n > MaxPartitions {
		panic("weburl: PartitionOf: " + strconv.Itoa(n) + " partitions: want 1 to 65536")
	}
	return Partition(xxh3.HashString(domain) % uint64(n))
}
