package extract

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// prescanned is how many bytes of a document decode searches for a declared character set.
const prescanned = 1024

// decode returns the body as UTF-8, and the WHATWG name of the character set that it used. If no conversion is
// needed, as usual, the result shares memory with the body. Otherwise it is cut to opt.MaxDocument bytes.
//
// The character set comes from, in this order: a byte order mark, the charset of the content type, an XML declaration
// or a meta element within the first 1024 bytes. Otherwise it is UTF-8 if the whole body is valid UTF-8, apart from a
// character that is cut at its end, and windows-1252 if not. This differs from browsers in one case: a page declares
// windows-1252 (or Latin-1) in a meta element, but all its non-ASCII text is valid UTF-8. Then decode assumes a mistake
// and reads UTF-8.
func decode(contentType string, body []byte, opt *Options) (text []byte, name string) {
	enc, name := charsetOf(contentType, body)
	switch {
	case name == "utf-8":
		if utf8.Valid(body) {
			return bytes.TrimPrefix(body, []byte("\uFEFF")), name
		}
		enc = unicode.UTF8
	case plainASCII(name, body):
		return body, name
	}
	in := transform.NewReader(bytes.NewReader(body), enc.NewDecoder())
	text, _, _ = readAll(in, int64(len(body))+int64(len(body))/8, opt.MaxDocument, opt.Room) // what was read counts
	return bytes.TrimPrefix(text, []byte("\uFEFF")), name
}

// charsetOf returns the character set by the rules of decode. It may return any encoding for UTF-8.
func charsetOf(contentType string, body []byte) (enc encoding.Encoding, name string) {
	enc, name, certain := declared(contentType, body)
	if name == "windows-1252" && !certain && readsAsUTF8(body) {
		name = "utf-8"
	}
	return enc, name
}

// readsAsUTF8 reports whether a body is valid UTF-8, or text in it whose last character a limit has cut. A last byte
// that is the only one beyond ASCII is a character of another set.
func readsAsUTF8(body []byte) bool {
	end := len(body)
	for n := 1; n < utf8.UTFMax && n <= len(body); n++ {
		if last := body[len(body)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	return utf8.Valid(body[:end]) && (end == len(body) || utf8.RuneCount(body[:end]) < end)
}

// UTF8 returns a document as UTF-8. It finds the character set as Extract does. A document that it converts is cut to
// most bytes; another one shares its memory with the result.
func UTF8(contentType string, document []byte, most int64) []byte {
	opt := Options{MaxDocument: most}.orDefault()
	text, _ := decode(contentType, document, &opt)
	return text
}

// ReadsAlike reports whether a body gives the same links and text under two Content-Type values.
func ReadsAlike(one, other string, body []byte) bool {
	if one == other {
		return true
	}
	kind, a, b := KindOf(one, body), MediaType(one), MediaType(other)
	switch {
	case kind != KindOf(other, body):
		return false
	case a != b: // beside these, only HTML has text
		return kind != KindHTML && a != "text/plain" && b != "text/plain" && a != "application/pdf" && b != "application/pdf"
	case kind != KindHTML && a != "text/plain":
		return true
	}
	_, first := charsetOf(one, body)
	_, second := charsetOf(other, body)
	return first == second || plainASCII(first, body) && plainASCII(second, body)
}

// CharsetOf returns the WHATWG name of the character set that a Content-Type value names, or "".
func CharsetOf(contentType string) string {
	_, name := charset.Lookup(charsetParameter(contentType))
	return name
}

// decodeXML is decode for XML, which is UTF-8 by default.
func decodeXML(contentType string, body []byte, opt *Options) (text []byte, name string) {
	if _, name, certain := declared(contentType, body); name == "windows-1252" && !certain && xmlEncoding(body) == "" {
		contentType = "text/xml; charset=utf-8"
	}
	return decode(contentType, body, opt)
}

// declared returns the character set from the byte order mark, the content type or the document's first bytes.
// certain is true for the first two. The default is windows-1252, not certain.
func declared(contentType string, body []byte) (enc encoding.Encoding, name string, certain bool) {
	head := body[:min(len(body), prescanned)]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return encoding.Nop, "utf-8", true
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		enc, name = charset.Lookup("utf-16be")
		return enc, name, true
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		enc, name = charset.Lookup("utf-16le")
		return enc, name, true
	}
	if enc, name = charset.Lookup(charsetParameter(contentType)); enc != nil {
		return enc, name, true
	}
	if label := xmlEncoding(head); label != "" {
		if enc, name = charset.Lookup(label); enc != nil {
			if strings.HasPrefix(name, "utf-16") { // it was readable as bytes, so it is not
				return encoding.Nop, "utf-8", false
			}
			return enc, name, false
		}
	}
	if !mentions(head, "charset") { // spare the prescan
		head = nil
	}
	enc, name, _ = charset.DetermineEncoding(head, "")
	return enc, name, false
}

// charsetParameter returns the charset of a Content-Type value, or "".
func charsetParameter(contentType string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return params["charset"]
	}
	// Servers write "text/html; charset=utf-8;" and worse.
	_, after, found := strings.Cut(strings.ToLower(contentType), "charset=")
	if !found {
		return ""
	}
	label, _, _ := strings.Cut(after, ";")
	return strings.Trim(label, " \t\"'")
}

// xmlEncoding returns the encoding in an XML declaration at the start, or "".
func xmlEncoding(head []byte) string {
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return ""
	}
	declaration, _, _ := bytes.Cut(head, []byte("?>"))
	_, after, found := bytes.Cut(declaration, []byte("encoding"))
	after = bytes.TrimLeft(after, " \t\r\n=")
	if !found || len(after) == 0 || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	label, _, closed := bytes.Cut(after[1:], after[:1])
	if !closed {
		return ""
	}
	return string(label)
}

// mentions reports whether the lower-case ASCII word occurs in head, in any case.
func mentions(head []byte, word string) bool {
	for i := 0; i+len(word) <= len(head); i++ {
		if head[i]|0x20 == word[0] && strings.EqualFold(string(head[i:i+len(word)]), word) {
			return true
		}
	}
	return false
}

// plainASCII reports whether the body means the same in the named character set as in ASCII.
func plainASCII(name string, body []byte) bool {
	if strings.HasPrefix(name, "utf-16") || name == "replacement" {
		return false
	}
	for _, c := range body {
		if c >= utf8.RuneSelf || c == 0x1b || c == '~' { // escapes of ISO-2022-JP and HZ
			return false
		}
	}
	return true
}
