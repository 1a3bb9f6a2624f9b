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
	"github.com/RadhiFadlillah/whatlanggo"
	trafilatura "github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/weburl"
)

// A Document is what a version says.
type Document struct {
	Title    string    // at most 1 KiB, as the byline
	Byline   string    // who wrote it; "" if unknown
	Date     time.Time // of publication; zero if unknown
	Language string    // ISO 639-1; "" if unknown
	Text     string    // main text, a block a line, headings among them
	Markdown string    // of the main text; "" unless requested
	Model    bool      // what repeats across the site was left out
}

// An Extractor makes documents of pages. It is not safe for concurrent use. Close waits for what it has begun.
type Extractor struct {
	limits  Limits
	library chan struct{} // holds one token while no call of the library is under way
}

// NewExtractor returns an extractor that keeps to the limits.
func NewExtractor(limits Limits) *Extractor {
	e := &Extractor{limits: limits.orDefault(), library: make(chan struct{}, 1)}
	e.library <- struct{}{}
	return e
}

// Close waits until the library has come back.
func (e *Extractor) Close() { <-e.library }

// Read returns what a page says. It uses the page up: show it to a Site before. own is its URL. site may be nil; one
// that knows too little yet is of no use. With markdown the text comes as Markdown too. The context bounds how long the
// library is waited for.
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
		d.Text, tree = found.ContentText, found.ContentNode
	} else {
		d.Text = plain(p.blocks, kept)
		if markdown {
			prune(p, kept)
		}
	}
	if markdown {
		d.Markdown = toMarkdown(tree, own)
	}
	d.Language = languageOf(p.lang, d.Text)
	return d
}

// Brief returns what a page says, without author and date. If the site is known, it does not use the library, which
// is most of the work.
func (e *Extractor) Brief(ctx context.Context, p *Page, own weburl.URL, site *Site) Document {
	kept, known := p.kept(site)
	if !known {
		return e.Read(ctx, p, own, site, false)
	}
	said := plain(p.blocks, kept)
	return Document{Title: p.title, Text: said, Language: languageOf(p.lang, said), Model: true}
}

const (
	// so little of what the library finds is not believed: of a short page it takes all, what is hidden too
	fewBytes = 300

	// An article is read by the library, unless the paragraphs that are kept have more than so many times its text. Of
	// what says that it is something else too the blocks are kept, unless the library agrees except for a fifth.
	articleTimes = 3
	agreeTenths  = 12
)

// believes reports whether what the library has found is the main text, rather than the blocks that are kept.
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

// measured returns the bytes of the blocks that are kept, and of the paragraphs among them.
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

// ask has the library read the page; if not whole, then its title, author and date alone. The tree of the page is only
// of use after that if it is kept. ask returns nil if the library cannot, fails, or takes too long.
func (e *Extractor) ask(ctx context.Context, p *Page, own weburl.URL, whole, keep bool) *trafilatura.ExtractResult {
	if p.nodes > e.limits.Nodes {
		return nil
	}
	select {
	case <-e.library:
	default:
		return nil // it has not come back from another page
	}
	tree := p.tree
	if keep {
		tree = clone(tree)
	}
	strip(tree)
	answer := make(chan *trafilatura.ExtractResult, 1)
	go func() {
		found := contained(tree, own, whole)
		e.library <- struct{}{} // before the answer: a caller that has it may ask again at once
		answer <- found
	}()
	select {
	case found := <-answer:
		return found
	case <-ctx.Done():
		return nil
	}
}

// contained is the library's answer, nil if it fails in any way.
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
	options := trafilatura.Options{Focus: trafilatura.FavorRecall, OriginalURL: at, IncludeLinks: true}
	if !whole {
		options.PruneSelector = "body > *" // after title, author and date are found
	}
	found, err = trafilatura.ExtractDocument(tree, options)
	if err != nil {
		return nil
	}
	return found
}

// clone copies a tree: the library takes apart what it is given. The parser bounds the depth.
func clone(n *html.Node) *html.Node {
	out := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out.AppendChild(clone(c))
	}
	return out
}

// strip removes the elements that the library does not read, and what is for browsers without scripts.
func strip(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if unread(c) {
			n.RemoveChild(c)
		} else {
			strip(c)
		}
		c = next
	}
}

