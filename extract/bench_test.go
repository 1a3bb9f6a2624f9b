package extract

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// article returns a document of some 20 KB and 40 links, as sites write them.
func article(links string) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the river rose again and nobody in the valley was surprised by what it left behind on meadows")
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>The river</title><link rel="stylesheet" href="/site.css">` +
		"<script>" + strings.Repeat("window.x = window.x || [];\n", 80) + "</script></head><body class=\"article wide\">\n")
	for i := range 38 {
		b.WriteString(`<div class="section level-2"><p class="text">`)
		for range 50 {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "<span class=\"note\">&amp; more</span> <a class=\"link\" href=\""+links+"\">next</a></p></div>\n", i)
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkExtract(b *testing.B) {
	for _, links := range []struct{ name, format string }{
		{"relative", "../archive/%d.html"}, {"path", "/archive/%d.html"},
		{"absolute", "https://www.example.org/archive/%d.html"}, {"unclean", "/Archiv/Über%d.html"},
	} {
		b.Run("links="+links.name, func(b *testing.B) {
			document := article(links.format)
			base := parsed(b, "https://www.example.org/news/today.html")
			h := header("Content-Type", "text/html; charset=utf-8")
			p := NewParser(Options{})
			b.SetBytes(int64(len(document)))
			b.ReportAllocs()
			for b.Loop() {
				if page := p.Extract(h, document, base); len(page.Links) != 39 {
					b.Fatal(len(page.Links))
				}
			}
		})
	}
}

func BenchmarkSitemap(b *testing.B) {
	var s strings.Builder
	s.WriteString("<urlset>")
	for i := range 10_000 {
		fmt.Fprintf(&s, "<url><loc>https://www.example.org/archive/%d.html</loc><lastmod>2026-02-03T10:00:00Z</lastmod></url>\n", i)
	}
	s.WriteString("</urlset>")
	body, base := []byte(s.String()), parsed(b, own)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if list, err := ParseSitemap("text/xml", body, base, Options{}); err != nil || len(list.Entries) != 10_000 {
			b.Fatal(len(list.Entries), err)
		}
	}
}
