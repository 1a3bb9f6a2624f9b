package extract

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"freshet/weburl"
)

// vectors are the SVG files with drawings for a document's use elements. A browser does not load such a file into a
// sandboxed page. So the files are appended to the document, invisible, and the elements refer to these copies.
//
// The ids and classes of each file get their own prefix, so that its style sheets apply only to the file. Its scripts
// are removed: a browser would not run them either. Unlike in a browser, rules of the document's style sheets for
// elements without a class apply to the file too.
type vectors struct {
	references                         // of the document
	load       func(weburl.URL) []byte // returns an SVG file, nil if there is none
	names      []weburl.URL            // of the files requested from load
	out        []byte                  // the files, without missing ones
	have       []bool                  // of each name
}

// maxVectors is the largest number of files of a document.
const maxVectors = 16

// reference returns the replacement of a use element's reference to a part of an SVG file. ok is false if the
// reference must stay. Like a browser, it uses only files of the page's own site.
func (v *vectors) reference(from weburl.URL, ref string) (instead string, ok bool) {
	bare, part, _ := strings.Cut(strings.Trim(ref, htmlSpace), "#")
	if v.load == nil || bare == "" || part == "" || otherScheme([]byte(bare)) {
		return "", false
	}
	file, err := from.Parse(bare)
	if err != nil || file.Site() != v.from.Site() {
		return "", false
	}
	i := slices.Index(v.names, file)
	if i < 0 {
		if len(v.names) == maxVectors {
			return "", false
		}
		i = len(v.names)
		v.names, v.have = append(v.names, file), append(v.have, v.put(file, i))
	}
	return fmt.Sprintf("#%s%s", vectorPrefix(i), part), v.have[i]
}

// vectorPrefix is before the ids of the ith file.
func vectorPrefix(i int) string { return fmt.Sprintf("freshet-%d-", i) }

// put appends a file, and reports whether there is one.
func (v *vectors) put(file weburl.URL, i int) bool {
	body := v.load(file)
	if body == nil {
		return false
	}
	refs := v.references
	refs.from = file
	body = refs.html(body, nil)
	v.out = fmt.Appendf(v.out, `<svg id="%s" aria-hidden="true" style="position:absolute;width:0;height:0;overflow:hidden">`, vectorPrefix(i))
	v.out = append(v.out, embedded(body, vectorPrefix(i))...)
	v.out = append(v.out, "</svg>"...)
	return true
}

// embedding is one pass over an SVG file that prepares it for an HTML document with other files.
type embedding struct {
	rewriter
	prefix string            // of ids and classes; alone it is a class of every element
	inURL  *strings.Replacer // puts the prefix into url(#id)
}

// embedded returns an SVG file in a form that can be part of an HTML document.
func embedded(file []byte, prefix string) []byte {
	e := embedding{rewriter{tokens: tokenizer{document: file}}, prefix,
		strings.NewReplacer(`url(#`, `url(#`+prefix, `url("#`, `url("#`+prefix, `url('#`, `url('#`+prefix)}
	script := false
	for {
		kind := e.tokens.next()
		named := string(e.tokens.name)
		switch {
		case kind == endOfDocument:
			return append(e.out, file[e.copied:]...)
		case kind == characters && e.style:
			e.replace(e.tokens.raw, e.sheet(e.tokens.raw))
		case script, kind != characters && kind != ignored && named == "script":
			e.replace(e.tokens.raw, nil)
		case kind == startTag, kind == emptyTag:
			e.tag()
		}
		e.style = kind == startTag && named == "style"
		script = kind == startTag && named == "script"
	}
}

// tag adds the prefix to the ids and classes of the current tag, and to references to them. It removes scripts.
func (e *embedding) tag() {
	class := []byte(` class="` + e.prefix + `"`)
	for _, a := range e.tokens.values {
		if equalFold(a.name, "class") && len(a.value) > 0 {
			class = nil
		}
	}
	raw, end := e.tokens.raw, 1
	for delimits[raw[end]]&inTag == 0 {
		end++
	}
	e.replace(raw[end:end], class)
	for _, a := range e.tokens.values {
		var buffer [maxName]byte
		name := string(lower(a.name, &buffer))
		value, _ := unescape(nil, a.value, true)
		switch {
		case strings.HasPrefix(name, "on"):
			e.replace(a.name, []byte("data-"+name))
		case len(value) == 0:
		case name == "id":
			e.setValue(a.value, e.prefix+string(value))
		case name == "class":
			e.setValue(a.value, e.prefix+" "+e.prefix+strings.Join(strings.Fields(string(value)), " "+e.prefix))
		case (name == "href" || name == "xlink:href") && value[0] == '#':
			e.setValue(a.value, "#"+e.prefix+string(value[1:]))
		case bytes.Contains(value, []byte("url(")):
			e.setValue(a.value, e.inURL.Replace(string(value)))
		}
	}
}

var (
	selectors = regexp.MustCompile(`[^{};]*\{`)
	nameInCSS = regexp.MustCompile(`[.#][A-Za-z_-]`)
)

// sheet adds the prefix to the ids and classes in a style sheet. A selector without any is restricted to the file's
// elements.
func (e *embedding) sheet(text []byte) []byte {
	text = []byte(e.inURL.Replace(string(text)))
	return selectors.ReplaceAllFunc(text, func(list []byte) []byte {
		if bytes.HasPrefix(bytes.TrimSpace(list), []byte("@")) {
			return list
		}
		parts := strings.Split(strings.TrimSuffix(string(list), "{"), ",")
		for i, part := range parts {
			named := nameInCSS.ReplaceAllStringFunc(part, func(name string) string { return name[:1] + e.prefix + name[1:] })
			if named == part {
				named = strings.TrimSpace(part) + "." + e.prefix
			}
			parts[i] = named
		}
		return []byte(strings.Join(parts, ",") + "{")
	})
}