// unread reports whether an element has nothing that the library reads. It reads data in scripts.
func unread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Noscript, atom.Style, atom.Svg, atom.Template:
		return true
	case atom.Script:
		return !strings.Contains(attribute(n, "type"), "json")
	}
	return false
}

// kept returns for every block whether it is main text, and whether the site has said so.
func (p *Page) kept(site *Site) (kept []bool, known bool) {
	kept = make([]bool, len(p.blocks))
	if known = site.Ripe(); known {
		for i, repeats := range site.boilerplate(p) {
			kept[i] = !repeats
		}
		if slices.Contains(kept, true) {
			return kept, true
		}
	}
	if p.isThread() {
		p.keepPosts(kept)
	} else {
		p.keepMain(kept)
	}
	return kept, false
}

// keepMain keeps what does not look like navigation: of the main part only, if that has more than half of it; and no
// blocks of links, unless they are more than half of what is left.
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

// isLinks reports whether a block is links and no heading.
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

// isThread reports whether a page is posts by several people: it has two or more, they have a good part of its text,
// and it does not say that it is something else.
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

// plain returns the blocks that are kept, a line each.
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

// prune takes the text of the blocks that are not kept out of the tree.
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

// sweep removes the elements in which neither text nor an image is left. It returns whether n is one.
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

// toMarkdown returns a tree as Markdown, "" if that cannot be.
func toMarkdown(tree *html.Node, own weburl.URL) (out string) {
	if tree == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			out = ""
		}
	}()
	made := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	markdown, err := made.ConvertNode(tree, converter.WithDomain(string(own.Site())))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(markdown))
}

// How much of a text is looked at to tell its language, and to check what the page says of it, in bytes.
const (
	shownToLanguage = 2 << 10
	shownToCheck    = 512
)

// common are the languages that are checked: the most used, so that a page that says by mistake that it is in one of
// them is seldom believed.
var common = map[whatlanggo.Lang]bool{
	whatlanggo.Arb: true, whatlanggo.Deu: true, whatlanggo.Eng: true, whatlanggo.Fra: true, whatlanggo.Hin: true,
	whatlanggo.Ita: true, whatlanggo.Nld: true, whatlanggo.Pes: true, whatlanggo.Pol: true, whatlanggo.Por: true,
	whatlanggo.Rus: true, whatlanggo.Spa: true, whatlanggo.Ukr: true,
}

// languageOf returns the language of a text. It is what the page says if the text begins like that language and like
// none of the other common ones; or if the text is too short to tell. Else it is what the text looks like.
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

// detect returns the language that the first bytes of a text are in, "" if that cannot be told reliably.
func detect(text string, shown int, among whatlanggo.Options) string {
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "")
	}
	if info := whatlanggo.DetectWithOptions(text, among); info.IsReliable() {
		return info.Lang.Iso6391()
	}
	return ""
}

// titleOf returns the title that the library has found if the title element has it too, beside the name of the site;
// else the element's.
func titleOf(found, element string) string {
	if found = short(fold(found)); found != "" && (element == "" || strings.Contains(element, found)) {
		return found
	}
	return element
}

// longestName bounds a title and a byline, in bytes.
const longestName = 1 << 10

// short cuts a title or a byline to its bound.
func short(name string) string {
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	return name
}

// Plain returns what a document of plain text says.
func Plain(document []byte) Document {
	said := strings.TrimSpace(strings.ToValidUTF8(string(document), "\uFFFD"))
	title, _, _ := strings.Cut(said, "\n")
	const longest = 200 // bytes of a first line that is a title
	if len(title) > longest {
		title = ""
	}
	return Document{Title: strings.TrimSpace(title), Text: said, Markdown: said, Language: languageOf("", said)}
}

// Called returns the document with a title and a byline that it has beside its text; an empty title is not taken.
func (d Document) Called(title, byline string) Document {
	if title = short(fold(title)); title != "" {
		d.Title = title
	}
	d.Byline = short(fold(byline))
	return d
}

// Main returns the main text by the blocks alone, without the library: it is for many pages.
func (p *Page) Main(site *Site) string {
	kept, _ := p.kept(site)
	return plain(p.blocks, kept)
}
