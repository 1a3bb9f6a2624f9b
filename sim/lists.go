package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	sitemapEntries = 500 // of one sitemap
	feedEntries    = 20
	feedWindow     = 200 // a feed reports changes of the first pages of its site
)

// appendRobots appends the site's robots.txt.
func (s *site) appendRobots(b []byte) []byte {
	b = append(b, "User-agent: *\n"...)
	if s.private {
		b = fmt.Appendf(b, "Disallow: /private/\nCrawl-delay: %g\n", crawlDelay.Seconds())
	} else {
		b = append(b, "Disallow:\n"...)
	}
	if s.sitemap {
		b = fmt.Appendf(b, "\nSitemap: http://%s/sitemap.xml\n", s.host)
	}
	return b
}

// appendSitemap appends the site's sitemap, or the index of its parts.
func (s *site) appendSitemap(b []byte, elapsed time.Duration) []byte {
	if !s.index {
		return s.appendURLSet(b, 0, s.pages, elapsed)
	}
	b = append(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
	for part := range s.sitemapParts() {
		b = fmt.Appendf(b, "<sitemap><loc>http://%s%s%d.xml.gz</loc></sitemap>\n", s.host, sitemapPrefix, part)
	}
	return append(b, "</sitemapindex>\n"...)
}

func (s *site) sitemapParts() int { return (s.pages + sitemapEntries - 1) / sitemapEntries }

// appendSitemapPart appends a part of the sitemap, before compression.
func (s *site) appendSitemapPart(b []byte, part int, elapsed time.Duration) []byte {
	return s.appendURLSet(b, part*sitemapEntries, min((part+1)*sitemapEntries, s.pages), elapsed)
}

func (s *site) appendURLSet(b []byte, first, end int, elapsed time.Duration) []byte {
	b = append(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
	for page := first; page < end; page++ {
		st := s.state(page, elapsed)
		if st.version == 0 || s.traits(page).private {
			continue
		}
		b = fmt.Appendf(b, "<url><loc>http://%s%s</loc><lastmod>", s.host, s.path(page))
		b = s.web.config.Start.Add(st.last).UTC().AppendFormat(b, time.RFC3339)
		b = append(b, "</lastmod></url>\n"...)
	}
	return append(b, "</urlset>\n"...)
}

// appendFeed appends an RSS feed of the latest changes among the site's first pages.
func (s *site) appendFeed(b []byte, elapsed time.Duration) []byte {
	type item struct {
		page int
		last time.Duration
	}
	var items []item
	for page := range min(s.pages, feedWindow) {
		if st := s.state(page, elapsed); st.version > 0 && !s.traits(page).private {
			items = append(items, item{page, st.last})
		}
	}
	slices.SortFunc(items, func(x, y item) int {
		return cmp.Or(cmp.Compare(y.last, x.last), cmp.Compare(x.page, y.page))
	})
	b = fmt.Appendf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>\n<title>%s</title><link>http://%[1]s/</link><description>News of %[1]s</description>\n", s.host)
	for _, it := range items[:min(len(items), feedEntries)] {
		url := "http://" + s.host + s.path(it.page)
		changed := s.web.config.Start.Add(it.last).UTC().Format(http.TimeFormat)
		b = fmt.Appendf(b, "<item><title>%s</title><link>%s</link><guid>%[2]s</guid><pubDate>%s</pubDate></item>\n",
			s.web.language.text(s.key(it.page, aspectLabels)).title(nil, 4), url, changed)
	}
	return append(b, "</channel></rss>\n"...)
}
