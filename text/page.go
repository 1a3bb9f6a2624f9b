package text

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/extract"
)

// Limits bounds the reading of a document. Zero values mean the defaults.
type Limits struct {
	Bytes  int64 // of the document, as UTF-8; default 8 MiB
	Blocks int   // default 20,000
	Nodes  int   // of a document for the library; default 100,000
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 8 << 20
	}
	if l.Blocks <= 0 {
		l.Blocks = 20_000
	}
	if l.Nodes <= 0 {
		l.Nodes = 100_000
	}
	return l
}

// MaxBytes returns the largest number of bytes of a document, with the default applied.
func (l Limits) MaxBytes() int64 { return l.orDefault().Bytes }

// ErrUnreadable matches the errors of documents without readable text.
var ErrUnreadable = errors.New("text: unreadable")

// A Page is an HTML document divided into blocks. Not for concurrent use.
type Page struct {
	tree   *html.Node
	blocks []block
	nodes  int
	kind   kind
	posts  int    // bodies of posts
	title  string // of the title element
	lang   string // language that the page states
	base   string // address that its links are relative to, if it names one
}

// block is a run of text without layout elements in it.
type block struct {
	text    string // white space folded
	pieces  []*html.Node
	links   int    // bytes of the text in links
	words   int    // counted up to fewWords
	place   uint64 // hash of the tags and classes above it
	heading bool
	post    bool // in the body of a post
	main    bool // in the main part, by the page's markup
	frame   bool // in navigation, or the head or foot of the site, by the page's markup
	chrome  bool // by its tags or names it is navigation, a footer and the like
	pre     bool
}

// fewWords is up to how many the words of a block are counted.
const fewWords = 8

// mostlyLinks reports whether at least three quarters of the block are links. The rest is probably separators.
func (b *block) mostlyLinks() bool { return b.links*4 >= len(b.text)*3 }

// Parse divides an HTML document into blocks. The content type may name the character set. Its error is
// ErrUnreadable.
func Parse(contentType string, document []byte, limits Limits) (*Page, error) {
	limits = limits.orDefault()
	said := extract.UTF8(contentType, document, limits.Bytes)
	tree, err := parse(said[:min(int64(len(said)), limits.Bytes)])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	p := &Page{tree: tree}
	w := walker{page: p, most: limits.Blocks, named: measure(tree)}
	w.walk(tree, 0, around{})
	w.end()
	return p, nil
}

// walker collects the blocks of a page in the order of the document.
type walker struct {
	page  *Page
	most  int
	named map[*html.Node]bool // hold no main text by their names

	text    strings.Builder // of the block that is open
	pieces  []*html.Node
	links   int
	place   uint64
	heading bool
	in      around
	pre     bool
}

// around holds the properties of the elements around a node.
type around struct{ link, post, main, frame, chrome bool }

// walk visits a node and those below it. The parser bounds their depth.
func (w *walker) walk(n *html.Node, place uint64, in around) {
	w.page.nodes++
	switch n.Type {
	case html.TextNode:
		w.add(n, place, in)
		return
	case html.ElementNode:
		w.page.kind.see(n)
		switch n.DataAtom {
		case atom.Noscript:
			return
		case atom.Title:
			if w.page.title == "" && n.FirstChild != nil {
				w.page.title = short(fold(n.FirstChild.Data))
			}
			return
		case atom.Base:
			if w.page.base == "" {
				w.page.base = attribute(n, "href")
			}
		case atom.Html:
			w.page.lang = attribute(n, "lang")
		case atom.Meta:
			if w.page.lang == "" && strings.EqualFold(attribute(n, "http-equiv"), "content-language") {
				w.page.lang = attribute(n, "content")
			}
		case atom.A:
			in.link = true
		}
		if isSilent(n) || hidden(n) {
			return
		}
	case html.CommentNode, html.DoctypeNode:
		return
	}
	inline := n.Type == html.ElementNode && phrasing[n.DataAtom]
	if !inline {
		w.end()
		place = below(place, n)
		in.frame = in.frame || isFrame(n)
		in.chrome = in.chrome || isChrome(n) || w.named[n]
		in.main = in.main || n.DataAtom == atom.Main || attribute(n, "role") == "main"
		if !in.post && isPost(n) {
			in.post = true
			w.page.posts++
		}
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if isMark(c) {
			n.RemoveChild(c)
		} else {
			w.walk(c, place, in)
		}
		c = next
	}
	if !inline {
		w.end()
	}
}

