package extract

// element is a kind of tag, by what the reader does with it.
type element uint8

const (
	block         element = iota // parts words and is otherwise ignored; so are unknown elements
	inline                       // neither parts words nor carries anything
	anchor                       // a: inline, and a link
	area                         // its link is an anchor's
	base                         //
	link                         //
	meta                         //
	frame                        // the link in src is a page of its own
	iframe                       // the same; what it contains is raw text that is not shown
	embed                        // the link in src belongs to the page
	image                        // img: src, srcset; svg's image: href
	source                       // src, srcset
	video                        // src, poster
	object                       // data
	reuse                        // svg's use and feImage: href
	background                   // the link in background
	title                        //
	script                       // raw text that is not shown; src, svg's href
	style                        // the same: a style sheet
	unseen                       // raw text that is not shown
	noscript                     //
	template                     //
	svg                          //
	math                         //
	foreignObject                // the places in svg and math that are HTML again, beside title
	desc                         //
	mathText                     //
	annotation                   // if its encoding says so
)

// elementOf returns the element of a tag name in lower case. An XML prefix is part of the name.
func elementOf(name []byte) element {
	switch string(name) {
	case "a":
		return anchor
	case "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
		"font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span",
		"strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr":
		return inline
	case "area":
		return area
	case "base":
		return base
	case "link":
		return link
	case "meta":
		return meta
	case "frame":
		return frame
	case "iframe":
		return iframe
	case "embed", "input", "audio", "track":
		return embed
	case "img", "image":
		return image
	case "source":
		return source
	case "video":
		return video
	case "object":
		return object
	case "use", "feimage":
		return reuse
	case "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th":
		return background
	case "title":
		return title
	case "script":
		return script
	case "style":
		return style
	case "noembed", "noframes":
		return unseen
	case "noscript":
		return noscript
	case "template":
		return template
	case "svg":
		return svg
	case "math":
		return math
	case "foreignobject":
		return foreignObject
	case "desc":
		return desc
	case "mi", "mo", "mn", "ms", "mtext":
		return mathText
	case "annotation-xml":
		return annotation
	}
	return block
}

// parts reports whether the element's tags end a word: "fresh<b>et</b>" is one word, "fresh<br>et" two. Elements that
// show nothing do not end a word. The list belongs to TextVersion.
func (e element) parts() bool {
	switch e {
	case inline, anchor, base, link, meta, script, style, unseen, noscript, template:
		return false
	}
	return true
}

// attributes holds the values of the attributes that matter, or nil. If an attribute occurs twice, the first counts.
type attributes struct {
	href, xlinkHref, src, srcset, imagesrcset, data, poster, background []byte

	// Scripts copy these to src and srcset when the element becomes visible.
	laterSrc, laterSrcset []byte

	rel, kind, name, httpEquiv, content []byte
}

// field returns the field for the attribute's value, or nil if the attribute does not matter.
func (a *attributes) field(key []byte) *[]byte {
	switch string(key) {
	case "href":
		return &a.href
	case "xlink:href":
		return &a.xlinkHref
	case "src":
		return &a.src
	case "srcset":
		return &a.srcset
	case "data-src", "data-original", "data-lazy-src":
		return &a.laterSrc
	case "data-srcset", "data-lazy-srcset":
		return &a.laterSrcset
	case "imagesrcset":
		return &a.imagesrcset
	case "data":
		return &a.data
	case "poster":
		return &a.poster
	case "background":
		return &a.background
	case "rel":
		return &a.rel
	case "type":
		return &a.kind
	case "name":
		return &a.name
	case "http-equiv":
		return &a.httpEquiv
	case "content":
		return &a.content
	}
	return nil
}

// carries reports whether the element has attributes that matter in HTML.
func (e element) carries() bool {
	switch e {
	case anchor, area, base, link, meta, frame, iframe, embed, image, source, video, object, background, script:
		return true
	}
	return false
}
