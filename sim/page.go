package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// The bounds of a page's paragraphs. One change replaces one of them.
const (
	minParagraphs = 3
	maxParagraphs = 40
)

// appendPage appends the HTML of a page in the given state. elapsed is the time since the web's start: links and noise
// depend on it.
func (s *site) appendPage(b []byte, page int, st state, elapsed time.Duration) []byte {
	labels := s.web.language.text(s.key(page, aspectLabels))
	b = append(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	titleStart := len(b)
	b = labels.title(b, 4)
	title := string(b[titleStart:])
	b = append(b, "</title>\n"...)
	b = s.appendHead(b, page)
	b = append(b, "</head>\n<body>\n"...)
	if s.traits(page).noise {
		b = fmt.Appendf(b, "<!-- made in %d ns -->\n<div data-request=\"%016x\">\n", elapsed%1e9, mix(s.seed, uint64(elapsed)))
	} else {
		b = append(b, "<div>\n"...)
	}
	b = append(b, "<p><img src=\"/logo.svg\" alt=\"\"></p>\n<h1>"...)
	b = append(b, title...)
	b = append(b, "</h1>\n"...)

	links := s.links(page, elapsed)
	tree := 0 // of links, those along the tree come first
	for tree < len(links) && (links[tree].site == s) && s.alongTree(page, links[tree].page) {
		tree++
	}
	b = append(b, "<ul>\n"...)
	for _, link := range links[:tree] {
		b = append(b, "<li>"...)
		b = s.appendLink(b, link, labels)
		b = append(b, "</li>\n"...)
	}
	b = append(b, "</ul>\n"...)
	b = s.appendText(b, page, st.own, links[tree:], labels)
	b = fmt.Appendf(b, "<p><img src=\"%s%d.svg\" alt=\"\"></p>\n</div>\n</body>\n</html>\n", picturePrefix, page)
	return b
}

// appendHead appends the rest of a page's head, after the title.
func (s *site) appendHead(b []byte, page int) []byte {
	b = append(b, "<link rel=\"stylesheet\" href=\"/style.css\">\n"...)
	if s.feed && page == 0 {
		b = append(b, "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">\n"...)
	}
	if page > 0 {
		b = fmt.Appendf(b, "<link rel=\"canonical\" href=\"http://%s%s\">\n", s.host, s.path(page))
	}
	t := s.traits(page)
	for _, rule := range [...]struct {
		on   bool
		name string
	}{{t.noArchive, "noarchive"}, {t.noIndex, "noindex"}, {t.noFollow, "nofollow"}} {
		if rule.on {
			b = fmt.Appendf(b, "<meta name=\"robots\" content=\"%s\">\n", rule.name)
		}
	}
	return b
}

// alongTree reports whether other is page's parent or one of its children.
func (s *site) alongTree(page, other int) bool {
	return page > 0 && other == s.parent(page) || other > 0 && s.parent(other) == page
}

// appendText appends the paragraphs of a page after some changes, with links scattered among the words. Change c
// replaces paragraph c mod the number of paragraphs.
func (s *site) appendText(b []byte, page, changes int, links []target, labels *text) []byte {
	rng := rand.New(rand.NewPCG(s.key(page, aspectText), 3))
	size := float64(s.web.config.Bytes) * math.Exp(0.4*rng.NormFloat64())
	paragraphs := min(max(int(size/1000), minParagraphs), maxParagraphs)
	each := int(size) / paragraphs
	for i := range paragraphs {
		replaced := changes / paragraphs // how often change c ≡ i has come, for c = 1…changes
		if i > 0 && changes%paragraphs >= i {
			replaced++
		}
		words := s.web.language.text(mix(s.key(page, aspectText), uint64(i), uint64(replaced)))
		b = append(b, "<p>"...)
		for end := len(b) + each; len(b) < end; {
			b = words.sentence(b)
			b = append(b, '\n')
		}
		for _, link := range links[len(links)*i/paragraphs : len(links)*(i+1)/paragraphs] {
			b = s.appendLink(b, link, labels)
			b = append(b, '\n')
		}
		b = append(b, "</p>\n"...)
	}
	return b
}

// appendLink appends an anchor: with a path for a link inside the site, with a full URL for a link to another site.
func (s *site) appendLink(b []byte, link target, labels *text) []byte {
	b = append(b, "<a href=\""...)
	if link.site != s {
		b = append(append(b, "http://"...), link.site.host...)
	}
	b = append(append(b, link.path()...), "\">"...)
	b = labels.title(b, 2)
	return append(b, "</a>"...)
}

// appendPicture appends a small picture that never changes.
func (s *site) appendPicture(b []byte, number int) []byte {
	rng := rand.New(rand.NewPCG(s.key(number, aspectPicture), 4))
	b = append(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 100\">\n"...)
	for range 5 + rng.IntN(40) {
		b = append(b, "<circle cx=\""...)
		b = strconv.AppendInt(b, rng.Int64N(100), 10)
		b = append(b, "\" cy=\""...)
		b = strconv.AppendInt(b, rng.Int64N(100), 10)
		b = fmt.Appendf(b, "\" r=\"%d\" fill=\"#%06x\"/>\n", 1+rng.IntN(30), rng.IntN(1<<24))
	}
	return append(b, "</svg>\n"...)
}
