package text

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A kind is the type that a page states, in terms of schema.org and Open Graph.
type kind struct {
	article bool
	other   bool // a product, a thread or a list of questions, whatever else it says
	faq     bool // questions with answers by one writer
	parts   int  // elements that are marked as an article
}

// saysArticle reports whether the page states that it is an article, by its type or by exactly one article element.
func (k *kind) saysArticle() bool { return k.article || k.parts == 1 }

// isArticle reports whether the page is an article and nothing else.
func (k *kind) isArticle() bool { return k.saysArticle() && !k.other && !k.faq }

// typed finds the types of JSON-LD.
var typed = regexp.MustCompile(`"@type"\s*:\s*\[?\s*"(\w+)"`)

// see reads the statements of an element about the page's type.
func (k *kind) see(n *html.Node) {
	switch n.DataAtom {
	case atom.Article:
		k.parts++
	case atom.Meta:
		property := attribute(n, "property")
		switch {
		case property == "og:type" && strings.EqualFold(attribute(n, "content"), "article"):
			k.article = true
		case strings.HasSuffix(property, "price:amount"):
			k.other = true
		}
	case atom.Script:
		if attribute(n, "type") == "application/ld+json" && n.FirstChild != nil {
			for _, found := range typed.FindAllStringSubmatch(n.FirstChild.Data, -1) {
				k.named(found[1])
			}
		}
	default:
		if item := attribute(n, "itemtype"); item != "" {
			k.named(item[strings.LastIndexByte(item, '/')+1:])
		}
	}
}

// named notes the name of a type.
func (k *kind) named(name string) {
	switch name {
	case "Article", "NewsArticle", "ReportageNewsArticle", "BlogPosting":
		k.article = true
	case "Product", "ProductGroup", "DiscussionForumPosting", "QAPage":
		k.other = true
	case "FAQPage":
		k.faq = true
	}
}

// postNames are the classes of the bodies of posts in the usual forum programs.
var postNames = map[string]bool{
	"bbWrapper": true, "cooked": true, "ipsType_richText": true, "message-body": true, "post-body": true, "post-content": true,
	"post-text": true, "post_body": true, "post_message": true, "postbody": true, "s-prose": true, "usertext-body": true,
}

// isPost reports whether an element is the body of a post.
func isPost(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	if item := attribute(n, "itemprop"); item == "text" || item == "commentText" {
		return true
	}
	for name := range strings.FieldsSeq(attribute(n, "class")) {
		if postNames[name] {
			return true
		}
	}
	return false
}
