package extract

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/weburl"
)

// entries returns entries a line each.
func entries(list []Entry) []string {
	lines := []string{}
	for _, e := range list {
		line := strings.TrimPrefix(e.URL.String(), "http://site.test")
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.Format("2006-01-02T15:04:05Z07:00")
		}
		if e.ChangeFreq != "" {
			line += " " + e.ChangeFreq
		}
		if e.Priority != defaultPriority {
			line += fmt.Sprint(" ", e.Priority)
		}
		lines = append(lines, line)
	}
	return lines
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://image.test/">
<url><loc>http://site.test/a?x=1&amp;y=2</loc><lastmod>2026-02-03</lastmod><changefreq>Daily</changefreq><priority>0.8</priority>
<image:image><image:loc>http://site.test/image</image:loc></image:image></url>
<url><loc> /b </loc><lastmod>2026-02-03T10:00:00+02:00</lastmod><priority>7</priority></url>
<url><lastmod>2026</lastmod></url>
<url><loc>ftp://site.test/c</loc></url>
<url><loc><![CDATA[http://other.test/d?a&b]]></loc></url>
</urlset>`

var urlsetEntries = []string{
	"/a?x=1&y=2 2026-02-03T00:00:00Z daily 0.8", "/b 2026-02-03T08:00:00Z", "http://other.test/d?a&b",
}

func TestParseSitemap(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		index, broken           bool
		want                    []string
	}{
		{"urlset", "text/xml", urlset, false, false, urlsetEntries},
		{"gzip", "application/gzip", string(zipped(t, urlset)), false, false, urlsetEntries},
		{"torn", "", urlset[:strings.Index(urlset, "ftp:")], false, true, urlsetEntries[:2]},
		{"unescaped ampersand", "", "<urlset><url><loc>/a?x&y=2</loc></url></urlset>", false, false, []string{"/a?x&y=2"}},
		{"prefixed", "", "<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>", false, false, []string{"/a"}},
		{"index", "", "<sitemapindex><sitemap><loc>/s1.xml</loc><lastmod>2026-01</lastmod></sitemap><sitemap><loc>/s2.xml.gz</loc></sitemap></sitemapindex>",
			true, false, []string{"/s1.xml 2026-01-01T00:00:00Z", "/s2.xml.gz"}},
		{"text", "text/plain", "\xef\xbb\xbfhttp://site.test/a\r\n\nhttps://site.test/b\nnot a URL\n", false, false, []string{"/a", "https://site.test/b"}},
		{"Latin-1", "", "<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>/\xe9</loc></url></urlset>", false, false, []string{"/%C3%A9"}},
		{"entities are not expanded", "", `<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><urlset><url><loc>/&c;</loc></url></urlset>`, false, false, []string{"/&c;"}},
		{"another document", "", "<html></html>", false, true, []string{}},
		{"empty", "", "", false, false, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseSitemap(test.contentType, []byte(test.body), parsed(t, own), Options{})
			if (err != nil) != test.broken {
				t.Errorf("error %v", err)
			}
			if got.Index != test.index {
				t.Errorf("index: %v", got.Index)
			}
			if diff := cmp.Diff(test.want, entries(got.Entries)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSitemapBounds(t *testing.T) {
	base := parsed(t, own)
	many := "<urlset>" + strings.Repeat("<url><loc>/a</loc></url>", 10) + "</urlset>"
	if s, err := ParseSitemap("", []byte(many), base, Options{MaxLinks: 4}); err != nil || len(s.Entries) != 4 || s.Dropped != 6 {
		t.Errorf("%d entries, %d dropped, %v", len(s.Entries), s.Dropped, err)
	}
	if s, err := ParseSitemap("", zipped(t, many), base, Options{MaxUnpacked: 100}); err == nil || len(s.Entries) != 3 {
		t.Errorf("of 100 bytes: %d entries, %v", len(s.Entries), err)
	}
	var large strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&large, "http://site.test/%d\n", i)
	}
	torn := zipped(t, large.String())
	if s, err := ParseSitemap("", torn[:len(torn)/2], base, Options{}); err == nil || len(s.Entries) < 10_000 {
		t.Errorf("of half a gzip stream: %d entries, %v", len(s.Entries), err)
	}
	deep := "<urlset><url><loc>/a</loc></url>" + strings.Repeat("<a>", 1<<20)
	if s, err := ParseSitemap("", []byte(deep), base, Options{}); err == nil || len(s.Entries) != 1 {
		t.Errorf("deep: %d entries, %v", len(s.Entries), err)
	}
}

func TestParseFeed(t *testing.T) {
	tests := []struct {
		name, body string
		broken     bool
		want       []string
	}{
		{"RSS", `<rss version="2.0"><channel><link>/</link><atom:link href="/self" rel="self"/>
			<item><title>A</title><link>/a</link><pubDate>Tue, 03 Feb 2026 10:00:00 EST</pubDate><media:link>/no</media:link></item>
			<item><guid>http://site.test/b</guid><pubDate>3 Feb 26 10:00 +0100</pubDate></item>
			<item><guid isPermaLink="false">http://site.test/c</guid></item>
			<item><guid>tag:c</guid></item>
			<item><link>/d</link><dc:date>2026-02-03T10:00:00Z</dc:date><source url="/s"><link>/no</link></source></item>
			</channel></rss>`, false,
			[]string{"/a 2026-02-03T15:00:00Z", "/b 2026-02-03T09:00:00Z", "/d 2026-02-03T10:00:00Z"}},
		{"Atom", `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><link href="/" /><updated>2020-01-01</updated>
			<entry><link rel="enclosure" href="/no"/><link rel="alternate" href="a"/><published>2026-01-01T00:00:00Z</published><updated>2026-02-01T00:00:00Z</updated></entry>
			<entry xml:base="c/"><link href="d"/><published>2026-01-01T00:00:00Z</published></entry></feed>`, false,
			[]string{"/blog/a 2026-02-01T00:00:00Z", "/blog/c/d 2026-01-01T00:00:00Z"}},
		{"RDF", `<rdf:RDF><channel><link>/</link></channel><item rdf:about="/a"><link>/a</link><dc:date>2026-02-03</dc:date></item></rdf:RDF>`, false,
			[]string{"/a 2026-02-03T00:00:00Z"}},
		{"markup and foreign entities", `<rss><channel><item><description><p>x<br>&nbsp;</description><link>/a?x&y</link></item></channel></rss>`, false,
			[]string{"/a?x&y"}},
		{"torn", `<rss><channel><item><link>/a</link></item><item><link>/b</li`, true, []string{"/a"}},
		{"another document", `<urlset/>`, true, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseFeed("", []byte(test.body), parsed(t, own), Options{})
			if (err != nil) != test.broken {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, entries(got)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDate(t *testing.T) {
	tests := []struct{ text, want string }{
		{"2026", "2026-01-01T00:00:00Z"},
		{"2026-03", "2026-03-01T00:00:00Z"},
		{"2026-03-04", "2026-03-04T00:00:00Z"},
		{"2026-03-04T05:06Z", "2026-03-04T05:06:00Z"},
		{"2026-03-04T05:06+01:00", "2026-03-04T04:06:00Z"},
		{"2026-03-04T05:06:07.5-01:30", "2026-03-04T06:36:07Z"},
		{"2026-03-04T05:06:07+0100", "2026-03-04T04:06:07Z"},
		{"2026-03-04 05:06:07", "2026-03-04T05:06:07Z"},
		{"Wed, 04 Mar 2026 05:06:07 GMT", "2026-03-04T05:06:07Z"},
		{"Wed, 4 Mar 2026 05:06:07 PDT", "2026-03-04T12:06:07Z"},
		{"04 Mar 26 05:06 UT", "2026-03-04T05:06:00Z"},
		{"Wed, 4 Mar 2026 05:06:07 XYZ", ""},
		{"0001-01-01", ""}, {"2600-01-01", ""}, {"2026-13-01", ""}, {"yesterday", ""}, {"", ""}, {",", ""}, {"Mon,    ", ""},
	}
	for _, test := range tests {
		got := ""
		if d := parseDate(test.text); !d.IsZero() {
			got = d.Format("2006-01-02T15:04:05Z07:00")
		}
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// headerLinks returns the links of Link headers alone.
func headerLinks(values []string, page weburl.URL) []Link {
	var set linkSet
	opt := Options{}.orDefault()
	set.reset(weburl.URL{}, &opt)
	set.addHeader(values, page)
	return set.links
}

func TestLinkHeader(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   []string
	}{
		{"next", []string{`<x>; rel=next`}, []string{"header /dir/x"}},
		{"canonical", []string{`</x>; rel="canonical"`}, []string{"canonical /x"}},
		{"several", []string{`<a>; rel="prev", <b,c>; title="d, <e>"; rel=next`, `<f>`}, []string{"header /dir/a", "header /dir/b,c", "header /dir/f"}},
		{"only a host", []string{`<//h/>; rel=preconnect, <//h/>; rel="dns-prefetch"`}, []string{}},
		{"of another page", []string{`<a>; rel=next; anchor="/other", <b>; rel=next; anchor=""`}, []string{"header /dir/b"}},
		{"nofollow", []string{`<a>; REL="next nofollow"; rel=x`}, []string{"header /dir/a nofollow"}},
		{"malformed", []string{`a; rel=next`, `<a`, ``, `;<`, `<a> rel=next <b>;;= ;"x`}, []string{"header /dir/a", "header /dir/b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, written(headerLinks(test.values, parsed(t, own)))); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	const feed, html = `<?xml version="1.0"?><rss version="2.0"></rss>`, "<!DOCTYPE html><p>x"
	tests := []struct {
		name, contentType, body string
		want                    Kind
	}{
		{"HTML", "Text/HTML; charset=utf-8", html, KindHTML},
		{"HTML without a root", "text/html", "hello", KindHTML},
		{"XHTML", "application/xhtml+xml", html, KindHTML},
		{"XHTML as XML", "application/xml", "<?xml version='1.0'?><html xmlns='x'/>", KindHTML},
		{"no type", "", html, KindHTML},
		{"no type, binary", "", "\x89PNG\r\n", KindOther},
		{"general type", "application/octet-stream", urlset, KindSitemap},
		{"sitemap", "application/xml", urlset, KindSitemap},
		{"sitemap as HTML", "text/html", urlset, KindSitemap},
		{"index", "text/xml", "\xef\xbb\xbf<?xml version='1.0'?>\n<sitemapindex/>", KindSitemapIndex},
		{"gzip", "application/x-gzip", string(zipped(t, urlset)), KindSitemap},
		{"gzip of something else", "application/x-gzip", string(zipped(t, "tar")), KindOther},
		{"list of URLs", "text/plain", "http://a.test/\r\nhttp://b.test/\r\n", KindSitemap},
		{"text", "text/plain", "http://a.test/ is a site\n", KindOther},
		{"HTML as text", "text/plain", html, KindOther},
		{"UTF-16", "text/xml", "\xff\xfe<\x00r\x00s\x00s\x00/\x00>\x00", KindFeed},
		{"feed", "application/rss+xml", feed, KindFeed},
		{"Atom", "application/atom+xml", "<feed/>", KindFeed},
		{"RDF", "application/rdf+xml", "<rdf:RDF/>", KindFeed},
		{"SVG", "image/svg+xml", "<svg/>", KindOther},
		{"image", "image/png", html, KindOther},
		{"empty", "", "", KindOther},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := KindOf(test.contentType, []byte(test.body)); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
	if IsFeed("text/xml", []byte(urlset)) || !IsFeed("text/xml", []byte(feed)) {
		t.Error("a sitemap was taken for a feed, or a feed was not")
	}
}

func TestExtractOther(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   []string
	}{
		{"sitemap", header("Content-Type", "text/xml"), urlset,
			[]string{"sitemap /a?x=1&y=2 2026-02-03T00:00:00Z", "sitemap /b 2026-02-03T08:00:00Z", "sitemap http://other.test/d?a&b"}},
		{"feed", header("Content-Type", "text/xml"), `<feed><entry><link href="/a"/><updated>2026-02-03</updated></entry></feed>`,
			[]string{"feed /a 2026-02-03T00:00:00Z"}},
		{"header of an image", header("Content-Type", "image/png", "Link", `<a>; rel=next`, "Refresh", "0; url=b"), "\x89PNG",
			[]string{"header /dir/a", "refresh /dir/b"}},
		{"no header", nil, "\x00", []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page := NewParser(Options{}).Extract(test.header, []byte(test.body), parsed(t, own))
			if diff := cmp.Diff(test.want, written(page.Links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if page.Text != [16]byte{} || page.SoftError {
				t.Error("text of a page that is not HTML")
			}
		})
	}
}

// TestGolden holds whole documents to the links read from them.
func TestGolden(t *testing.T) {
	for _, name := range []string{"article", "gallery"} {
		t.Run(name, func(t *testing.T) {
			document, err := os.ReadFile("testdata/" + name + ".html")
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile("testdata/" + name + ".links")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(written(extractHTML(t, string(document)).Links), "\n") + "\n"
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}
