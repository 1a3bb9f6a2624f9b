package weburl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
	"github.com/zeebo/xxh3"
	"golang.org/x/net/publicsuffix"
)

// URL is an absolute http or https URL in canonical form: the WHATWG serialisation without its
// fragment. It is immutable and comparable; the zero value is no URL.
type URL struct{ text string }

// Fingerprint is the 64-bit hash of a canonical URL; it is never 0.
type Fingerprint uint64

// Site is scheme, host and, where it is not the scheme's own, port: "https://example.org:8443".
type Site string

// Partition numbers a part of the data directory.
type Partition uint16

// Rel says how a page came to carry a link.
type Rel uint8

// Link is what one page tells of another.
type Link struct {
	URL         URL
	Fingerprint Fingerprint
	Depth       uint16
	Cash        float64
	Rel         Rel
}

var ErrScheme = errors.New("weburl: not http or https")

var parser = url.NewParser()

func Parse(raw string) (URL, error) {
	u, err := parser.Parse(raw)
	if err != nil {
		return URL{}, fmt.Errorf("weburl: %w", err)
	}
	return fromWHATWG(u)
}

func (u URL) Parse(ref string) (URL, error) {
	v, err := parser.ParseRef(u.text, ref)
	if err != nil {
		return URL{}, fmt.Errorf("weburl: %w", err)
	}
	return fromWHATWG(v)
}

func fromWHATWG(u *url.Url) (URL, error) {
	if u.Scheme() != "http" && u.Scheme() != "https" {
		return URL{}, ErrScheme
	}
	return URL{u.Href(true)}, nil
}

func (u URL) String() string           { return u.text }
func (u URL) IsZero() bool             { return u.text == "" }
func (u URL) Fingerprint() Fingerprint { return max(1, Fingerprint(xxh3.HashString(u.text))) }
func (f Fingerprint) String() string   { return fmt.Sprintf("%016x", uint64(f)) }

func (u URL) Site() Site {
	rest := strings.Index(u.text, "://") + 3
	end := strings.IndexByte(u.text[rest:], '/')
	return Site(u.text[:rest+end])
}

func PartitionOf(domain string, partitions int) Partition {
	return Partition(xxh3.HashString(domain) % uint64(partitions))
}

func registrable(host string) string {
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}
