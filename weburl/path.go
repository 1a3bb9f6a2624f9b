package weburl

import "strings"

// appendPath appends to out, which ends in the slash of a directory and has its root's slash at
// index root, a relative path: percent-encoded and without dot segments.
func appendPath(out []byte, root int, path string) []byte {
	for more := true; more; {
		var segment string
		segment, path, more = strings.Cut(path, "/")
		switch dots(segment) {
		case 1:
		case 2:
			out = parent(out, root)
		default:
			out = appendEncoded(out, segment, inPath)
			if more {
				out = append(out, '/')
			}
		}
	}
	return out
}

// parent cuts the last segment from a directory, which ends in a slash, unless it is the root.
func parent(directory []byte, root int) []byte {
	i := len(directory) - 1
	if i == root {
		return directory
	}
	for i--; directory[i] != '/'; i-- {
	}
	return directory[:i+1]
}

// dots returns 1 for ".", 2 for "..", whether the dots are plain or written as "%2e", else 0.
func dots(segment string) int {
	n := 0
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case beginsWithEscapedDot(segment):
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}

func beginsWithEscapedDot(text string) bool {
	return len(text) >= 3 && text[0] == '%' && text[1] == '2' && text[2]|0x20 == 'e'
}

// mayHaveDotSegment reports whether an absolute path has a segment that begins with a dot.
func mayHaveDotSegment(path string) bool {
	for i := range len(path) {
		if path[i] == '/' && i+1 < len(path) && (path[i+1] == '.' || beginsWithEscapedDot(path[i+1:])) {
			return true
		}
	}
	return false
}

// appendEncoded appends text with all its bytes percent-encoded that may not stand in that part.
func appendEncoded(out []byte, text string, part uint8) []byte {
	const hex = "0123456789ABCDEF"
	for {
		n := cleanPrefix(text, part)
		out = append(out, text[:n]...)
		if n == len(text) {
			return out
		}
		out = append(out, '%', hex[text[n]>>4], hex[text[n]&15])
		text = text[n+1:]
	}
}

// cleanPrefix returns the length of the longest prefix of text that may stand in that part.
func cleanPrefix(text string, part uint8) int {
	for i := range len(text) {
		if clean[text[i]]&part == 0 {
			return i
		}
	}
	return len(text)
}

// The parts of a URL that clean speaks of.
const (
	inHost uint8 = 1 << iota
	inPath
	inQuery

	inTail = inPath | inQuery
	inAll  = inHost | inTail
)

// clean has, for every byte, the parts in which it need not be encoded: for path and query what the standard leaves
// unencoded, for a host what needs no mapping. The code handles the dots of a host and the characters
// between parts.
var clean = [256]uint8{
	'0': inAll, '1': inAll, '2': inAll, '3': inAll, '4': inAll,
	'5': inAll, '6': inAll, '7': inAll, '8': inAll, '9': inAll,
	'a': inAll, 'b': inAll, 'c': inAll, 'd': inAll, 'e': inAll, 'f': inAll, 'g': inAll,
	'h': inAll, 'i': inAll, 'j': inAll, 'k': inAll, 'l': inAll, 'm': inAll, 'n': inAll,
	'o': inAll, 'p': inAll, 'q': inAll, 'r': inAll, 's': inAll, 't': inAll, 'u': inAll,
	'v': inAll, 'w': inAll, 'x': inAll, 'y': inAll, 'z': inAll, '-': inAll,
	'A': inTail, 'B': inTail, 'C': inTail, 'D': inTail, 'E': inTail, 'F': inTail, 'G': inTail,
	'H': inTail, 'I': inTail, 'J': inTail, 'K': inTail, 'L': inTail, 'M': inTail, 'N': inTail,
	'O': inTail, 'P': inTail, 'Q': inTail, 'R': inTail, 'S': inTail, 'T': inTail, 'U': inTail,
	'V': inTail, 'W': inTail, 'X': inTail, 'Y': inTail, 'Z': inTail,
	'!': inTail, '$': inTail, '%': inTail, '&': inTail, '(': inTail, ')': inTail, '*': inTail,
	'+': inTail, ',': inTail, '.': inTail, '/': inTail, ':': inTail, ';': inTail, '=': inTail,
	'@': inTail, '[': inTail, ']': inTail, '_': inTail, '|': inTail, '~': inTail,
	'\'': inPath,
	'?':  inQuery, '\\': inQuery, '^': inQuery, '`': inQuery, '{': inQuery, '}': inQuery,
}
