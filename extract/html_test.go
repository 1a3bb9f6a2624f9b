package extract

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/weburl"
)

// own is where the pages of the tests come from.
const own = "http://site.test/dir/page.html"

func parsed(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// header returns a header of the given names and values, in turn.
func header(fields ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	return h
}

func extractHTML(t testing.TB, document string) Page {
	t.Helper()
	return NewParser(Options{}).Extract(header("Content-Type", "text/html; charset=utf-8"), []byte(document), parsed(t, own))
}

// written returns links a line each: relation, URL without the tests' origin, marks.
func written(links []Link) []string {
	lines := []string{}
	for _, l := range links {
		line := fmt.Sprintf("%v %s", l.Rel, strings.TrimPrefix(l.URL.String(), "http://site.test"))
		if l.NoFollow {
			line += " nofollow"
		}
		if !l.LastMod.IsZero() {
			line += " " + l.LastMod.Format("2006-01-02T15:04:05Z07:00")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestElements(t *testing.T) {
	tests := []struct {
		name, document string
		want           []string
	}{
		{"anchor", `<a href=x>x</a>`, []string{"anchor /dir/x"}},
		{"upper case", `<A HREF='/X'>x</A>`, []string{"anchor /X"}},
		{"area", `<map><area href="../x"></map>`, []string{"anchor /x"}},
		{"entity in attribute", `<a href="?a=1&amp;b=2">`, []string{"anchor /dir/page.html?a=1&b=2"}},
		{"bare ampersand", `<a href="?a=1&b=2">`, []string{"anchor /dir/page.html?a=1&b=2"}},
		{"first of two attributes", `<a href=x href=y>`, []string{"anchor /dir/x"}},
		{"line breaks in a URL", "<a href=' /a\n\tb '>", []string{"anchor /ab"}},
		{"fragment dropped, own page left out", `<a href=#top><a href="page.html#x"><a href="x#y"><a href="">`, []string{"anchor /dir/x"}},
		{"repeated", `<a href=x><a href=y><img src=x>`, []string{"anchor /dir/x", "anchor /dir/y"}},
		{"nofollow", `<a rel="ugc NoFollow" href=x><a rel="nofollower" href=y>`, []string{"anchor /dir/x nofollow", "anchor /dir/y"}},
		{"nofollow once of twice", `<a rel=nofollow href=x><a href=x>`, []string{"anchor /dir/x"}},
		{"other schemes", `<a href="mailto:a@b"><a href="javascript:x()"><a href="data:,x"><a href="ftp://h/x"><a href="tel:1">`, []string{}},
		{"relative with a colon", `<a href="./a:b"><a href="HTTP://Other.test:80/">`, []string{"anchor /dir/a:b", "anchor http://other.test/"}},
		{"broken URL", `<a href="http://[/"><a href="http://a b/">`, []string{}},
		{"in a comment", `<!-- <a href=x> -->`, []string{}},
		{"in a script", `<script>"<a href=x>"</script><a href=y>`, []string{"anchor /dir/y"}},
		{"in a text area", `<textarea><a href=x></textarea>`, []string{}},
		{"in noscript", `<noscript><a href=x><img src=i></noscript>`, []string{"anchor /dir/x", "embed /dir/i"}},
		{"in a template", `<template><a href=x></template>`, []string{"anchor /dir/x"}},
		{"unclosed tag", `<a href=x`, []string{}},
		{"unclosed title", `<title>t<a href=x>`, []string{}},
		{"style sheet", `<link rel=stylesheet href=x>`, []string{"embed /dir/x"}},
		{"icon", `<link rel="shortcut icon" href=x>`, []string{"embed /dir/x"}},
		{"canonical", `<link rel=Canonical href=x>`, []string{"canonical /dir/x"}},
		{"alternate", `<link rel=alternate hreflang=de href=x>`, []string{"alternate /dir/x"}},
		{"feed", `<link rel=alternate type="Application/RSS+xml; charset=utf-8" href=x>`, []string{"feed /dir/x"}},
		{"sitemap", `<link rel=sitemap href=x>`, []string{"sitemap /dir/x"}},
		{"next", `<link rel=next href=x><link href=y>`, []string{"link /dir/x", "link /dir/y"}},
		{"hosts only", `<link rel=preconnect href=//h/><link rel=dns-prefetch href=//h/>`, []string{}},
		{"link's set of images", `<link rel=preload as=image imagesrcset="a 1x, b 2x">`, []string{"embed /dir/a", "embed /dir/b"}},
		{"frames", `<frameset><frame src=a></frameset><iframe src=b><a href=c></iframe>`, []string{"frame /dir/a", "frame /dir/b"}},
		{"embedded", `<embed src=a><object data=b></object><input type=image src=c>`, []string{"embed /dir/a", "embed /dir/b", "embed /dir/c"}},
		{"media", `<audio src=a></audio><video src=b poster=c><track src=d><source src=e></video>`,
			[]string{"embed /dir/a", "embed /dir/b", "embed /dir/c", "embed /dir/d", "embed /dir/e"}},
		{"script", `<script src=a></script>`, []string{"embed /dir/a"}},
		{"image", `<img src=a srcset="b 1x, c 2x"><picture><source srcset=d></picture>`,
			[]string{"embed /dir/a", "embed /dir/b", "embed /dir/c", "embed /dir/d"}},
		{"image by its old name", `<image src=a>`, []string{"embed /dir/a"}},
		{"empty image", `<img src=""><iframe src="">`, []string{}},
		{"backgrounds", `<body background=a><table background=b><tr background=c><td background=d>`,
			[]string{"embed /dir/a", "embed /dir/b", "embed /dir/c", "embed /dir/d"}},
		{"svg", `<svg><a xlink:href=a></a><image href=b /><use xlink:href="c#x"/><script href=d /></svg><a href=e>`,
			[]string{"anchor /dir/a", "embed /dir/b", "embed /dir/c", "embed /dir/d", "anchor /dir/e"}},
		{"svg never closed", `<svg><p><script src=a /><a href=b></script><a href=c>`, []string{"embed /dir/a", "anchor /dir/c"}},
		{"not links", `<form action=x><q cite=y><blockquote cite=z>`, []string{}},
		{"refresh", `<meta http-equiv=Refresh content="0; URL='x?a=1'">`, []string{"refresh /dir/x?a=1"}},
		{"refresh of itself", `<meta http-equiv=refresh content=30>`, []string{}},
		{"non-ASCII", `<a href="/é?ü">`, []string{"anchor /%C3%A9?%C3%BC"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, written(extractHTML(t, test.document).Links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBase(t *testing.T) {
	tests := []struct {
		name, document string
		want           []string
	}{
		{"before", `<base href="/b/"><a href=x>`, []string{"anchor /b/x"}},
		{"after", `<a href=x><base href="/b/">`, []string{"anchor /b/x"}},
		{"first of two", `<base href="/b/"><base href="/c/"><a href=x>`, []string{"anchor /b/x"}},
		{"first with href", `<base target=_top><base href="/c/"><a href=x>`, []string{"anchor /c/x"}},
		{"invalid is frozen", `<base href="http://["><base href="/c/"><a href=x>`, []string{"anchor /dir/x"}},
		{"other scheme", `<base href="data:,x"><a href=x>`, []string{"anchor /dir/x"}},
		{"other site", `<base href="//o.test/b/c"><a href=x>`, []string{"anchor http://o.test/b/x"}},
		{"fragment means the base", `<base href="/b/"><a href="#x">`, []string{"anchor /b/"}},
		{"empty means the base", `<base href="/b/"><a href="">`, []string{"anchor /b/"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, written(extractHTML(t, test.document).Links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRobots(t *testing.T) {
	type asked struct{ NoIndex, NoFollow, NoArchive bool }
	tests := []struct {
		name, document string
		header         http.Header
		want           asked
	}{
		{"nothing", `<meta name=robots content="index, follow, all">`, nil, asked{}},
		{"meta", `<meta name=ROBOTS content="NOINDEX,nofollow">`, nil, asked{NoIndex: true, NoFollow: true}},
		{"none", `<meta name=robots content=none>`, nil, asked{NoIndex: true, NoFollow: true}},
		{"own name", `<meta name=Freshet content=noarchive>`, nil, asked{NoArchive: true}},
		{"another's name", `<meta name=otherbot content=noindex>`, nil, asked{}},
		{"header", ``, header("X-Robots-Tag", "noindex, noarchive"), asked{NoIndex: true, NoArchive: true}},
		{"header for us", ``, header("X-Robots-Tag", "Freshet: nofollow, noindex"), asked{NoFollow: true, NoIndex: true}},
		{"header for another", ``, header("X-Robots-Tag", "otherbot: noindex, nofollow"), asked{}},
		{"joined header", ``, header("X-Robots-Tag", "otherbot: noindex, nofollow, freshet: noarchive, *: nofollow"), asked{NoFollow: true, NoArchive: true}},
		{"time with a comma", ``, header("X-Robots-Tag", "unavailable_after: Fri, 25 Jun 2030 15:00:00 PST, noindex"), asked{NoIndex: true}},
		{"value that is a directive's name", `<meta name=robots content="max-image-preview: none">`, header("X-Robots-Tag", "max-image-preview: none"), asked{}},
		{"two headers", ``, header("X-Robots-Tag", "otherbot: noindex", "X-Robots-Tag", "nofollow"), asked{NoFollow: true}},
		{"directive with a value", ``, header("X-Robots-Tag", "max-snippet: 20, noindex, unavailable_after: 25 Jun 2030 15:00:00 PST, noarchive"),
			asked{NoIndex: true, NoArchive: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := header("Content-Type", "text/html")
			maps.Copy(h, test.header)
			p := NewParser(Options{}).Extract(h, []byte(test.document), parsed(t, own))
			if got := (asked{p.NoIndex, p.NoFollow, p.NoArchive}); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestSignals holds which signals about the use of a page are read from header and document.
func TestSignals(t *testing.T) {
	h := header("Content-Type", "text/html", "Content-Usage", "train-ai=n", "X-Robots-Tag", "otherbot: noai", "X-Robots-Tag", "noimageai, nofollow",
		"Link", `</cc>; rel="license", </else>; rel=next`, "TDM-Reservation", "1")
	document := `<base href="/sub/"><meta name=Robots content="noai, max-snippet:1"><meta name=TDM-Policy content="https://a.test/p">
<meta name=author content=train-ai=n><link rel=license href=terms><a rel="nofollow license" href=https://cc.test/by>by</a><a rel=licensed href=/no>no</a>`
	want := "header robots: noimageai\nheader content-usage: train-ai=n\nheader tdm-reservation: 1\nlink license: http://example.org/cc\n" +
		"meta robots: noai, max-snippet:1\nmeta tdm-policy: https://a.test/p\nlink license: http://example.org/sub/terms\nlink license: https://cc.test/by"
	parser := NewParser(Options{})
	for range 2 { // nothing is left from the page before
		if got := parser.Extract(h, []byte(document), parsed(t, "http://example.org/a/b")).Signals.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if got := parser.Extract(header("Content-Type", "text/html"), []byte("<p>nothing"), parsed(t, "http://example.org/a/b")).Signals; len(got) > 0 {
		t.Errorf("of a page that says nothing: %s", got)
	}
}

func TestCanonicalAndTitle(t *testing.T) {
	page := extractHTML(t, `<base href=/b/><title>
		A  &amp; B </title><svg><title>c</title></svg><link rel=canonical href=c><link rel=canonical href=d>`)
	if got := page.Canonical.String(); got != "http://site.test/b/c" {
		t.Errorf("canonical %q", got)
	}
	if page.Title != "A & B" {
		t.Errorf("title %q", page.Title)
	}
	long := extractHTML(t, "<title>"+strings.Repeat("é ", 2000)+"</title>").Title
	if len(long) > MaxTitle || !strings.HasPrefix(long, "é é") || strings.ContainsRune(long, '\uFFFD') {
		t.Errorf("long title has %d bytes: %q", len(long), long)
	}
	h := header("Content-Type", "application/pdf", "Link", `</c>; rel="canonical"`)
	if p := NewParser(Options{}).Extract(h, nil, parsed(t, own)); p.Canonical.String() != "http://site.test/c" {
		t.Errorf("canonical of the header %q", p.Canonical)
	}
}

func TestXHTML(t *testing.T) {
	h := header("Content-Type", "application/xhtml+xml")
	document := `<?xml version="1.0" encoding="iso-8859-1"?><html><head><title/><script src="a"/></head><body><a href="b">` + "\xe9" + `</a></body></html>`
	page := NewParser(Options{}).Extract(h, []byte(document), parsed(t, own))
	if diff := cmp.Diff([]string{"embed /dir/a", "anchor /dir/b"}, written(page.Links)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if want := extractHTML(t, "é").Text; page.Text != want || page.Charset != "windows-1252" {
		t.Errorf("text %x read as %s, want %x", page.Text, page.Charset, want)
	}
}

// TestCutCharacter cuts documents that declare no character set in each place. They stay UTF-8.
func TestCutCharacter(t *testing.T) {
	h := header("Content-Type", "text/html")
	for _, end := range []string{"é", "€", "😀"} {
		whole := "<p>Grüße" + end
		for cut := len(whole) - len(end); cut <= len(whole); cut++ {
			page := NewParser(Options{}).Extract(h, []byte(whole[:cut]), parsed(t, own))
			if page.Charset != "utf-8" || !strings.HasPrefix(string(UTF8("text/html", []byte(whole[:cut]), 1<<20)), "<p>Grüße") {
				t.Errorf("%q is read as %s", whole[:cut], page.Charset)
			}
		}
	}
	if page := NewParser(Options{}).Extract(h, []byte("<p>Gr\xfc\xdfe und \xc3"), parsed(t, own)); page.Charset != "windows-1252" {
		t.Errorf("windows-1252 is read as %s", page.Charset)
	}
}

func TestLimits(t *testing.T) {
	p := NewParser(Options{MaxLinks: 3})
	h := header("Content-Type", "text/html")
	page := p.Extract(h, []byte(`<a href=1><a href=2><a href=3><a href=4><a href=5>`), parsed(t, own))
	if len(page.Links) != 3 || page.LinksDropped != 2 {
		t.Errorf("%d links, %d dropped, want 3 and 2", len(page.Links), page.LinksDropped)
	}
	page = p.Extract(h, []byte(`<a href=1><a href=`+strings.Repeat("x", maxReference+1)+`>`), parsed(t, own))
	if len(page.Links) != 1 || page.LinksDropped != 1 {
		t.Errorf("%d links, %d dropped, want 1 and 1", len(page.Links), page.LinksDropped)
	}
	// Short references against a long base must not fill the memory.
	long := `<base href="/` + strings.Repeat("b", maxReference-10) + `/">`
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "<a href=%d>", i)
	}
	page = NewParser(Options{}).Extract(h, []byte(long+many.String()), parsed(t, own))
	if n := len(page.Links) * maxReference; n > maxResolved+maxReference*2 || page.LinksDropped == 0 {
		t.Errorf("%d links of a long base, %d dropped", len(page.Links), page.LinksDropped)
	}
}

func TestParserForgetsThePageBefore(t *testing.T) {
	p := NewParser(Options{})
	h := header("Content-Type", "text/html")
	first := `<base href=/b/><title>One</title><meta name=robots content=none><link rel=canonical href=x><noscript><template><svg>words`
	kept := p.Extract(h, []byte(first), parsed(t, own))
	before := written(kept.Links)
	second := []byte(`<a href=y>text</a>`)
	got, want := p.Extract(h, second, parsed(t, own)), NewParser(Options{}).Extract(h, second, parsed(t, own))
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, written(kept.Links)); diff != "" {
		t.Errorf("first page's links changed:\n%s", diff)
	}
}

// TestReadsAlike reads bodies under two headers.
func TestReadsAlike(t *testing.T) {
	for _, c := range []struct {
		one, other, body string
		want             bool
	}{
		{"text/html", "text/html;charset=UTF-8", "<p>é", true},
		{"text/html", "TEXT/HTML; charset=utf8", `<meta charset="utf-8"><p>é`, true},
		{"text/html", "text/html; charset=utf-8", "<p>\xe9", false},
		{"text/html; charset=utf-8", "text/html; charset=iso-8859-1", "<p>é", false},
		{"text/html; charset=utf-8", "text/html; charset=iso-8859-1", "<p>e", true},
		{"text/html; charset=utf-8", "text/html; charset=utf-16le", "<p>e", false},
		{"text/html; charset=utf-8", "text/html; charset=iso-2022-jp", "<p>\x1b$BF|", false},
		{"text/html; charset=iso-8859-1", "text/html; charset=windows-1252", "<p>é", true},
		{"text/html; charset=utf-8", "text/html; charset=iso-8859-1", "\xef\xbb\xbf<p>é", true},
		{"text/html", "text/plain", "<p>e", false},
		{"text/html", "text/html; q=1", "<p>é", true},
		{"", "text/html", "<!doctype html><p>e", false},
		{"application/xhtml+xml", "text/html", "<p>e", false},
		{"text/plain", "text/plain; charset=iso-8859-1", "é", false},
		{"text/plain", "application/octet-stream", "e", false},
		{"application/pdf", "application/pdf; charset=utf-8", "%PDF \xe9", true},
		{"application/pdf", "application/octet-stream", "%PDF", false},
		{"image/jpg", "image/jpeg; charset=utf-8", "\xff\xd8", true},
		{"application/json", "application/json; charset=utf-8", `"é"`, true},
		{"application/json", "text/xml", "<rss>", false},
	} {
		if got := ReadsAlike(c.one, c.other, []byte(c.body)); got != c.want || ReadsAlike(c.other, c.one, []byte(c.body)) != got {
			t.Errorf("%q and %q, %q: %v, want %v", c.one, c.other, c.body, got, c.want)
		}
	}
}
