package extract

import (
	"bytes"
	"strings"

	"freshet/weburl"
)

// linkRel returns the relation of a link element from its rel and type attributes. It returns false if the element
// has no link to a page: dns-prefetch and preconnect name a host. Of several relations, the first in this order
// counts: canonical, feed, embedded, alternate.
func linkRel(rel, kind string) (weburl.Rel, bool) {
	var canonical, alternate, embedded, other, host, sitemap bool
	for word := range strings.FieldsFuncSeq(strings.ToLower(rel), isHTMLSpace) {
		switch word {
		case "canonical":
			canonical = true
		case "alternate":
			alternate = true
		case "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon",
			"manifest", "preload", "modulepreload", "image_src":
			embedded = true
		case "sitemap":
			sitemap = true
		case "dns-prefetch", "preconnect":
			host = true
		default:
			other = true
		}
	}
	switch {
	case canonical:
		return weburl.RelCanonical, true
	case sitemap:
		return weburl.RelSitemap, true
	case alternate && isFeedType(MediaType(kind)):
		return weburl.RelFeed, true
	case embedded:
		return weburl.RelEmbed, true
	case alternate:
		return weburl.RelAlternate, true
	}
	return weburl.RelLink, other || !host
}

func isHTMLSpace(r rune) bool { return r < 0x80 && strings.IndexByte(htmlSpace, byte(r)) >= 0 }

// hasToken reports whether a list separated by white space contains the lower-case word, in any case.
func hasToken(list []byte, word string) bool {
	if len(list) < len(word) {
		return false
	}
	for token := range bytes.FieldsSeq(list) {
		if equalFold(token, word) {
			return true
		}
	}
	return false
}

// MediaType returns the media type of a Content-Type value in lower case, without its parameters.
func MediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
