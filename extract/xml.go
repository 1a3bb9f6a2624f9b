package extract

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Bounds of the XML that is read.
const (
	maxDepth   = 256      // open elements; a deeper document is broken
	maxContent = 64 << 10 // bytes kept of one element's text
)

// visitor receives the elements of an XML document. A path holds the local names of the open
// elements, the current one last.
type visitor interface {
	// open is called for a start tag. The prefix is the element's, as written.
	open(path []string, prefix string, attributes []xml.Attr)
	// close is called for an end tag, said or implied, with the text since the last tag. It returns
	// false to stop.
	close(path []string, text string) bool
}

// walk takes a visitor through a document in UTF-8, forgivingly: entities that are not XML's own
// stay as written, end tags that fit no open element are ignored, those that fit an outer one close
// what is inside. Entities are never expanded. The error says why it ended before the end; what was
// visited before holds.
func walk(document []byte, v visitor) error {
	d := xml.NewDecoder(bytes.NewReader(document))
	d.Strict = false
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	var path []string
	var text []byte
	for {
		token, err := d.RawToken()
		if err == io.EOF && len(path) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("extract: XML: %w", err)
		}
		switch t := token.(type) {
		case xml.CharData:
			text = append(text, t[:min(len(t), maxContent-len(text))]...)
		case xml.StartElement:
			if len(path) >= maxDepth {
				return fmt.Errorf("extract: XML: more than %d elements in each other", maxDepth)
			}
			path = append(path, t.Name.Local)
			v.open(path, t.Name.Space, t.Attr)
			text = text[:0]
		case xml.EndElement:
			for n := opened(path, t.Name.Local); n >= 0 && len(path) > n; path = path[:len(path)-1] {
				if !v.close(path, strings.TrimSpace(string(text))) {
					return nil
				}
				text = text[:0]
			}
		}
	}
}

// opened returns the index of the innermost open element of that name, -1 if there is none.
func opened(path []string, name string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == name {
			return i
		}
	}
	return -1
}

// rootElement returns the local name of the first element of an XML or HTML document in lower case,
// as written before any decoding; "" if none is found in the first 4 KiB.
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
