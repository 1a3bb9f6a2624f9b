package adversary

import (
	"fmt"
	"strings"
)

const urlset = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`

// withSitemap makes a host whose robots.txt names a sitemap with the given answer.
func withSitemap(sitemap answer) func(h *Host) {
	return func(h *Host) {
		h.robots = says(page("text/plain", "Sitemap: "+h.url("/sitemap.xml")+"\n"))
		h.answers = func(x *exchange) bool {
			if strings.HasPrefix(x.path, "/sitemap") {
				return sitemap(x)
			}
			return x.say(html("<title>" + x.path + "</title>A page of the sitemap."))
		}
	}
}

func xml(text func() string) answer { return encoded(text) }

var feedKinds = []Kind{
	{Name: "sitemap-bomb", Attacks: "memory: a sitemap of 16 MB in little gzip",
		setUp: withSitemap(xml(func() string { return urlset + strings.Repeat("<url><loc>/a</loc></url>", 16<<20/24) }))},
	{Name: "sitemap-attributes", Attacks: "memory of the parser: an element with as many attributes as 4 MB hold",
		setUp: withSitemap(xml(func() string { return urlset + "<url " + repeat(4<<20, "a%d='' ") + "></url></urlset>" }))},
	{Name: "sitemap-entities", Attacks: "memory of the parser: a billion laughs",
		setUp: withSitemap(xml(func() string {
			text := "<?xml version='1.0'?><!DOCTYPE u [<!ENTITY a0 'ha'>"
			for i := range 20 {
				text += fmt.Sprintf("<!ENTITY a%d '%s'>", i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
			}
			return text + "]><urlset><url><loc>/&a20;</loc></url></urlset>"
		}))},
	{Name: "sitemap-index", Attacks: "requests: endless sitemaps of sitemaps",
		setUp: withSitemap(func(x *exchange) bool {
			return x.say(page("application/xml", "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"+
				repeat(10<<10, fmt.Sprintf("<sitemap><loc>http://%s/sitemap-%d-%%d.xml</loc></sitemap>", x.host.Name, x.nth))+"</sitemapindex>"))
		})},
	{Name: "sitemap-wide", Attacks: "memory of what is new: 50,000 pages, new ones each time",
		setUp: withSitemap(func(x *exchange) bool {
			return x.say(page("application/xml", urlset+repeat(3<<20, fmt.Sprintf("<url><loc>http://%s/%d/%%d</loc></url>", x.host.Name, x.nth))+"</urlset>"))
		})},
	{Name: "sitemap-text", Attacks: "memory of a line: a text sitemap of one endless line",
		setUp: withSitemap(withoutEnd("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhttp://", "x"))},
	{Name: "sitemap-nesting", Attacks: "the stack: XML 500,000 elements deep",
		setUp: withSitemap(xml(func() string { return urlset + strings.Repeat("<url>", 500_000) }))},
	{Name: "sitemap-dates", Attacks: "the plan: pages that say they changed tomorrow, and in the year 9999",
		setUp: withSitemap(says(page("application/xml", urlset+
			"<url><loc>/a</loc><lastmod>9999-12-31</lastmod></url><url><loc>/b</loc><lastmod>-1</lastmod><priority>1e309</priority></url></urlset>")))},
	{Name: "feed-items", Attacks: "memory of what is new: a feed of 100,000 items",
		setUp: always(func(x *exchange) bool {
			return x.say(page("application/rss+xml", compressed("gzip", "<rss version='2.0'><channel>"+
				repeat(4<<20, fmt.Sprintf("<item><link>http://%s/%d/%%d</link></item>", x.host.Name, x.nth))), "Content-Encoding: gzip"))
		}, "/")},
	{Name: "feed-endless", Attacks: "memory: an endless feed",
		setUp: always(withoutEnd("HTTP/1.1 200 OK\r\nContent-Type: application/atom+xml\r\n\r\n<feed xmlns='http://www.w3.org/2005/Atom'>", "<entry><link href='/e'/></entry>"), "/")},
	{Name: "feed-text", Attacks: "memory: an item whose text is 8 MB",
		setUp: always(func(x *exchange) bool {
			return x.say(page("application/rss+xml", compressed("gzip", "<rss><channel><item><link>"+strings.Repeat(" /x", 8<<20/3)+"</link>"), "Content-Encoding: gzip"))
		}, "/")},
}
