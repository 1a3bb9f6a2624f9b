package weburl

import (
	"errors"
	"fmt"
	"strings"
)

// MaxLength is the length in bytes that neither a URL as given nor its canonical form may exceed.
const MaxLength = 64 << 10

// What Parse refuses a text for; match with errors.Is.
var (
	ErrSyntax = errors.New("not a valid URL")
	ErrScheme = errors.New("scheme is not http or https")
	ErrLength = fmt.Errorf("longer than %d bytes", MaxLength)
)

// Error is the error of every parse that fails.
type Error struct {
	Input string // what was to be parsed, as given
	Err   error  // wraps or is ErrSyntax, ErrScheme or ErrLength
}

// Error returns the first 100 characters of the input and the fault.
func (e *Error) Error() string { return fmt.Sprintf("%.100q: %v", e.Input, e.Err) }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Parse returns the canonical form of an absolute URL, read as a browser reads it: white space
// around it is ignored, scheme and host are lower-cased, names are mapped to ASCII, a default port
// and dot segments go, what may not stand in a URL is percent-encoded, byte by byte. Credentials and
// fragment are dropped. Another scheme, what a browser would refuse and what is longer than
// MaxLength is an *Error.
//
// It takes time linear in the length. A text that is canonical already takes some 100 ns and is
// kept, not copied: raw stays in memory with the URL.
func Parse(raw string) (URL, error) { return URL{}.Parse(raw) }

// Parse resolves a reference, as found in the page at u, to the URL that a browser would follow; an
// absolute URL is its own result. The zero URL resolves absolute URLs only. See the function Parse
// for everything else.
func (u URL) Parse(ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, &Error{ref, ErrLength}
	}
	text := trim(ref)
	if v, ok := parseCanonical(text); ok {
		return v, nil
	}
	v, err := u.resolve(text)
	if err != nil {
		return URL{}, &Error{ref, err}
	}
	return v, nil
}

// parseCanonical returns the URL of a text that is canonical except for its fragment. It accepts all
// but rare forms; what it refuses is resolve's.
func parseCanonical(text string) (URL, bool) {
	scheme := schemeOf(text)
	if (scheme != "http" && scheme != "https") || !strings.HasPrefix(text[len(scheme):], "://") {
		return URL{}, false
	}
	start, end := len(scheme)+len("://"), authorityEnd(text)
	if end == len(text) || !cleanAuthority(scheme, text[start:end]) {
		return URL{}, false
	}
	i := end + cleanPrefix(text[end:], inPath)
	if mayHaveDotSegment(text[end:i]) {
		return URL{}, false
	}
	if i < len(text) && text[i] == '?' {
		i += cleanPrefix(text[i:], inQuery)
	}
	return URL{text[:i]}, i == len(text) || text[i] == '#'
}

// resolve parses any reference: the standard's basic URL parser for a base and a result with one of
// our schemes, where it takes no more than splitting.
func (u URL) resolve(text string) (URL, error) {
	text = withoutLineBreaks(text)
	scheme, rest, err := u.cutScheme(text)
	if err != nil {
		return URL{}, err
	}
	rest, _, _ = strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	path = strings.ReplaceAll(path, `\`, "/")
	slashes := len(path) - len(strings.TrimLeft(path, "/"))

	var room [256]byte
	out := room[:0]
	root := u.pathStart()
	switch {
	case slashes >= 2 || scheme != u.Scheme():
		authority, after, _ := strings.Cut(path[slashes:], "/")
		site, err := parseSite(scheme, authority)
		if err != nil {
			return URL{}, err
		}
		root, path = len(site), after
		out = append(append(out, site...), '/')
	case slashes == 1:
		path = path[1:]
		out = append(out, u.text[:root+1]...)
	case path != "":
		base := u.withoutQuery()
		out = append(out, base[:strings.LastIndexByte(base, '/')+1]...)
	case hasQuery:
		out = append(out, u.withoutQuery()...)
	default:
		return u, nil
	}
	out = appendPath(out, root, path)
	if hasQuery {
		out = appendEncoded(append(out, '?'), query, inQuery)
	}
	if len(out) > MaxLength {
		return URL{}, ErrLength
	}
	return URL{string(out)}, nil
}

// cutScheme returns the scheme of what text refers to, its own or else u's, and what follows.
func (u URL) cutScheme(text string) (scheme, rest string, err error) {
	written := schemeOf(text)
	switch {
	case written == "" && u.IsZero():
		return "", "", fmt.Errorf("%w: neither scheme nor base", ErrSyntax)
	case written == "":
		return u.Scheme(), text, nil
	case strings.EqualFold(written, "http"):
		scheme = "http"
	case strings.EqualFold(written, "https"):
		scheme = "https"
	default:
		return "", "", ErrScheme
	}
	return scheme, text[len(written)+1:], nil
}

// schemeOf returns the scheme that ref begins with, as written and without its colon, or "".
func schemeOf(ref string) string {
	for i := range len(ref) {
		switch c := ref[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return ref[:i]
		default:
			return ""
		}
	}
	return ""
}

// trim drops the control characters and spaces that may surround a URL.
func trim(ref string) string {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	return ref
}

// withoutLineBreaks drops the line breaks and tabs that may stand within a URL.
func withoutLineBreaks(text string) string {
	if !strings.ContainsAny(text, "\t\n\r") {
		return text
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
}
