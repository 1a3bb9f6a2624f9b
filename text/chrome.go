package text

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isFrame reports whether an element is navigation, or the head or foot of a site, by its tag or role.
func isFrame(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "search":
		return n.DataAtom != atom.Body && n.DataAtom != atom.Main
	}
	return n.DataAtom == atom.Nav || n.DataAtom == atom.Footer
}

// isChrome reports whether an element has no main text, by its tag or role.
func isChrome(n *html.Node) bool {
	if isFrame(n) {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Aside, atom.Dialog, atom.Figcaption:
		return true
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	switch attribute(n, "role") {
	case "complementary", "dialog", "alert":
		return true
	}
	return false
}

// chromeNames are parts of class and id names of elements without main text.
var chromeNames = []string{
	"nav", "menu", "footer", "sidebar", "breadcrumb", "cookie", "consent", "banner", "share", "social", "related", "newsletter",
	"subscribe", "popup", "modal", "promo", "advert", "skip-", "toolbar", "pagination", "login", "signup", "recommend", "widget",
	"comment", "review", "disclaimer", "disclosure", "overlay", "author", "similar", "trending", "feedback", "signature",
	"sr-only", "screen-reader", "visually",
}

// hasChromeName reports whether an element has no main text, by its class and id names.
func hasChromeName(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Form, atom.Fieldset:
		return true
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	names := strings.ToLower(attribute(n, "class") + " " + attribute(n, "id"))
	if names == " " {
		return false
	}
	for _, part := range chromeNames {
		if strings.Contains(names, part) {
			return true
		}
	}
	return false
}

const (
	// mostNamed bounds what a name is believed for: an element with more than a third of the text of its
	// page is more than its name says, such as "with-sidebar" or a form around all.
	mostNamed = 3

	littleNamed = 300 // bytes; an element with so few is believed on any page
)

// measure returns the elements without main text by their names. If a page has more text for browsers without scripts
// than for others, measure makes that text part of the page.
func measure(tree *html.Node) map[*html.Node]bool {
	m := measurer{named: map[*html.Node]int{}}
	page := m.measure(tree)
	if m.noscript > max(page, littleNamed) {
		page = m.noscript
		for _, n := range m.noscripts {
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
	believed := make(map[*html.Node]bool, len(m.named))
	for n, size := range m.named {
		if size*mostNamed <= page || size <= littleNamed {
			believed[n] = true
		}
	}
	return believed
}

// measurer counts bytes of text, without links and elements that certainly have no main text.
type measurer struct {
	named     map[*html.Node]int
	noscript  int
	noscripts []*html.Node
}

// measure returns the size of a node. The parser bounds the depth.
func (m *measurer) measure(n *html.Node) (size int) {
	switch {
	case n.Type == html.TextNode:
		return len(strings.TrimSpace(n.Data))
	case n.Type == html.CommentNode || n.DataAtom == atom.A || n.DataAtom == atom.Title || isSilent(n) || isChrome(n) || hidden(n):
		return 0
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		size += m.measure(c)
	}
	if n.DataAtom == atom.Noscript {
		m.noscript += size
		m.noscripts = append(m.noscripts, n)
		return 0
	}
	if hasChromeName(n) {
		m.named[n] = size
	}
	return size
}
