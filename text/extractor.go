package text

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/abadojack/whatlanggo"
	trafilatura "github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/extract"
	"freshet/weburl"
)

// A Document is the text of a version.
type Document struct {
	Title    string    // at most 1 KiB, as the byline
	Byline   string    // who wrote it; "" if unknown
	Date     time.Time // of publication; zero if unknown
	Language string    // ISO 639-1; "" if unknown
	Text     string    // main text, a block a line, headings among them
	Markdown string    // of the main text, or the text itself if that takes too long; "" unless requested
	Model    bool      // without text that repeats across the site
}

// An Extractor makes documents of pages. It is not safe for concurrent use. Close waits for a running call of the
// library.
type Extractor struct {
	limits  Limits
	library chan struct{} // has a token while no call of the library is running
}

// NewExtractor returns an extractor with these limits.
func NewExtractor(limits Limits) *Extractor {
	e := &Extractor{limits: limits.orDefault(), library: make(chan struct{}, 1)}
	e.library <- struct{}{}
	return e
}

// Close waits until the library has returned.
func (e *Extractor) Close() { <-e.library }

// Read returns the document of a page. It consumes the page: call Site.Learn before. own is the page's URL. site may
// be nil; it counts only if it is Ripe. With markdown, the document also has Markdown. Read waits for the library
// until ctx ends.
func (e *Extractor) Read(ctx context.Context, p *Page, own weburl.URL, site *Site, markdown bool) Document {
	d := Document{Title: p.title}
	kept, known := p.kept(site)
	d.Model = known
	whole := !known && p.kind.saysArticle() && !p.isThread()
	found := e.ask(ctx, p, own, whole, markdown)
	if found != nil {
		m := found.Metadata
		d.Title, d.Byline, d.Date = titleOf(m.Title, p.title), short(m.Author), m.Date
	}
	tree := p.tree
	if whole && found != nil && p.believes(found.ContentText, kept) {
		d.Text, tree = lines(found.ContentNode), found.ContentNode
	} else {
		d.Text = plain(p.blocks, kept)
		if markdown {
			prune(p, kept)
		}
	}
	if markdown {
		d.Markdown = e.markdown(ctx, p, tree, own, d.Text)
	}
	d.Language = languageOf(p.lang, d.Text)
	return d
}

// Brief is Read without author and date. If the site is Ripe, it does not call the library, which saves most of the
// work.
func (e *Extractor) Brief(ctx context.Context, p *Page, own weburl.URL, site *Site) Document {
	kept, known := p.kept(site)
	if !known {
		return e.Read(ctx, p, own, site, false)
	}
	said := plain(p.blocks, kept)
	return Document{Title: p.title, Text: said, Language: languageOf(p.lang, said), Model: true}
}

const (
	// the least text that counts if the library finds it: on a short page it takes everything, even hidden text
	fewBytes = 300

	// The library reads an article, unless the kept paragraphs have more than this many times its text. For
	// pages that claim to be something else too, the kept blocks count, unless the library agrees but for a fifth.
	articleTimes = 3
	agreeTenths  = 12
)

// believes reports whether the library's text is the main text, rather than the kept blocks.
func (p *Page) believes(found string, kept []bool) bool {
	whole, paragraphs := measured(p.blocks, kept)
	switch {
	case len(found) < fewBytes && whole > 0:
		return false
	case p.kind.isArticle():
		return paragraphs <= articleTimes*len(found)
	}
	return whole*10 <= len(found)*agreeTenths && len(found)*10 <= whole*agreeTenths
}

// measured returns the bytes of the kept blocks, and of the paragraphs among them.
func measured(blocks []block, kept []bool) (whole, paragraphs int) {
	const shortest = 80 // bytes of a paragraph
	for i := range blocks {
		b := &blocks[i]
		if !kept[i] {
			continue
		}
		whole += len(b.text)
		if len(b.text) >= shortest && b.links*3 < len(b.text) {
			paragraphs += len(b.text)
		}
	}
	return whole, paragraphs
}

// ask calls the library for the page, or only for title, author and date unless whole is set. Unless keep is set, the
// library consumes the page's tree. ask returns nil if the library is busy, fails, or takes too long.
func (e *Extractor) ask(ctx context.Context, p *Page, own weburl.URL, whole, keep bool) *trafilatura.ExtractResult {
	if p.nodes > e.limits.Nodes {
		return nil
	}
	tree := p.tree
	if keep {
		tree = clone(tree)
	}
	strip(tree)
	found, _ := within(ctx, e.library, func() *trafilatura.ExtractResult { return contained(tree, own, whole) })
	return found
}

