package weburl

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/zeebo/xxh3"
)

// URL is an absolute http or https URL in canonical form: the WHATWG serialisation without
// credentials and fragment. It is one string, immutable and comparable with ==; two URLs are equal
// when their texts are. The zero value is no URL: IsZero says so, String is "", and the accessors
// return zero values.
type URL struct{ text string }

// String returns the canonical text, "" for the zero value. It does not allocate.
func (u URL) String() string { return u.text }

// IsZero reports whether u is no URL.
func (u URL) IsZero() bool { return u.text == "" }

// Site returns scheme, host and, unless it is the scheme's default, port.
func (u URL) Site() Site { return Site(u.text[:u.pathStart()]) }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	scheme, _, _ := strings.Cut(u.text, ":")
	return scheme
}

// Host returns the host in canonical form and without port: a lower-case domain name in its ASCII
// form, a dotted IPv4 address, or an IPv6 address in brackets.
func (u URL) Host() string { return u.Site().Host() }

// Plain returns u without the final dot of its host. The result is another page of the same host.
func (u URL) Plain() URL {
	site := u.Site()
	plain := site.Plain()
	if plain == site {
		return u
	}
	return URL{string(plain) + u.RequestURI()}
}

// Port returns the port for a connection: the port in u, or the scheme's default.
func (u URL) Port() uint16 { return u.Site().Port() }

// Domain returns the host's registrable domain; see Site.Domain.
func (u URL) Domain() string { return u.Site().Domain() }

// Partition returns the partition, of n, that u's registrable domain belongs to; see PartitionOf.
func (u URL) Partition(n int) Partition { return u.Site().Partition(n) }

// RequestURI returns the part after the site: the path and, after "?", the query. It is the target of a request line;
// robots.txt rules match it.
func (u URL) RequestURI() string { return u.text[u.pathStart():] }

// Path returns the path, percent-encoded and beginning with "/".
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.RequestURI(), "?")
	return path
}

// Query returns the part after the "?", percent-encoded, or "" if there is none.
func (u URL) Query() string {
	_, query, _ := strings.Cut(u.RequestURI(), "?")
	return query
}

// pathStart returns the index of the path's first slash. A canonical URL has one.
func (u URL) pathStart() int { return authorityEnd(u.text) }

// withoutQuery returns u's text up to the query's question mark.
func (u URL) withoutQuery() string {
	text, _, _ := strings.Cut(u.text, "?")
	return text
}

// authorityEnd returns the index in text, which begins with "http://" or "https://", of the first
// slash after these, or len(text).
func authorityEnd(text string) int {
	const start = len("https://") // after "http://" the first byte of a host, no slash, is passed over
	if len(text) > start {
		if i := strings.IndexByte(text[start:], '/'); i >= 0 {
			return start + i
		}
	}
	return len(text)
}

// MarshalText returns the canonical text, so that a URL is a string in JSON and is usable as a key.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText parses text as Parse does; empty text gives the zero value.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	v, err := Parse(string(text))
	if err == nil {
		*u = v
	}
	return err
}

// Fingerprint is a 64-bit name of a canonical URL: the XXH3 hash of its text. It is never 0, which means "none". It
// is stored on disk, so the hash never changes.
type Fingerprint uint64

// Fingerprint returns the fingerprint of u's text; for the zero value 0. It does not allocate.
func (u URL) Fingerprint() Fingerprint {
	if u.text == "" {
		return 0
	}
	return max(1, Fingerprint(xxh3.HashString(u.text)))
}

// Slot returns f's slot in a table of n slots, by Fibonacci hashing. n must be a power of two. The hashing also
// spreads fingerprints that an attacker has chosen to be similar.
func (f Fingerprint) Slot(n int) int {
	return int(uint64(f) * 0x9e3779b97f4a7c15 >> (64 - bits.Len(uint(n-1))))
}

// String returns f as 16 lower-case hexadecimal digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }
