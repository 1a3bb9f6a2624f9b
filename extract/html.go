package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"freshet/consent"
	"freshet/weburl"
)

// MaxTitle is the largest length of Page.Title, in bytes.
const MaxTitle = 512

// reader is one pass over an HTML document. The base is known only at the end. Until then, references wait as
// written.
type reader struct {
	page   *Page
	opt    Options
	tokens *tokenizer
	text   *folded
	xhtml  bool // an empty-element tag has no content, whatever its name

	decoded   []byte // text and values of the current token that had references in them
	written   []byte // memory of the waiting references
	waiting   []reference
	base      *string // the first base's href
	canonical *string // the first rel=canonical
	licenses  []string
	titled    bool // the title has been read

	// Where the next token stands.
	inside   element // title, script, iframe, style or unseen: the next token is its text
	noscript bool
	nest     nest
}

// reference is a link as it is written.
type reference struct {
	start, end int
	rel        weburl.Rel
	noFollow   bool
}

// html reads a document in UTF-8 into the page.
func (p *Parser) html(page *Page, document []byte, xhtml bool, own weburl.URL) {
	p.tokens = tokenizer{document: document, values: p.tokens.values}
	r := &reader{
		page: page, opt: p.opt, tokens: &p.tokens, text: &p.text,
		xhtml: xhtml, decoded: p.decoded, written: p.written[:0], waiting: p.waiting[:0],
	}
	r.text.reset()
	r.read()
	page.Text = r.text.digest()
	page.SoftError = softError(page.Title, r.text.length)

	from := own
	if r.base != nil {
		if u, err := own.Parse(*r.base); err == nil {
			from = u
		}
	}
	p.links.expect(len(r.waiting))
	written := string(r.written)
	for _, ref := range r.waiting {
		p.links.resolve(from, written[ref.start:ref.end], Link{Rel: ref.rel, NoFollow: ref.noFollow})
	}
	if r.canonical != nil {
		page.Canonical, _ = from.Parse(*r.canonical)
	}
	page.license(from, r.licenses)
	p.tokens.document, p.decoded, p.written, p.waiting = nil, r.decoded, r.written, r.waiting
	if cap(p.written) > keepBuffer {
		p.written, p.waiting = nil, nil
	}
	if cap(p.decoded) > keepBuffer {
		p.decoded = nil
	}
}

// keepBuffer is the size of a buffer in bytes beyond which it is not kept for the next page.
const keepBuffer = 1 << 20

// read goes through the document token by token.
func (r *reader) read() {
	for {
		kind := r.tokens.next()
		switch kind {
		case endOfDocument:
			return
		case characters:
			r.characters()
		}
		r.inside = block
		switch kind {
		case startTag, emptyTag:
			r.open(kind == emptyTag)
		case endTag:
			r.close()
		}
	}
}

// characters handles the current token, which is text. Folding also covers line ends.
func (r *reader) characters() {
	if r.inside == style {
		r.sheet(r.tokens.text)
		return
	}
	if r.noscript || r.nest.hidden() || r.inside == script || r.inside == iframe || r.inside == unseen {
		return
	}
	for rest := r.tokens.text; len(rest) > 0; {
		text := rest[:pieceEnd(rest)]
		rest = rest[len(text):]
		if r.tokens.whole {
			text = withoutNUL(text)
		}
		if !r.tokens.plain {
			text, r.decoded = unescape(r.decoded[:0], text, false)
		}
		r.text.add(text)
		if r.inside == title && !r.titled {
			r.titled = true
			r.page.Title = foldTitle(text)
		}
	}
}

// maxPiece is how many bytes of text are decoded at once, and how many of an attribute's value are read: a longer
// value holds data, not references.
const maxPiece = 64 << 10

// pieceEnd returns where the first piece of text ends. It does not split a character, or a character reference of
// usual length.
func pieceEnd(text []byte) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	const longest = 64
	for end := maxPiece; end > maxPiece-longest; end-- {
		switch c := text[end]; {
		case c == '&':
			return end
		case utf8.RuneStart(c) && c != ';' && c != '#' && !isLetter(c) && (c < '0' || c > '9'):
			return end
		}
	}
	end := maxPiece
	for !utf8.RuneStart(text[end]) && end > maxPiece-utf8.UTFMax {
		end--
	}
	return end
}

// withoutNUL returns text with a replacement character for every NUL.
func withoutNUL(text []byte) []byte {
	if bytes.IndexByte(text, 0) < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
}

// open handles a start tag.
func (r *reader) open(selfClosing bool) {
	name := r.name()
	e := r.element(name)
	r.sheet(r.attribute("style"))
	if r.nest.foreign() && r.breaksOut(name) {
		r.nest.leave()
	}
	if r.nest.foreign() {
		r.openForeign(e, selfClosing)
		return
	}
	empty := selfClosing && (r.xhtml || e == svg || e == math)
	switch e {
	case title, style, unseen, iframe, script:
		r.inside = e
	case noscript:
		r.noscript = !empty
		r.tokens.until = "" // its links count; to the tokenizer it is text
	case template, svg, math:
		if !empty {
			r.nest.push(e)
		}
	}
	if e.carries() {
		r.carry(e)
	}
	if empty {
		r.inside = block
		r.tokens.until = ""
	}
	r.tokens.cdata = r.nest.foreign()
}

// close handles an end tag.
func (r *reader) close() {
	name := r.name()
	e := r.element(name)
	if e == noscript && !r.nest.foreign() {
		r.noscript = false
	}
	if len(r.nest.open) == 0 {
		return
	}
	if r.nest.foreign() && r.endsForeign(name) {
		r.nest.leave()
	}
	r.nest.pop(e)
	r.tokens.cdata = r.nest.foreign()
}

// name returns the name of the current tag, in XHTML without svg's prefix.
func (r *reader) name() []byte {
	if r.xhtml {
		return bytes.TrimPrefix(r.tokens.name, []byte("svg:"))
	}
	return r.tokens.name
}

// element returns the element of the current tag. It ends the word if the element's tags do.
func (r *reader) element(name []byte) element {
	e := elementOf(name)
	if e.parts() {
		r.text.space()
	}
	return e
}

// carry keeps the references in the tag's attributes.
func (r *reader) carry(e element) {
	var a attributes
	if !r.attributes(&a) {
		return
	}
	switch e {
	case anchor, area:
		if a.href != nil {
			r.refer(a.href, weburl.RelAnchor, hasToken(a.rel, "nofollow"))
			r.license(&a)
		}
	case base:
		if r.base == nil && a.href != nil && r.nest.templates == 0 {
			r.base = kept(a.href)
		}
	case link:
		r.link(&a)
	case meta:
		r.meta(&a)
	case frame, iframe:
		r.require(a.src, weburl.RelFrame)
		r.require(a.laterSrc, weburl.RelFrame)
	case image, source:
		r.require(a.src, weburl.RelEmbed)
		r.require(a.laterSrc, weburl.RelEmbed)
		for _, set := range [][]byte{a.srcset, a.laterSrcset} {
			for ref := range candidates(set) {
				r.require(ref, weburl.RelEmbed)
			}
		}
	case embed, script:
		r.require(a.src, weburl.RelEmbed)
	case video:
		r.require(a.src, weburl.RelEmbed)
		r.require(a.poster, weburl.RelEmbed)
	case object:
		r.require(a.data, weburl.RelEmbed)
	case background:
		r.require(a.background, weburl.RelEmbed)
	}
}

// attributes reads the attributes of the current tag. It reports whether there are any.
func (r *reader) attributes(a *attributes) bool {
	r.decoded = r.decoded[:0]
	for _, v := range r.tokens.values {
		var buffer [maxName]byte
		if field := a.field(lower(v.name, &buffer)); field != nil && *field == nil {
			*field = r.value(v)
		}
	}
	return len(r.tokens.values) > 0
}

