package robots

import "strings"

// In a pattern * stands for any run of characters. A final $ stands for the end of the URL; here it is the flag
// ended and not part of the text.

// match reports whether a normalised pattern matches a normalised path and query. It looks for each part between
// stars at its earliest place, which is enough. So it passes every character of the URL once.
func match(pattern string, ended bool, target string) bool {
	part, pattern, wild := strings.Cut(pattern, "*")
	rest, ok := strings.CutPrefix(target, part)
	if !ok {
		return false
	}
	if !wild {
		return !ended || rest == ""
	}
	for {
		part, pattern, wild = strings.Cut(pattern, "*")
		switch {
		case !wild && ended:
			return strings.HasSuffix(rest, part)
		case !wild:
			return strings.Contains(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
}

const upperHex = "0123456789ABCDEF"

// normalise appends a path in the form that RFC 9309 section 2.2.2 compares: octets outside ASCII are
// percent-encoded, encoded unreserved characters are decoded, hexadecimal digits are upper case. In a URL, but not
// in a pattern, * is encoded, because a rule that means the character says %2A. $ is encoded in both. A % that
// begins no escape stays as it is. An escape right after such a % stays encoded, because decoding it could make a
// new escape.
func normalise[T string | []byte](dst []byte, path T, isPattern bool) []byte {
	bare := -3 // where in dst the last % without digits is
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			high, low := unhex(path[i+1]), unhex(path[i+2])
			if high < 16 && low < 16 {
				octet := high<<4 | low
				if joins := len(dst)-bare <= 2 && unhex(octet) < 16; unreserved(octet) && !joins {
					dst = append(dst, octet)
				} else {
					dst = encode(dst, octet)
				}
				i += 2
				continue
			}
		}
		if c == '%' {
			bare = len(dst)
		}
		if encoded(c) || c == '*' && !isPattern {
			dst = encode(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// encoded reports whether a character is always percent-encoded.
func encoded(c byte) bool { return c <= ' ' || c >= 0x7f || c == '$' }

func encode(dst []byte, octet byte) []byte {
	return append(dst, '%', upperHex[octet>>4], upperHex[octet&15])
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

// unreserved reports whether a character needs no encoding anywhere (RFC 3986 section 2.3).
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
