package extract

import (
	"bytes"

	"golang.org/x/net/html"
)

// unescape decodes the character references ("&amp;") of text. In an attribute, a name without its semicolon is not a
// reference if "=" or a letter or digit follows, as in URLs: "?a=1&copy=2" does not change. Without any references,
// the result is text itself, not a copy. Otherwise it is appended to dst.
func unescape(dst, text []byte, inAttribute bool) (decoded, buffer []byte) {
	i := bytes.IndexByte(text, '&')
	if i < 0 {
		return text, dst
	}
	start := len(dst)
	for i >= 0 {
		dst = append(dst, text[:i]...)
		text = text[i:]
		n := referenceEnd(text)
		dst = appendReference(dst, text[:n], inAttribute, n < len(text) && text[n] == '=')
		text = text[n:]
		i = bytes.IndexByte(text, '&')
	}
	dst = append(dst, text...)
	return dst[start:], dst
}

// referenceEnd returns the length of the possible character reference at the start of text.
func referenceEnd(text []byte) int {
	n := 1
	if n < len(text) && text[n] == '#' {
		n++
	}
	for n < len(text) && (isLetter(text[n]) || '0' <= text[n] && text[n] <= '9') {
		n++
	}
	if n < len(text) && text[n] == ';' {
		n++
	}
	return n
}

// appendReference appends the meaning of a reference, or the reference itself if it has none.
func appendReference(dst, reference []byte, inAttribute, beforeEquals bool) []byte {
	switch string(reference) { // the most frequent
	case "&amp;":
		return append(dst, '&')
	case "&nbsp;":
		return append(dst, "\u00a0"...)
	case "&quot;":
		return append(dst, '"')
	case "&lt;":
		return append(dst, '<')
	case "&gt;":
		return append(dst, '>')
	}
	decoded := html.UnescapeString(string(reference))
	if named := len(reference) > 1 && reference[1] != '#'; inAttribute && named {
		last := reference[len(reference)-1]
		partly := decoded[len(decoded)-1] == last && decoded != ";" // only a part of it is a name
		if partly || beforeEquals && last != ';' {
			return append(dst, reference...)
		}
	}
	return append(dst, decoded...)
}
