package extract

import "bytes"

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endOfDocument tokenKind = iota
	characters
	startTag
	emptyTag // a start tag that ends in "/>"
	endTag
	ignored // a comment, a document type, what the standard calls a bogus comment
)

// tokenizer splits an HTML document in memory into tokens, by the HTML standard's section "Tokenization". It copies
// nothing: its results point into the document, which it does not change. Text and values are as written; unescape
// decodes them.
type tokenizer struct {
	document []byte
	at       int // where the next token begins

	raw   []byte // the current token
	text  []byte // of characters: without the marks of a CDATA section
	plain bool   // of characters: "&" stands for itself
	whole bool   // of characters: a NUL is shown as a replacement character

	name   []byte        // of a tag, in lower case, cut to maxName bytes
	values []attribute   // of a start tag, as written; the first maxAttributes
	last   []byte        // the value of its last attribute
	buffer [maxName]byte // holds name
	until  string        // the element whose end tag ends the next text
	cdata  bool          // CDATA sections are text here, not comments
}

// maxAttributes is how many attributes of a tag count. Usual tags have at most some tens.
const maxAttributes = 1000

// attribute is one attribute of a start tag; value is nil if there is none.
type attribute struct{ name, value []byte }

// next moves to the next token.
func (t *tokenizer) next() tokenKind {
	start := t.at
	if t.until != "" {
		end := t.rawEnd()
		name := t.until
		t.until = ""
		if end > start {
			t.take(end)
			t.text, t.plain, t.whole = t.raw, name != "title" && name != "textarea", true
			return characters
		}
	}
	if end := t.textEnd(); end > start {
		t.take(end)
		t.text, t.plain, t.whole = t.raw, false, false
		return characters
	}
	if start == len(t.document) {
		return endOfDocument
	}
	switch t.document[start+1] { // textEnd has seen that it is there
	case '/':
		return t.endTag()
	case '!':
		return t.declaration()
	case '?':
		t.take(t.behind(start, ">"))
		return ignored
	}
	return t.startTag()
}

// take makes the text up to end the current token.
func (t *tokenizer) take(end int) {
	t.raw, t.at = t.document[t.at:end], end
}

// behind returns the offset after the first occurrence of what at or after from, or the document's end.
func (t *tokenizer) behind(from int, what string) int {
	if i := bytes.Index(t.document[from:], []byte(what)); i >= 0 {
		return from + i + len(what)
	}
	return len(t.document)
}

// textEnd returns the offset of the next "<" that begins markup.
func (t *tokenizer) textEnd() int {
	for i := t.at; ; i++ {
		n := bytes.IndexByte(t.document[i:], '<')
		i += n
		if n < 0 || i+1 == len(t.document) {
			return len(t.document)
		}
		switch c := t.document[i+1]; {
		case isLetter(c), c == '!', c == '?', c == '/' && i+2 < len(t.document):
			return i
		}
	}
}

// declaration reads a token that begins with "<!".
func (t *tokenizer) declaration() tokenKind {
	const comment, section = "<!--", "<![CDATA["
	rest := t.document[t.at:]
	switch {
	case bytes.HasPrefix(rest, []byte(comment)):
		t.take(t.commentEnd(t.at + len(comment)))
	case t.cdata && bytes.HasPrefix(rest, []byte(section)):
		t.take(t.behind(t.at+len(section), "]]>"))
		t.text = bytes.TrimSuffix(t.raw[len(section):], []byte("]]>"))
		t.plain, t.whole = false, true
		return characters
	default:
		t.take(t.behind(t.at, ">"))
	}
	return ignored
}

// commentEnd returns where a comment ends. Its text begins at from. It ends after "-->", which may use the opening
// dashes, or after "--!>".
func (t *tokenizer) commentEnd(from int) int {
	for end := from; ; {
		n := bytes.IndexByte(t.document[end:], '>')
		if n < 0 {
			return len(t.document)
		}
		before := t.document[:end+n]
		end += n + 1
		if bytes.HasSuffix(before[from-len("--"):], []byte("--")) || bytes.HasSuffix(before[from:], []byte("--!")) {
			return end
		}
	}
}

// endTag reads a token that begins with "</".
func (t *tokenizer) endTag() tokenKind {
	if !isLetter(t.document[t.at+2]) {
		t.take(t.behind(t.at+2, ">"))
		return ignored
	}
	if !t.tag(t.at + 2) {
		return endOfDocument
	}
	return endTag
}

// startTag reads a token that begins with "<" and a letter.
func (t *tokenizer) startTag() tokenKind {
	if !t.tag(t.at + 1) {
		return endOfDocument
	}
	switch string(t.name) {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		t.until = string(t.name)
	}
	if t.selfClosing() {
		return emptyTag
	}
	return startTag
}

