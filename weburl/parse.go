package weburl

import (
	"errors"
	"fmt"

	"github.com/nlnwa/whatwg-url/url"
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
	Err   error  // ErrSyntax, ErrScheme or ErrLength, or one that wraps it
}

// Error returns the fault and the first 100 bytes of the input.
func (e *Error) Error() string {
	return fmt.Sprintf("weburl: %.100q: %v", e.Input, e.Err)
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Parse returns the canonical form of an absolute URL as a browser would read it.
func Parse(raw string) (URL, error) { return slow("", raw) }

// Parse resolves a reference against u as a browser would.
func (u URL) Parse(ref string) (URL, error) { return slow(u.text, ref) }

// slow parses by the whole of the standard.
func slow(base, ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, &Error{ref, ErrLength}
	}
	u, err := url.NewParser().ParseRef(base, ref)
	if err != nil {
		return URL{}, &Error{ref, fmt.Errorf("%w: %w", ErrSyntax, err)}
	}
	if u.Scheme() != "http" && u.Scheme() != "https" {
		return URL{}, &Error{ref, fmt.Errorf("%w: %q", ErrScheme, u.Scheme())}
	}
	u.SetUsername("")
	u.SetPassword("")
	text := u.Href(true)
	if len(text) > MaxLength {
		return URL{}, &Error{ref, ErrLength}
	}
	return URL{text}, nil
}
