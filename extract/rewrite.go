package extract

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"freshet/weburl"
)

// RewriteHTML returns an HTML document with replaced references. It calls to with the URL of each reference, and
// writes the result in its place: in attributes, srcset, refreshes, style sheets, style attributes and the documents
// in srcdoc attributes. The document may have any encoding that contains ASCII. All other bytes, and so the encoding,
// stay the same. RewriteHTML leaves alone: fragments, schemes other than http and https, invalid references, and
// references that scripts make. A base element counts from its position on.
//
// RewriteHTML removes what would prevent the document from loading its parts: integrity and crossorigin attributes,
// and a Content-Security-Policy in a meta element.
//
// A sandboxed page cannot load SVG files for svg use elements. So if load is not nil, RewriteHTML appends such files,
// at most 16 and only of the document's own site, to the document, and the elements refer to them there. load returns
// the content of a file, or nil if there is none. O(length of the document and the files).
//
// RewriteHTML writes at most 32 MiB of references into a document. Further ones stay as they are. It empties srcdoc
// attributes of documents that are more than eight deep in others.
func RewriteHTML(document []byte, own weburl.URL, to func(weburl.URL) string, load func(weburl.URL) []byte) []byte {
	return newReferences(own, to).html(document, load)
}

// html rewrites a document, and the files that load returns.
func (refs references) html(document []byte, load func(weburl.URL) []byte) []byte {
	r := rewriter{references: refs, tokens: tokenizer{document: document}, vectors: vectors{references: refs, load: load}}
	for {
		kind := r.tokens.next()
		switch {
		case kind == endOfDocument:
			return slices.Concat(r.out, document[r.copied:], r.vectors.out)
		case kind == characters && r.style:
			if sheet := r.css(r.tokens.raw); !bytes.Equal(sheet, r.tokens.raw) {
				r.replace(r.tokens.raw, sheet)
			}
		}
		r.style = kind == startTag && string(r.tokens.name) == "style"
		if kind == startTag && string(r.tokens.name) == "noscript" {
			r.tokens.until = "" // without scripts it is shown
		}
		if kind == startTag || kind == emptyTag {
			r.tag()
		}
	}
}

// RewriteCSS is RewriteHTML for a style sheet: its url(…) and @import. It leaves references with escapes alone.
func RewriteCSS(sheet []byte, own weburl.URL, to func(weburl.URL) string) []byte {
	return newReferences(own, to).css(sheet)
}

// references replaces references.
type references struct {
	from   weburl.URL
	to     func(weburl.URL) string
	left   *int // bytes that may still be written
	around int  // documents around this one, each in a srcdoc
}

const (
	maxReplaced = 32 << 20 // bytes of references that are written into one document
	maxAround   = 8        // documents around one in a srcdoc
)

func newReferences(own weburl.URL, to func(weburl.URL) string) references {
	left := maxReplaced
	return references{from: own, to: to, left: &left}
}

// replaced returns the replacement of a reference.
func (refs references) replaced(ref string) string {
	bare, fragment, cut := strings.Cut(strings.Trim(ref, htmlSpace), "#")
	if bare == "" || otherScheme([]byte(bare)) || *refs.left == 0 {
		return ref
	}
	u, err := refs.from.Parse(bare)
	if err != nil {
		return ref
	}
	if cut {
		fragment = "#" + fragment
	}
	text := refs.to(u) + fragment
	if *refs.left -= len(text); *refs.left < 0 {
		*refs.left = 0
		return ref
	}
	return text
}

