package text

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The parser opens an element that formats text again in each block that follows the one that leaves it open, as
// browsers do. So 20 KB of a document can make millions of nodes. It does so with no element that it does not know:
// while a document is parsed, these have other names. The element a may keep its own: the parser has one open at a
// time.

// formats are the elements that the parser reopens.
var formats = map[string]bool{
	"b": true, "big": true, "code": true, "em": true, "font": true, "i": true, "nobr": true, "s": true, "small": true,
	"strike": true, "strong": true, "tt": true, "u": true,
}

// longestFormat is the length of the longest of their names.
const longestFormat = len("strong")

// isFormat reports whether a tag, without its first sign, is of one of these elements.
func isFormat(tag []byte) bool {
	tag = bytes.TrimPrefix(tag[:min(len(tag), longestFormat+2)], []byte("/"))
	end := bytes.IndexAny(tag, " \t\n\f\r/>")
	if end < 0 || end > longestFormat {
		return false
	}
	var lower [longestFormat]byte
	for i, c := range tag[:end] {
		if lower[i] = c; 'A' <= c && c <= 'Z' {
			lower[i] = c - 'A' + 'a'
		}
	}
	return formats[string(lower[:end])]
}

// unknown is the prefix of the names of these elements while a document is parsed.
const unknown = "x-"

// parse returns the tree of a document in UTF-8. Its number of nodes is at most a small multiple of the document's
// tags.
func parse(document []byte) (*html.Node, error) {
	document = rename(document)
	tree, err := html.ParseWithOptions(bytes.NewReader(document), html.ParseOptionEnableScripting(false))
	if err != nil { // its elements are too deep
		tree, err = html.ParseWithOptions(bytes.NewReader(shallow(document)), html.ParseOptionEnableScripting(false))
	}
	if err != nil {
		return nil, err
	}
	for n := range tree.Descendants() {
		for i := range n.Attr {
			n.Attr[i].Val = named(n.Attr[i].Val)
		}
		if n.Type != html.ElementNode {
			n.Data = visible(named(n.Data))
		} else if name, is := strings.CutPrefix(n.Data, unknown); is && formats[name] {
			n.Data, n.DataAtom = name, atom.Lookup([]byte(name))
		} else if n.DataAtom == atom.A && attribute(n, "href") == "" && attribute(n, "name") != "" {
			// It is no link. It may never end, and have a page in it.
			n.Data, n.DataAtom = "span", atom.Span
		}
	}
	return tree, nil
}

// visible returns a text without signs that are not seen. Some say where a line may break, and soft hyphens part words
// that people search for. Control characters move the cursor of a terminal that shows the text.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00ad' || r == '\u200b' || r == '\ufeff':
			return -1 // soft hyphen, place to break, mark of the order of bytes
		case unicode.IsControl(r) && !unicode.IsSpace(r):
			return -1
		}
		return r
	}, text)
}

// rename gives formatting elements their other names, wherever a document may have a tag: only the parser can tell a
// tag from text.
func rename(document []byte) []byte {
	out := make([]byte, 0, len(document)+len(document)/16)
	for {
		at := bytes.IndexByte(document, '<') + 1
		if at == 0 {
			return append(out, document...)
		}
		out, document = append(out, document[:at]...), document[at:]
		if !isFormat(document) {
			continue
		}
		if document[0] == '/' {
			out, document = append(out, '/'), document[1:]
		}
		out = append(out, unknown...)
	}
}

// renamed matches names in text that rename has put there.
var renamed = regexp.MustCompile(`(</?)` + unknown + `([a-zA-Z]+[\s/>])`)

// named undoes rename in text.
func named(said string) string {
	if !strings.Contains(said, unknown) {
		return said
	}
	return renamed.ReplaceAllString(said, "$1$2")
}

// deepest is how many elements shallow leaves around another, without those that end by themselves. The parser takes
// 512, and each table in a cell may count five of these.
const deepest = 80

// single are the elements that have no content or end by themselves.
var single = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "dd": true, "dt": true, "embed": true, "frame": true, "hr": true,
	"img": true, "input": true, "li": true, "link": true, "meta": true, "option": true, "p": true, "source": true,
	"tbody": true, "td": true, "tfoot": true, "th": true, "thead": true, "tr": true, "track": true, "wbr": true,
}

// shallow returns a document without the tags of elements that are nested too deep, but with their text.
func shallow(document []byte) []byte {
	out := make([]byte, 0, len(document))
	var around []string
	open := map[string]int{} // how many of a name are around
	for z := html.NewTokenizer(bytes.NewReader(document)); ; {
		kind := z.Next()
		raw := len(out)
		out = append(out, z.Raw()...)
		tag, _ := z.TagName()
		name := string(tag)
		switch {
		case kind == html.ErrorToken:
			return out
		case single[name]:
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			around = append(around, name)
			open[name]++
			if len(around) > deepest {
				out = out[:raw]
			}
		case kind == html.EndTagToken && open[name] > 0:
			for last := ""; last != name; {
				last = around[len(around)-1]
				around = around[:len(around)-1]
				open[last]--
			}
			if len(around) >= deepest {
				out = out[:raw]
			}
		}
	}
}