// add appends a text node to the open block, or begins one.
func (w *walker) add(n *html.Node, place uint64, in around) {
	if len(w.page.blocks) >= w.most {
		return
	}
	if len(w.pieces) == 0 {
		w.place, w.in = place, in
		w.heading, w.pre = headed(n)
	}
	w.pieces = append(w.pieces, n)
	w.text.WriteString(n.Data)
	if in.link {
		w.links += len(fold(n.Data))
	}
}

// end closes the open block and keeps it if it has any text.
func (w *walker) end() {
	if len(w.pieces) == 0 {
		return
	}
	raw := w.text.String()
	b := block{text: fold(raw), pieces: w.pieces, links: w.links, place: w.place, heading: w.heading, pre: w.pre}
	b.post, b.main, b.frame, b.chrome = w.in.post, w.in.main, w.in.frame, w.in.chrome
	for range strings.FieldsSeq(b.text) {
		if b.words++; b.words == fewWords {
			break
		}
	}
	if b.pre {
		b.text = strings.Trim(strings.ReplaceAll(raw, "\r", ""), "\n")
	}
	w.text.Reset()
	w.pieces, w.links = nil, 0
	if b.words > 0 {
		w.page.blocks = append(w.page.blocks, b)
	}
}

// phrasing are the elements that do not divide a block.
var phrasing = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Button: true,
	atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Img: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true, atom.Rb: true,
	atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

// silent are the elements whose text is not read.
var silent = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Iframe: true, atom.Svg: true, atom.Object: true,
	atom.Select: true, atom.Math: true, atom.Rp: true, atom.Rt: true, atom.Rtc: true,
	atom.Textarea: true, atom.Datalist: true,
}

// isSilent reports whether the text of an element is not read. A button in a heading opens what the heading is of.
func isSilent(n *html.Node) bool {
	if n.DataAtom == atom.Button {
		heading, _ := headed(n)
		return !heading
	}
	return silent[n.DataAtom]
}

// isMark reports whether an element is a sign beside a heading that leads to the heading itself, or to a page that
// edits it.
func isMark(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Span:
		return strings.Contains(attribute(n, "class"), "mw-editsection")
	case atom.A:
		return strings.Contains(attribute(n, "href"), "#") && !says(n)
	}
	return false
}

// says reports whether there is a letter, a digit or an image below a node.
func says(n *html.Node) bool {
	for below := range n.Descendants() {
		if below.DataAtom == atom.Img || below.Type == html.TextNode && strings.ContainsFunc(below.Data, isWord) {
			return true
		}
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// headed reports whether a text node is in a heading, and whether its white space counts.
func headed(n *html.Node) (heading, pre bool) {
	for p := n.Parent; p != nil; p = p.Parent {
		switch p.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true, false
		case atom.Pre:
			return false, true
		}
		if !phrasing[p.DataAtom] {
			return false, false
		}
	}
	return false, false
}

// hidden reports whether an element is never shown.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			style := strings.ReplaceAll(a.Val, " ", "")
			if strings.Contains(style, "display:none") {
				return true
			}
		case "aria-hidden":
			if a.Val == "true" && n.DataAtom != atom.Body && n.DataAtom != atom.Main {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// below returns the place of the content of an element.
func below(place uint64, n *html.Node) uint64 {
	if n.Type != html.ElementNode {
		return place
	}
	if n.DataAtom == atom.Html || n.DataAtom == atom.Body {
		return place // their classes depend on the page
	}
	name := n.Data + "." + alike(attribute(n, "class"))
	return xxh3.HashStringSeed(name, place)
}

// fold makes every run of white space one space, with none at the ends.
func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// alike makes texts equal that differ only in numbers and case.
func alike(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		if unicode.IsDigit(r) {
			if !digits {
				b.WriteByte('0')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// firstWords returns up to two words at the start of a text, made alike.
func firstWords(text string) string {
	const longest = 64 // bytes
	if len(text) > longest {
		text = text[:longest]
		for !utf8.ValidString(text) && len(text) > longest-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	words := strings.Fields(text)
	return alike(strings.Join(words[:min(2, len(words))], " "))
}