// selfClosing reports whether the current tag ends in a slash that is not part of a value.
func (t *tokenizer) selfClosing() bool {
	if t.raw[len(t.raw)-2] != '/' {
		return false
	}
	return len(t.last) == 0 || &t.last[len(t.last)-1] != &t.raw[len(t.raw)-2]
}

// tag reads a tag with its attributes. The tag's name begins at name. It returns false if the document ends within
// the tag.
func (t *tokenizer) tag(name int) bool {
	t.values, t.last = t.values[:0], nil
	d, i := t.document, name
	for i < len(d) && delimits[d[i]]&inTag == 0 {
		i++
	}
	t.name = lower(d[name:i], &t.buffer)
	for i < len(d) {
		switch {
		case d[i] == '>':
			t.take(i + 1)
			return true
		case delimits[d[i]]&inTag != 0: // white space or a slash
			i++
		default:
			i = t.attribute(i)
		}
	}
	t.take(i)
	return false
}

// attribute reads the attribute at start, and returns its end.
func (t *tokenizer) attribute(start int) int {
	d, i := t.document, start+1 // an equals sign may come first
	for i < len(d) && delimits[d[i]]&inName == 0 {
		i++
	}
	a := attribute{name: d[start:i]}
	equals := t.spaceEnd(i)
	if equals < len(d) && d[equals] == '=' {
		a.value, i = t.value(t.spaceEnd(equals + 1))
	}
	if t.last = a.value; len(t.values) < maxAttributes {
		t.values = append(t.values, a)
	}
	return i
}

// value reads the attribute value at start, and returns its end.
func (t *tokenizer) value(start int) (value []byte, end int) {
	d := t.document
	switch {
	case start == len(d) || d[start] == '>':
		return nil, start
	case d[start] == '"' || d[start] == '\'':
		n := bytes.IndexByte(d[start+1:], d[start])
		if n < 0 {
			return nil, len(d)
		}
		return d[start+1 : start+1+n], start + 1 + n + 1
	}
	end = start
	for end < len(d) && delimits[d[end]]&inValue == 0 {
		end++
	}
	return d[start:end], end
}

// spaceEnd returns the offset of the first byte at or after i that is not white space.
func (t *tokenizer) spaceEnd(i int) int {
	for i < len(t.document) && delimits[t.document[i]] == inAny {
		i++
	}
	return i
}

// delimits says for every byte what it ends: a tag's name, an attribute's name, or an unquoted value. White space
// ends all of them.
var delimits = [256]uint8{
	' ': inAny, '\t': inAny, '\n': inAny, '\f': inAny, '\r': inAny,
	'/': inTag | inName, '>': inTag | inName | inValue, '=': inName,
}

const (
	inTag uint8 = 1 << iota
	inName
	inValue
	onlySpace

	inAny = inTag | inName | inValue | onlySpace
)

// rawEnd returns the offset at which the text of the element t.until ends.
func (t *tokenizer) rawEnd() int {
	switch t.until {
	case "plaintext":
		return len(t.document)
	case "script":
		return t.scriptEnd()
	}
	for i := t.at; ; i++ {
		n := bytes.IndexByte(t.document[i:], '<')
		if n < 0 {
			return len(t.document)
		}
		if i += n; t.tagAt(i, "</", t.until) {
			return i
		}
	}
}

// scriptEnd is rawEnd for a script. Between "<!--" and "-->", an end tag after a start tag of a script does not
// count.
func (t *tokenizer) scriptEnd() int {
	escaped, inner := false, false
	for i := t.at; i < len(t.document); i++ {
		if !escaped {
			n := bytes.IndexByte(t.document[i:], '<')
			if n < 0 {
				break
			}
			i += n
		}
		switch t.document[i] {
		case '-':
			if bytes.HasPrefix(t.document[i:], []byte("-->")) {
				escaped, inner = false, false
			}
		case '<':
			switch {
			case t.tagAt(i, "</", "script"):
				if !inner {
					return i
				}
				inner = false
			case escaped && t.tagAt(i, "<", "script"):
				inner = true
			case !escaped && bytes.HasPrefix(t.document[i:], []byte("<!--")):
				escaped = true
				i++ // the opening dashes may also be the closing ones
			}
		}
	}
	return len(t.document)
}

// tagAt reports whether a tag of that name is at an offset: opens, the name, and an end of the name.
func (t *tokenizer) tagAt(at int, opens, name string) bool {
	rest := t.document[at:]
	n := len(opens) + len(name)
	return len(rest) > n && string(rest[:len(opens)]) == opens && equalFold(rest[len(opens):n], name) && delimits[rest[n]]&inTag != 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// maxName is longer than the name of any element or attribute that matters.
const maxName = 16

// lower returns a name in lower case, cut to maxName bytes.
func lower(name []byte, buffer *[maxName]byte) []byte {
	n := copy(buffer[:], name)
	for i, c := range buffer[:n] {
		if 'A' <= c && c <= 'Z' {
			buffer[i] = c | 0x20
		}
	}
	return buffer[:n]
}