// value returns the value of an attribute. It is never nil, and valid until the next token.
func (r *reader) value(v attribute) (value []byte) {
	if v.value == nil {
		return []byte{}
	}
	value, r.decoded = unescape(r.decoded, withoutNUL(v.value[:min(len(v.value), maxPiece)]), true)
	return value
}

// link keeps the references of a link element.
func (r *reader) link(a *attributes) {
	rel, follow := linkRel(string(a.rel), string(a.kind))
	if !follow {
		return
	}
	if rel == weburl.RelCanonical && r.canonical == nil && len(a.href) > 0 {
		r.canonical = kept(a.href)
	}
	r.license(a)
	r.require(a.href, rel)
	for ref := range candidates(a.imagesrcset) {
		r.require(ref, weburl.RelEmbed)
	}
}

// license keeps the target of a link of rel=license until the base is known.
func (r *reader) license(a *attributes) {
	if hasToken(a.rel, "license") && len(a.href) > 0 && len(a.href) <= maxReference && len(r.licenses) < maxLicenses {
		r.licenses = append(r.licenses, string(a.href))
	}
}

// meta obeys a meta element.
func (r *reader) meta(a *attributes) {
	if equalFold(a.httpEquiv, "refresh") {
		r.require([]byte(refreshTarget(string(a.content))), weburl.RelRefresh)
	}
	if equalFold(a.name, "robots") || equalFold(a.name, r.opt.Agent) {
		r.page.obey(consent.Meta, string(a.content))
	}
	for _, name := range []string{consent.TDMReservation, consent.TDMPolicy} {
		if equalFold(a.name, name) {
			r.page.Signals = r.page.Signals.With(consent.Meta, name, string(a.content))
		}
	}
}

// sheet keeps the references of a style sheet, or of a style attribute.
func (r *reader) sheet(sheet []byte) {
	for ref := range sheetReferences(sheet) {
		r.require(ref, weburl.RelEmbed)
	}
}

// require keeps a reference unless it is empty.
func (r *reader) require(ref []byte, rel weburl.Rel) {
	if len(ref) > 0 {
		r.refer(ref, rel, false)
	}
}

// refer keeps a reference until the base is known.
func (r *reader) refer(ref []byte, rel weburl.Rel, noFollow bool) {
	if otherScheme(ref) {
		return
	}
	if len(ref) > maxReference || len(r.waiting) >= r.opt.MaxLinks {
		r.page.LinksDropped++
		return
	}
	if free := cap(r.written) - len(r.written); free < len(ref) && cap(r.written) >= freeBytes {
		// It is copied again when the base is known.
		if more := 3 * int64(cap(r.written)); int64(cap(r.written)) > r.opt.MaxLinkBytes/4 || r.opt.Room(more) != nil {
			r.page.LinksDropped++
			return
		}
	}
	start := len(r.written)
	r.written = append(r.written, ref...)
	r.waiting = append(r.waiting, reference{start, len(r.written), rel, noFollow})
}

// otherScheme reports whether the reference clearly begins with a scheme other than http and https. It is a fast
// filter before the URL parser.
func otherScheme(ref []byte) bool {
	for i, c := range ref {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case c == ':' && i > 0:
			return !equalFold(ref[:i], "http") && !equalFold(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

// foldTitle returns the text with folded white space, cut to at most MaxTitle bytes between characters.
func foldTitle(text []byte) string {
	const enough = 8 * MaxTitle
	title := strings.Join(strings.Fields(string(text[:min(len(text), enough)])), " ")
	return strings.ToValidUTF8(title[:min(len(title), MaxTitle)], "")
}

// kept returns a copy of the value. It cuts values that are too long for a reference.
func kept(value []byte) *string {
	s := string(value[:min(len(value), maxReference+1)])
	return &s
}

// firstOf returns a, or b if a is nil.
func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// equalFold compares with a lower-case ASCII word in any case.
func equalFold(text []byte, word string) bool {
	return len(text) == len(word) && strings.EqualFold(string(text), word)
}
