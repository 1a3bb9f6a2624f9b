package extract

import (
	"slices"

	"freshet/weburl"
)

// nest holds the open elements that change how a reader reads HTML. In svg and math, no element is raw text, a tag
// with a slash is an empty element, and CDATA sections are text. Some elements within them contain HTML again.
// Templates contain HTML that is not shown.
//
// It holds no other elements. So it cannot know whether such an element is open when its end tag comes.
type nest struct {
	open      []element // innermost last, at most maxNest
	templates int       // of them, templates
}

// maxNest is how many open elements nest remembers. Deeper ones count as part of the element around them.
const maxNest = 64

// push opens an element.
func (n *nest) push(e element) {
	if len(n.open) == maxNest {
		return
	}
	n.open = append(n.open, e)
	if e == template {
		n.templates++
	}
}

// pop closes the innermost open element of the kind, with everything in it. It closes nothing outside of a template.
func (n *nest) pop(e element) {
	for i, v := range slices.Backward(n.open) {
		if v == e {
			n.open = n.open[:i]
			if e == template {
				n.templates--
			}
			return
		}
		if v == template {
			return
		}
	}
}

// leave closes svg and math up to the HTML around them.
func (n *nest) leave() {
	for n.foreign() {
		n.open = n.open[:len(n.open)-1]
	}
}

// foreign reports whether the next token belongs to svg or math.
func (n *nest) foreign() bool {
	if len(n.open) == 0 {
		return false
	}
	switch n.open[len(n.open)-1] {
	case svg, math, script, style, unseen, iframe, noscript:
		return true
	}
	return false
}

// hidden reports whether the next text is not shown.
func (n *nest) hidden() bool {
	if len(n.open) == 0 {
		return false
	}
	top := n.open[len(n.open)-1]
	return n.templates > 0 || n.foreign() && top != svg && top != math
}

// root returns the innermost svg or math.
func (n *nest) root() element {
	for _, e := range slices.Backward(n.open) {
		if e == svg || e == math {
			return e
		}
	}
	return block
}

// openForeign handles a start tag inside svg or math.
func (r *reader) openForeign(e element, empty bool) {
	r.tokens.until = ""
	root := r.nest.root()
	opens := false
	switch e {
	case anchor, image, reuse:
		r.carryForeign(e)
	case script:
		r.carryForeign(e)
		opens = true
	case style:
		r.inside = e
		opens = true
	case svg, math, unseen, iframe, noscript:
		opens = true
	case foreignObject, desc, title:
		opens = root == svg
	case mathText:
		opens = root == math
	case annotation:
		encoding := r.attribute("encoding")
		opens = root == math && (equalFold(encoding, "text/html") || equalFold(encoding, "application/xhtml+xml"))
	}
	if opens && !empty {
		r.nest.push(e)
	}
}

// carryForeign keeps the references of svg's elements.
func (r *reader) carryForeign(e element) {
	var a attributes
	if !r.attributes(&a) {
		return
	}
	ref := firstOf(a.href, a.xlinkHref)
	switch {
	case e != anchor:
		r.require(ref, weburl.RelEmbed)
	case ref != nil:
		r.refer(ref, weburl.RelAnchor, hasToken(a.rel, "nofollow"))
	}
}

// attribute returns the value of the current tag's first attribute with one of the names, or nil.
func (r *reader) attribute(names ...string) []byte {
	for _, v := range r.tokens.values {
		var buffer [maxName]byte
		if slices.Contains(names, string(lower(v.name, &buffer))) {
			r.decoded = r.decoded[:0]
			return r.value(v)
		}
	}
	return nil
}

// breaksOut reports whether the start tag is not allowed in svg or math, and so ends it.
func (r *reader) breaksOut(name []byte) bool {
	if r.xhtml {
		return false
	}
	switch string(name) {
	case "font":
		return r.attribute("color", "face", "size") != nil
	default:
		return isHTML(name)
	}
}

// endsForeign reports whether the end tag ends svg or math. It does if it closes an HTML element around it. The
// reader does not know whether there is one, and assumes so.
func (r *reader) endsForeign(name []byte) bool {
	if r.xhtml {
		return false
	}
	switch string(name) {
	case "html", "article", "aside", "button", "footer", "form", "header", "label", "main", "nav", "section",
		"caption", "tbody", "td", "tfoot", "th", "thead", "tr":
		return true
	}
	return isHTML(name)
}

// isHTML lists the elements that the standard's parser moves out of svg and math.
func isHTML(name []byte) bool {
	switch string(name) {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
		"h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta",
		"nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table",
		"tt", "u", "ul", "var":
		return true
	}
	return false
}