// within calls a library and returns its answer, or false if ctx ends before. It does not call while an earlier call is
// still running: that one has the token.
func within[T any](ctx context.Context, token chan struct{}, call func() T) (answer T, ok bool) {
	select {
	case <-token:
	default:
		return answer, false
	}
	answers := make(chan T, 1)
	go func() {
		said := call()
		token <- struct{}{} // first: with the answer, the caller may call within again at once
		answers <- said
	}()
	select {
	case answer = <-answers:
		return answer, true
	case <-ctx.Done():
		return answer, false
	}
}

// contained returns the library's result, or nil if it fails in any way.
func contained(tree *html.Node, own weburl.URL, whole bool) (found *trafilatura.ExtractResult) {
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	at, err := url.Parse(own.String())
	if err != nil {
		return nil
	}
	config := trafilatura.DefaultConfig()
	config.MinOutputSize = 0 // an author and a date count without text
	options := trafilatura.Options{Config: config, Focus: trafilatura.FavorRecall, OriginalURL: at, IncludeLinks: true}
	if !whole {
		options.PruneSelector = "body > *" // after title, author and date are found
	}
	found, err = trafilatura.ExtractDocument(tree, options)
	if err != nil {
		return nil
	}
	if found.ContentNode != nil {
		for n := range found.ContentNode.Descendants() {
			if n.DataAtom == atom.Pre {
				n.Data = "pre" // it has become code within a line
			}
		}
	}
	return found
}

// clone copies a tree, because the library changes its argument. The parser bounds the depth.
func clone(n *html.Node) *html.Node {
	out := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out.AppendChild(clone(c))
	}
	return out
}

// strip removes the elements that the library does not read, and those for browsers without scripts. It shields the
// text behind those that the library removes.
func strip(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		if unread(c) {
			next := c.NextSibling
			n.RemoveChild(c)
			c = next
			continue
		}
		strip(c)
		switch {
		case removed[c.DataAtom]:
			shield(c)
		case c.DataAtom == atom.Pre:
			c.Attr = append(c.Attr, html.Attribute{Key: "lang", Val: "en"}) // the library keeps its lines
		}
		c = c.NextSibling
	}
}

// removed are elements that the library removes, with the text behind them.
var removed = map[atom.Atom]bool{
	atom.Aside: true, atom.Audio: true, atom.Button: true, atom.Canvas: true, atom.Datalist: true, atom.Dialog: true,
	atom.Embed: true, atom.Fieldset: true, atom.Figure: true, atom.Form: true, atom.Iframe: true, atom.Input: true,
	atom.Ins: true, atom.Label: true, atom.Map: true, atom.Math: true, atom.Menu: true, atom.Nav: true,
	atom.Object: true, atom.Output: true, atom.Picture: true, atom.Progress: true, atom.Rp: true, atom.Rt: true, atom.Rtc: true,
	atom.Script: true, atom.Select: true, atom.Textarea: true, atom.Time: true, atom.Video: true,
}

// shield puts the text behind an element that the library removes into an element of its own. A time within a sentence
// is a part of it.
func shield(n *html.Node) {
	tail := n.NextSibling
	if tail == nil || tail.Type != html.TextNode || strings.TrimSpace(tail.Data) == "" {
		return
	}
	span := &html.Node{Type: html.ElementNode, DataAtom: atom.Span, Data: "span"}
	n.Parent.InsertBefore(span, tail)
	n.Parent.RemoveChild(tail)
	span.AppendChild(tail)
	before := n.PrevSibling
	within := n.Parent.DataAtom == atom.P && before != nil && before.Type == html.TextNode
	if n.DataAtom == atom.Time && within && strings.TrimSpace(before.Data) != "" {
		span.InsertBefore(&html.Node{Type: html.TextNode, Data: said(n)}, tail)
	}
}

// unread reports whether the library reads nothing in an element. It reads data in scripts.
func unread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Noscript, atom.Style, atom.Svg, atom.Template:
		return true
	case atom.Script:
		return !strings.Contains(attribute(n, "type"), "json")
	}
	return false
}

