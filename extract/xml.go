package extract

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the XML that is read.
const (
	maxDepth   = 256      // open elements; a deeper document is broken
	maxContent = 64 << 10 // bytes read of one element's text, and of an attribute's value
)

// visitor receives the elements of an XML document. A path holds the local names of the open
// elements, the current one last.
type visitor interface {
	// open is called for a start tag. prefix is the element's. The attributes are as written, and valid until
	// it returns.
	open(path []string, prefix string, attributes []attribute)
	// close is called for an explicit or implied end tag, with the text since the last tag. It returns
	// false to stop.
	close(path []string, text string) bool
}

// walk takes a visitor through a document in UTF-8. It is tolerant: it splits the document like HTML, and leaves
// entities other than XML's own as written. It ignores an end tag without an open element. An end tag of an outer
// element closes the inner ones. Entities are never expanded. The error says why walk stopped early; elements visited
// before are valid. Its memory does not depend on the document.
func walk(document []byte, v visitor) error {
	t := tokenizer{document: document, cdata: true}
	var path []string
	var text []byte
	for {
		kind := t.next()
		t.until = "" // nothing is raw text here
		switch kind {
		case endOfDocument:
			if len(path) > 0 {
				return fmt.Errorf("extract: XML: %w", io.ErrUnexpectedEOF)
			}
			return nil
		case ignored:
			t.skipSubset()
		case characters:
			text = appendContent(text, t.text, t.plain)
		case startTag, emptyTag:
			if len(path) >= maxDepth {
				return fmt.Errorf("extract: XML: more than %d elements in each other", maxDepth)
			}
			prefix, local := splitName(t.rawName())
			path = append(path, local)
			v.open(path, prefix, t.values)
			text = text[:0]
			if kind == startTag {
				continue
			}
			if !v.close(path, "") {
				return nil
			}
			path = path[:len(path)-1]
		case endTag:
			_, local := splitName(t.rawName())
			for n := opened(path, local); n >= 0 && len(path) > n; path = path[:len(path)-1] {
				if !v.close(path, strings.TrimSpace(string(text))) {
					return nil
				}
				text = text[:0]
			}
		}
	}
}

// skipSubset skips the rest of a document type after the start of its internal subset: declarations there are not
// markup.
func (t *tokenizer) skipSubset() {
	const name = "<!DOCTYPE"
	if len(t.raw) < len(name) || !equalFold(t.raw[:len(name)], "<!doctype") || bytes.IndexByte(t.raw, '[') < 0 ||
		bytes.HasSuffix(bytes.TrimRight(t.raw[:len(t.raw)-1], htmlSpace), []byte("]")) {
		return
	}
	for {
		t.at = t.behind(t.at, "]")
		if end := t.spaceEnd(t.at); end == len(t.document) || t.document[end] == '>' {
			t.at = min(end+1, len(t.document))
			return
		}
	}
}

// rawName returns the name of the current tag as written, cut to maxName bytes.
func (t *tokenizer) rawName() []byte {
	name := bytes.TrimLeft(t.raw, "</")
	for i := range min(len(name), maxName) {
		if delimits[name[i]]&inTag != 0 {
			return name[:i]
		}
	}
	return name[:min(len(name), maxName)]
}

// splitName splits a name at its colon.
func splitName(name []byte) (prefix, local string) {
	before, after, found := strings.Cut(string(name), ":")
	if !found {
		return "", before
	}
	return before, after
}

// appendContent appends text to an element's text, up to maxContent bytes.
func appendContent(dst, text []byte, plain bool) []byte {
	text = text[:min(len(text), maxContent-len(dst))]
	if plain {
		return append(dst, text...)
	}
	return appendXML(dst, text)
}

// xmlValue returns an attribute's decoded value.
func xmlValue(value []byte) string {
	return string(appendXML(nil, value[:min(len(value), maxContent)]))
}

// appendXML appends text with XML's own references decoded. The result is never longer than text.
func appendXML(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			return append(dst, text...)
		}
		dst, text = append(dst, text[:i]...), text[i:]
		const longest = len("&#x0010FFFF;")
		end := bytes.IndexByte(text[:min(len(text), longest)], ';')
		if c, ok := xmlReference(text[1:max(1, end)]); ok {
			dst, text = utf8.AppendRune(dst, c), text[end+1:]
		} else {
			dst, text = append(dst, '&'), text[1:]
		}
	}
}

// xmlReference returns the character of a reference, given without "&" and ";".
func xmlReference(name []byte) (c rune, ok bool) {
	switch string(name) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, isNumber := bytes.CutPrefix(name, []byte("#"))
	base := 10
	if hex, isHex := bytes.CutPrefix(digits, []byte("x")); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(string(digits), base, 21)
	return rune(n), isNumber && err == nil && utf8.ValidRune(rune(n))
}

// opened returns the index of the innermost open element of that name, or -1.
func opened(path []string, name string) int {
	for i, p := range slices.Backward(path) {
		if p == name {
			return i
		}
	}
	return -1
}

// rootElement returns the local name of the first element of an XML or HTML document in lower case, before any
// decoding, or "" if there is none in the first 4 KiB.
func rootElement(body []byte) string {
	rest := bytes.TrimPrefix(body[:min(len(body), 4096)], []byte("\xef\xbb\xbf"))
	for {
		rest = bytes.TrimLeft(rest, htmlSpace+"]>") // the end of a document type's own subset, too
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			_, rest, _ = bytes.Cut(rest[4:], []byte("-->"))
		case bytes.HasPrefix(rest, []byte("<?")), bytes.HasPrefix(rest, []byte("<!")):
			_, rest, _ = bytes.Cut(rest, []byte(">"))
		case len(rest) > 1 && rest[0] == '<':
			name := rest[1:]
			if end := bytes.IndexAny(name, htmlSpace+"/>"); end >= 0 {
				name = name[:end]
			}
			return strings.ToLower(string(name[bytes.IndexByte(name, ':')+1:]))
		default:
			return ""
		}
	}
}
