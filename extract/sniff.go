package extract

import (
	"bytes"
	"net/http"
	"strings"
)

// KindOf returns the kind of a body, from its Content-Type. If that is missing, general or often wrong, it uses the
// body's first bytes. It looks into a gzipped body to find a sitemap.
func KindOf(contentType string, body []byte) Kind {
	media := MediaType(contentType)
	switch {
	case media == "text/html", media == "application/xhtml+xml", media == "application/vnd.wap.xhtml+xml":
		return kindOfMarkup(body, KindHTML)
	case media == "text/css":
		return KindSheet
	case media == "application/xml", media == "text/xml", strings.HasSuffix(media, "+xml") && media != "image/svg+xml":
		return kindOfMarkup(body, KindOther)
	case isGzip(body):
		const enough = 8 << 10
		head, _ := unpack(body, enough, Options{}.orDefault().Room)
		if kind := kindOfMarkup(head, KindOther); kind == KindSitemap || kind == KindSitemapIndex {
			return kind
		}
		return kindOfText(head)
	case media == "text/plain":
		if kind := kindOfMarkup(body, KindOther); kind != KindHTML {
			return max(kind, kindOfText(body))
		}
	case media == "", media == "application/octet-stream", media == "unknown/unknown":
		if strings.HasPrefix(http.DetectContentType(body), "text/html") {
			return KindHTML
		}
		return kindOfMarkup(body, KindOther)
	}
	return KindOther
}

// IsFeed reports whether KindOf finds a feed.
func IsFeed(contentType string, body []byte) bool { return KindOf(contentType, body) == KindFeed }

// kindOfMarkup returns the kind for the root element, or otherwise if the element is unknown.
func kindOfMarkup(body []byte, otherwise Kind) Kind {
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		body, _ = decodeXML("", body[:min(len(body), 8<<10)], new(Options{}.orDefault()))
	}
	switch rootElement(body) {
	case "urlset":
		return KindSitemap
	case "sitemapindex":
		return KindSitemapIndex
	case "rss", "rdf", "feed":
		return KindFeed
	case "html":
		return KindHTML
	}
	return otherwise
}

// kindOfText returns KindSitemap if each of the first lines of a text is an absolute URL.
func kindOfText(text []byte) Kind {
	const enough = 4 << 10
	kind := KindOther
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(text[:min(len(text), enough)]) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case !isAbsolute(line) || bytes.ContainsAny(line, " \t"):
			return KindOther
		default:
			kind = KindSitemap
		}
	}
	return kind
}

func isFeedType(media string) bool {
	return media == "application/rss+xml" || media == "application/atom+xml" || media == "application/rdf+xml"
}