// lines returns the text that the library found, a block a line. The library has cut the space at the ends of each
// piece.
func lines(root *html.Node) string {
	var b strings.Builder
	ended := false // the block is
	add := func(piece string) {
		switch {
		case b.Len() == 0:
		case ended:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(piece)
		ended = false
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			if piece := fold(n.Data); piece != "" {
				add(piece)
			}
			return
		}
		block := !phrasing[atom.Lookup([]byte(n.Data))] // the library changes only the name
		ended = ended || block || n.DataAtom == atom.Pre
		if n.DataAtom == atom.Pre {
			if piece := strings.Trim(said(n), "\n"); strings.TrimSpace(piece) != "" {
				add(piece)
			}
		} else {
			for c := range n.ChildNodes() {
				walk(c)
			}
		}
		ended = ended || block || n.DataAtom == atom.Pre
	}
	if root != nil {
		walk(root)
	}
	return b.String()
}

// said returns the text below a node as it stands there.
func said(n *html.Node) string {
	var b strings.Builder
	for below := range n.Descendants() {
		if below.Type == html.TextNode {
			b.WriteString(below.Data)
		}
	}
	return b.String()
}

// kept returns for every block whether it is main text. known reports whether the site decided.
func (p *Page) kept(site *Site) (kept []bool, known bool) {
	kept = make([]bool, len(p.blocks))
	if site.Ripe() {
		for _, every := range []int{everySite, everyMargin} { // what other pages quote may be all that a page says
			for i, repeats := range site.boilerplate(p, every) {
				kept[i] = !repeats
			}
			if slices.Contains(kept, true) {
				return kept, true
			}
		}
	}
	if p.isThread() {
		p.keepPosts(kept)
	} else {
		p.keepMain(kept)
	}
	return kept, false
}

// keepMain keeps the blocks that do not look like navigation. If more than half of their text is in the main part, it
// keeps only that part. It drops blocks of links, unless they are more than half of the rest.
func (p *Page) keepMain(kept []bool) {
	whole, main := 0, 0
	for i := range p.blocks {
		b := &p.blocks[i]
		if kept[i] = !b.chrome; b.chrome {
			continue
		}
		whole += len(b.text)
		if b.main {
			main += len(b.text)
		}
	}
	if main*2 > whole {
		whole = main
		for i := range p.blocks {
			kept[i] = kept[i] && p.blocks[i].main
		}
	}
	links := 0
	for i := range p.blocks {
		if kept[i] && p.blocks[i].isLinks() {
			links += len(p.blocks[i].text)
		}
	}
	if links*2 > whole {
		return
	}
	for i := range p.blocks {
		kept[i] = kept[i] && !p.blocks[i].isLinks()
	}
}

// isLinks reports whether a block consists mostly of links and is not a heading.
func (b *block) isLinks() bool { return !b.heading && b.mostlyLinks() }

// keepPosts keeps the posts of a thread and its first heading.
func (p *Page) keepPosts(kept []bool) {
	headed := false
	for i := range p.blocks {
		b := &p.blocks[i]
		first := b.heading && !b.chrome && !headed
		headed = headed || first
		kept[i] = b.post || first
	}
}

// isThread reports whether a page consists of posts by several people: it has at least two, they have a large part of
// its text, and it does not claim to be something else.
func (p *Page) isThread() bool {
	const part = 4
	if p.posts < 2 || p.kind.isArticle() || p.kind.faq {
		return false
	}
	posts, whole := 0, 0
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.post {
			posts += len(b.text)
		}
		if !b.chrome {
			whole += len(b.text)
		}
	}
	return posts*part > whole
}

// plain returns the kept blocks, one per line.
func plain(blocks []block, kept []bool) string {
	var b strings.Builder
	for i := range blocks {
		if !kept[i] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(blocks[i].text)
	}
	return b.String()
}

// prune removes the text of the other blocks from the tree.
func prune(p *Page, kept []bool) {
	for i := range p.blocks {
		if kept[i] {
			continue
		}
		for _, piece := range p.blocks[i].pieces {
			piece.Data = ""
		}
	}
	sweep(p.tree)
}

// sweep removes elements without text and images. It reports whether n is one.
func sweep(n *html.Node) (bare bool) {
	bare = n.DataAtom != atom.Img && (n.Type != html.TextNode || strings.TrimSpace(n.Data) == "")
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if !sweep(c) {
			bare = false
		} else if c.Type == html.ElementNode && c.DataAtom != atom.Br && c.DataAtom != atom.Td {
			n.RemoveChild(c)
		}
		c = next
	}
	return bare
}

