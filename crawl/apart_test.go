package crawl

import (
	"testing"

	"freshet/store"
	"freshet/weburl"
)

// TestApart holds which rows the crawl leaves out when it reports freshness: people do not read them as pages.
func TestApart(t *testing.T) {
	for _, one := range []struct {
		rel  weburl.Rel
		kind string
		want bool
	}{
		{weburl.RelAnchor, "text/html", false},
		{weburl.RelAnchor, "application/xml", false},
		{weburl.RelEmbed, "image/svg+xml", true},
		{weburl.RelSitemap, "text/html; charset=utf-8", false}, // an entry of a sitemap
		{weburl.RelSitemap, "application/xhtml+xml", false},
		{weburl.RelSitemap, "application/xml", true},
		{weburl.RelSitemap, "application/gzip", true},
		{weburl.RelFeed, "application/rss+xml", true},
	} {
		row := store.Page{Rel: one.rel, ContentType: one.kind}
		if apart(&row) != one.want {
			t.Errorf("%v of type %s: want %t", one.rel, one.kind, one.want)
		}
	}
}
