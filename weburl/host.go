package weburl

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// parseSite returns the site of a scheme and what stands between the slashes and the path: maybe
// credentials, the host, maybe a port.
func parseSite(scheme, authority string) (Site, error) {
	hostPort := authority[strings.LastIndexByte(authority, '@')+1:]
	if hostPort == "" {
		return "", fmt.Errorf("%w: no host", ErrSyntax)
	}
	if lower := strings.ToLower(hostPort); cleanAuthority(scheme, lower) {
		return Site(scheme + "://" + lower), nil
	}
	if len(hostPort) > maxMapped && strings.ContainsFunc(hostPort, isMapped) {
		return "", fmt.Errorf("%w: host of %d bytes", ErrSyntax, len(hostPort))
	}
	if err := checkLabels(strings.ToLower(hostPort)); err != nil {
		return "", err
	}
	parsed, err := url.Parse(scheme + "://" + hostPort + "/")
	if err != nil {
		if parsed = decoded(scheme, hostPort); parsed == nil {
			return "", fmt.Errorf("%w: %w", ErrSyntax, err)
		}
	}
	if err := checkLabels(parsed.Host()); err != nil {
		return "", err
	}
	return Site(scheme + "://" + parsed.Host()), nil
}

// maxMapped bounds a host with characters outside of ASCII, or with escapes, as given and in bytes: no name in DNS
// needs as many, and the library maps them in time quadratic in their number.
const maxMapped = 1 << 10

func isMapped(r rune) bool { return r >= utf8.RuneSelf || r == '%' }

// checkLabels refuses a host with a label in punycode that is too long.
func checkLabels(host string) error {
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > maxEncodedLabel && strings.HasPrefix(label, "xn--") {
			return fmt.Errorf("%w: host with a label of %d bytes", ErrSyntax, len(label))
		}
	}
	return nil
}

// maxEncodedLabel bounds a label in punycode, in bytes: no whole name in DNS is longer, and the library
// does not read all longer ones that it makes.
const maxEncodedLabel = 253

// decoded parses a host that the library refuses in punycode and accepts as the characters it stands
// for, such as xn--1ch for ≠, so that what the library makes can be read again. It returns nil for any
// other.
func decoded(scheme, hostPort string) *url.Url {
	lower := strings.ToLower(hostPort)
	if !strings.Contains(lower, "xn--") {
		return nil
	}
	characters, err := idna.Punycode.ToUnicode(lower)
	if err != nil {
		return nil
	}
	parsed, err := url.Parse(scheme + "://" + characters + "/")
	if err != nil || parsed.Host() != lower {
		return nil
	}
	return parsed
}

// cleanAuthority reports whether text is a canonical host, with a port that is not the scheme's own
// or none. It refuses names in punycode, with underscores or with a final dot, and IPv6 addresses;
// some of these are canonical too.
func cleanAuthority(scheme, text string) bool {
	host, port, hasPort := strings.Cut(text, ":")
	label := 0 // where the last label begins
	for i := range len(host) {
		switch c := host[i]; {
		case c == '.':
			if i == label {
				return false
			}
			label = i + 1
		case clean[c]&inHost == 0:
			return false
		}
	}
	if label == len(host) || strings.Contains(host, "xn--") {
		return false
	}
	if c := host[label]; '0' <= c && c <= '9' {
		if _, err := netip.ParseAddr(host); err != nil {
			return false
		}
	}
	return !hasPort || cleanPort(scheme, port)
}

func cleanPort(scheme, port string) bool {
	if len(port) == 0 || len(port) > 5 || port[0] == '0' {
		return false
	}
	n := 0
	for i := range len(port) {
		c := port[i]
		if c < '0' || c > '9' {
			return false
		}
		n = 10*n + int(c-'0')
	}
	return n <= 65535 && n != int(defaultPort(scheme))
}

func defaultPort(scheme string) uint16 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
