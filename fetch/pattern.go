package fetch

import "strings"

// pattern is a path of a robots.txt rule, in which * stands for any run of characters and a last $ for
// the end of the URL.
type pattern struct {
	parts  []string // between the stars; the first is at the URL's start
	ended  bool     // the last part is at the URL's end
	length int      // in characters of the normalised pattern, which decides between rules
}

// newPattern reads a rule's value. One that starts with neither a slash nor a star matches no URL.
func newPattern(value string) pattern {
	text, ended := strings.CutSuffix(value, "$")
	text = normalise(text, true)
	p := pattern{parts: strings.Split(text, "*"), ended: ended, length: len(text)}
	if ended {
		p.length++
	}
	return p
}

// match tells whether the pattern matches a normalised path and query. Taking each part at its
// earliest place is enough, so every character of the URL is passed once.
func (p *pattern) match(target string) bool {
	rest, ok := strings.CutPrefix(target, p.parts[0])
	if !ok {
		return false
	}
	if len(p.parts) == 1 {
		return !p.ended || rest == ""
	}
	last := len(p.parts) - 1
	for _, part := range p.parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	if p.ended {
		return strings.HasSuffix(rest, p.parts[last])
	}
	return strings.Contains(rest, p.parts[last])
}

const upperHex = "0123456789ABCDEF"

// normalise gives a path the form in which RFC 9309 section 2.2.2 compares it: octets outside ASCII
// are percent-encoded, encoded unreserved characters decoded, hexadecimal digits upper case. In a URL
// (not a pattern) * is encoded, because a rule that means the character says %2A; $ is so in both. A %
// that begins no escape stays as it is, and what is encoded right behind it so too, lest the two
// become one.
func normalise(s string, isPattern bool) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return c == '%' || c == '*' || c == '$' || c <= ' ' || c >= 0x7f }) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	bare := -3 // where in b the last % without digits stands
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			high, low := unhex(s[i+1]), unhex(s[i+2])
			if high < 16 && low < 16 {
				octet := high<<4 | low
				if joins := b.Len()-bare <= 2 && unhex(octet) < 16; unreserved(octet) && !joins {
					b.WriteByte(octet)
				} else {
					encode(&b, octet)
				}
				i += 2
				continue
			}
		}
		if c == '%' {
			bare = b.Len()
		}
		if c <= ' ' || c >= 0x7f || c == '$' || c == '*' && !isPattern {
			encode(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func encode(b *strings.Builder, octet byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[octet>>4])
	b.WriteByte(upperHex[octet&15])
}

// unhex returns the value of a hexadecimal digit, 16 or more for anything else.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// unreserved tells the characters that RFC 3986 section 2.3 lets stand for themselves everywhere.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
