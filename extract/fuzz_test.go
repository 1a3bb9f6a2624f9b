package extract

import (
	"os"
	"testing"
	"unicode/utf8"

	"freshet/weburl"
)

// checkLinks holds links to what every consumer relies on: within the bound, canonical, none twice.
func checkLinks(t *testing.T, links []Link, most int) {
	t.Helper()
	if len(links) > most {
		t.Errorf("%d links, more than %d", len(links), most)
	}
	seen := map[weburl.URL]bool{}
	for _, l := range links {
		if again, err := weburl.Parse(l.URL.String()); err != nil || again != l.URL {
			t.Errorf("%q is not canonical: %v, %v", l.URL, again, err)
		}
		if seen[l.URL] {
			t.Errorf("%q comes twice", l.URL)
		}
		if !l.Rel.Valid() {
			t.Errorf("%q has relation %d", l.URL, l.Rel)
		}
		seen[l.URL] = true
	}
}

func checkEntries(t *testing.T, list []Entry, most int) {
	t.Helper()
	if len(list) > most {
		t.Errorf("%d entries, more than %d", len(list), most)
	}
	for _, e := range list {
		if again, err := weburl.Parse(e.URL.String()); err != nil || again != e.URL {
			t.Errorf("%q is not canonical: %v, %v", e.URL, again, err)
		}
		if e.Priority < 0 || e.Priority > 1 {
			t.Errorf("%q has priority %v", e.URL, e.Priority)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, name := range []string{"testdata/article.html", "testdata/gallery.html"} {
		document, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("text/html", document)
	}
	f.Add("application/xhtml+xml", []byte(`<svg><script/><title/><![CDATA[x]]></svg><noscript><template></noscript>`))
	f.Add("text/html", []byte(`<svg><desc><template><style><a href=1></desc></svg><math><mi><svg/><font size=1><![CDATA[x]]></p>`))
	f.Add("text/css", []byte(`@import "a"; @namespace url(n); /* url(c) */ p{background:url( 'b' ) "url(d)`))
	f.Add("text/html", []byte(`<style>@import "a"</style><p style="background:url(b)"><img data-srcset="c 2x"><svg><style>p{fill:url(d)}</style>`))
	f.Add("", []byte(urlset))
	f.Add("text/plain", []byte("http://a.test/\n"))
	f.Add("text/xml; charset=utf-16", []byte("<rss><item><link>/a</link></item></rss>"))
	const most = 20
	p := NewParser(Options{MaxLinks: most, MaxUnpacked: 1 << 16})
	base := parsed(f, own)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		h := header("Content-Type", contentType)
		page := p.Extract(h, body, base)
		checkLinks(t, page.Links, most)
		if len(page.Title) > MaxTitle || !utf8.ValidString(page.Title) {
			t.Errorf("title %q", page.Title)
		}
		again := p.Extract(h, body, base)
		if len(again.Links) != len(page.Links) || again.Text != page.Text || again.Title != page.Title {
			t.Error("a second reading differs")
		}
	})
}

func FuzzCharset(f *testing.F) {
	f.Add("text/html; charset=shift_jis", []byte("\x93\xfa"))
	f.Add("", []byte("\xff\xfea\x00"))
	f.Add("", []byte("<?xml encoding='hz-gb-2312'?>~{"))
	f.Add("text/html;charset=iso-2022-jp", []byte("\x1b$BF|"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		for _, decode := range []func(string, []byte, *Options) ([]byte, string){decode, decodeXML} {
			text, name := decode(contentType, body, new(Options{}.orDefault()))
			if !utf8.Valid(text) || name == "" {
				t.Errorf("read as %q: %q", name, text)
			}
			if len(text) > 3*len(body)+3 {
				t.Errorf("%d bytes became %d", len(body), len(text))
			}
		}
	})
}

func FuzzCandidates(f *testing.F) {
	f.Add([]byte("a 1x, b(,) 2x,c"))
	f.Fuzz(func(t *testing.T, set []byte) {
		total := 0
		for ref := range candidates(set) {
			if total += len(ref); len(ref) == 0 || total > len(set) {
				t.Fatalf("%q", ref)
			}
		}
	})
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte(urlset))
	f.Add(zipped(f, urlset))
	f.Add([]byte("<!DOCTYPE x [<!ENTITY a 'b'>]><sitemapindex><sitemap><loc>/&a;"))
	f.Add([]byte("http://a.test/\n"))
	base := parsed(f, own)
	f.Fuzz(func(t *testing.T, body []byte) {
		const most = 5
		s, _ := ParseSitemap("", body, base, Options{MaxLinks: most, MaxUnpacked: 1 << 16})
		checkEntries(t, s.Entries, most)
	})
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(`<rss><channel><item><link>/a</link><guid>http://a.test/</guid></item></channel></rss>`))
	f.Add([]byte(`<feed xml:base="/b/"><entry><link rel="alternate" href="a"/><updated>2026</updated></entry></feed>`))
	base := parsed(f, own)
	f.Fuzz(func(t *testing.T, body []byte) {
		const most = 5
		list, _ := ParseFeed("", body, base, Options{MaxLinks: most})
		checkEntries(t, list, most)
	})
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`<a>; rel="next \"x"; anchor=y, <b>;;`)
	base := parsed(f, own)
	f.Fuzz(func(t *testing.T, value string) {
		checkLinks(t, headerLinks([]string{value, value}, base), DefaultMaxLinks)
		refreshTarget(value)
		parseDate(value)
		var page Page
		page.obeyHeader([]string{value}, "freshet")
	})
}