// cssQuoted escapes the characters of a reference that would end it in a style sheet.
var cssQuoted = strings.NewReplacer(`"`, "%22", `'`, "%27", "(", "%28", ")", "%29", `\`, "%5C")

func (refs references) css(sheet []byte) []byte {
	var out []byte
	copied := 0
	for ref := range sheetReferences(sheet) {
		from := offsetIn(sheet, ref)
		out = append(append(out, sheet[copied:from]...), cssQuoted.Replace(refs.replaced(string(ref)))...)
		copied = from + len(ref)
	}
	return append(out, sheet[copied:]...)
}

// srcset returns a srcset with its references replaced.
func (refs references) srcset(set []byte) []byte {
	var out []byte
	copied := 0
	for ref := range candidates(set) {
		from := offsetIn(set, ref)
		out = append(append(out, set[copied:from]...), refs.replaced(string(ref))...)
		copied = from + len(ref)
	}
	return append(out, set[copied:]...)
}

// offsetIn returns the offset of part in text. Both slices must share memory up to the same capacity.
func offsetIn(text, part []byte) int { return cap(text) - cap(part) }

// rewriter is one pass over a document.
type rewriter struct {
	references
	tokens  tokenizer
	vectors vectors
	style   bool   // the next token is a style sheet
	out     []byte // the replacement of document[:copied]
	copied  int
}

// replace replaces a part of the document by text.
func (r *rewriter) replace(part, text []byte) {
	from := offsetIn(r.tokens.document, part)
	r.out = append(append(r.out, r.tokens.document[r.copied:from]...), text...)
	r.copied = from + len(part)
}

// tag replaces the references in the attributes of the current tag.
func (r *rewriter) tag() {
	var a attributes
	for _, v := range r.tokens.values {
		var buffer [maxName]byte
		if field := a.field(lower(v.name, &buffer)); field != nil && *field == nil {
			*field = v.value
		}
	}
	policy := string(r.tokens.name) == "meta" && equalFold(a.httpEquiv, "content-security-policy")
	refresh := string(r.tokens.name) == "meta" && equalFold(a.httpEquiv, "refresh")
	for _, v := range r.tokens.values {
		var buffer [maxName]byte
		name := string(lower(v.name, &buffer))
		switch {
		case name == "integrity", name == "crossorigin", policy && name == "http-equiv":
			r.replace(v.name, []byte("data-"+name))
			continue
		case len(v.value) == 0:
			continue
		}
		value, _ := unescape(nil, v.value, true)
		if text, ok := r.attribute(name, value, refresh); ok && text != string(value) {
			r.setValue(v.value, text)
		}
		if name == "href" && string(r.tokens.name) == "base" {
			if u, err := r.from.Parse(string(value)); err == nil {
				r.from = u
			}
		}
	}
}

// attribute returns an attribute's value with replaced references. ok is false if this attribute cannot have any.
func (r *rewriter) attribute(name string, value []byte, refresh bool) (text string, ok bool) {
	if (name == "href" || name == "xlink:href") && string(r.tokens.name) == "use" {
		if text, ok = r.vectors.reference(r.from, string(value)); ok {
			return text, true
		}
	}
	switch name {
	case "href", "xlink:href", "src", "data-src", "data-original", "data-lazy-src", "poster", "background", "action", "formaction", "longdesc", "manifest":
		return r.replaced(string(value)), true
	case "data":
		return r.replaced(string(value)), string(r.tokens.name) == "object"
	case "srcset", "data-srcset", "data-lazy-srcset", "imagesrcset":
		return string(r.srcset(value)), true
	case "style":
		return string(r.css(value)), true
	case "srcdoc":
		inner := r.references
		if inner.around++; inner.around > maxAround {
			return "", true
		}
		return string(inner.html(value, nil)), true
	case "content":
		target := refreshTarget(string(value))
		if !refresh || target == "" {
			return "", false
		}
		return strings.Replace(string(value), target, r.replaced(target), 1), true
	}
	return "", false
}

// setValue replaces an attribute's value, and adds quotation marks if it has none.
func (r *rewriter) setValue(value []byte, text string) {
	text = html.EscapeString(text)
	if before := r.tokens.document[offsetIn(r.tokens.document, value)-1]; before != '"' && before != '\'' {
		text = `"` + text + `"`
	}
	r.replace(value, []byte(text))
}