// markdown returns a tree of a page as Markdown. It returns the text if the library is busy, fails, or takes too long.
func (e *Extractor) markdown(ctx context.Context, p *Page, tree *html.Node, own weburl.URL, said string) string {
	if tree == nil || p.nodes > e.limits.Nodes {
		return said
	}
	boundTables(tree, e.limits.Nodes)
	p.absolute(tree, own)
	if markdown, ok := within(ctx, e.library, func() string { return toMarkdown(tree, said) }); ok {
		return markdown
	}
	return said
}

// absolute makes the links and pictures of a tree lead where they lead on the page. Those to a place on the page itself
// stay as they are.
func (p *Page) absolute(tree *html.Node, own weburl.URL) {
	at, err := url.Parse(own.String())
	if err != nil {
		return
	}
	if base, err := at.Parse(strings.TrimSpace(p.base)); err == nil && base.Host != "" {
		at = base
	}
	for n := range tree.Descendants() {
		for i := range n.Attr {
			a := &n.Attr[i]
			if a.Key != "href" && a.Key != "src" || strings.HasPrefix(strings.TrimSpace(a.Val), "#") {
				continue
			}
			if to, err := at.Parse(strings.TrimSpace(a.Val)); err == nil {
				a.Val = to.String()
			}
		}
	}
}

// toMarkdown returns a tree as Markdown, or the text if that fails.
func toMarkdown(tree *html.Node, said string) (out string) {
	defer func() {
		if recover() != nil {
			out = said
		}
	}()
	tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))
	made := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables))
	markdown, err := made.ConvertNode(tree)
	if err != nil {
		return said
	}
	return string(bytes.TrimSpace(markdown))
}

// How many bytes of a text are used to detect its language, and to check the language that the page states.
const (
	shownToLanguage = 2 << 10
	shownToCheck    = 512
)

// common are the most used languages. A page that wrongly claims to be in one of them is seldom believed.
var common = map[whatlanggo.Lang]bool{
	whatlanggo.Arb: true, whatlanggo.Deu: true, whatlanggo.Eng: true, whatlanggo.Fra: true, whatlanggo.Hin: true,
	whatlanggo.Ita: true, whatlanggo.Nld: true, whatlanggo.Pes: true, whatlanggo.Pol: true, whatlanggo.Por: true,
	whatlanggo.Rus: true, whatlanggo.Spa: true, whatlanggo.Ukr: true,
}

// languageOf returns the language of a text. It is the stated one if the beginning of the text looks like it and like
// no other common one, or if the text is too short to tell. Otherwise it is the detected one.
func languageOf(said, text string) string {
	code, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(said)), "-")
	if len(code) != 2 {
		code = ""
	}
	if code != "" && detect(text, shownToCheck, whatlanggo.Options{Whitelist: common}) == code {
		return code
	}
	return cmp.Or(detect(text, shownToLanguage, whatlanggo.Options{}), code)
}

// detect returns the language of the first bytes of a text, or "" if it is not reliable.
func detect(text string, shown int, among whatlanggo.Options) string {
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "")
	}
	if info := whatlanggo.DetectWithOptions(text, among); info.IsReliable() {
		return info.Lang.Iso6391()
	}
	return ""
}

// titleOf returns the library's title if the title element contains it, possibly with the name of the site. Otherwise
// it returns the element's text.
func titleOf(found, element string) string {
	if found = short(fold(found)); found != "" && (element == "" || strings.Contains(element, found)) {
		return found
	}
	return element
}

// longestName bounds a title and a byline, in bytes.
const longestName = 1 << 10

// short returns what is visible of a title or a byline, up to its bound.
func short(name string) string {
	name = visible(name)
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	return name
}

// Plain returns the Document of a plain text. The content type may name the character set.
func Plain(contentType string, document []byte) Document {
	said := string(extract.UTF8(contentType, document, Limits{}.MaxBytes()))
	said = strings.TrimSpace(visible(strings.ToValidUTF8(said, "\uFFFD")))
	title, _, _ := strings.Cut(said, "\n")
	const longest = 200 // bytes of a first line that counts as a title
	if len(title) > longest {
		title = ""
	}
	return Document{Title: strings.TrimSpace(title), Text: said, Markdown: said, Language: languageOf("", said)}
}

// Called returns the document with this title, unless it is empty, and this byline.
func (d Document) Called(title, byline string) Document {
	if title = short(fold(title)); title != "" {
		d.Title = title
	}
	d.Byline = short(fold(byline))
	return d
}

// Main returns the main text from the blocks alone, without the library. It is fast enough for many pages.
func (p *Page) Main(site *Site) string {
	kept, _ := p.kept(site)
	return plain(p.blocks, kept)
}
