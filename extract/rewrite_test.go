package extract

import (
	"bytes"
	"strings"
	"testing"

	"freshet/weburl"
)

func archived(u weburl.URL) string { return "/web/" + u.String() }

func TestRewriteHTML(t *testing.T) {
	own, err := weburl.Parse("http://a.test/dir/page.html")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, document, want string }{
		{"nothing", "plain \xe9 text <b>bold</b>", "plain \xe9 text <b>bold</b>"},
		{"relative", `<a href="x.html">x</a>`, `<a href="/web/http://a.test/dir/x.html">x</a>`},
		{"fragments", `<a href="#top"><a href='x#y z'>`, `<a href="#top"><a href='/web/http://a.test/dir/x#y z'>`},
		{"no quotes", `<img src=/i.png alt=i>`, `<img src="/web/http://a.test/i.png" alt=i>`},
		{"other schemes", `<a href="mailto:a@b"><img src="data:,x"><a href=javascript:f()>`, `<a href="mailto:a@b"><img src="data:,x"><a href=javascript:f()>`},
		{"escapes", `<a href="?a=1&amp;b=2" title="&eacute;">`, `<a href="/web/http://a.test/dir/page.html?a=1&amp;b=2" title="&eacute;">`},
		{"base", `<base href="//b.test/"><a href=x>`, `<base href="/web/http://b.test/"><a href="/web/http://b.test/x">`},
		{"srcset", `<img srcset="a.png 1x, b.png 2x">`, `<img srcset="/web/http://a.test/dir/a.png 1x, /web/http://a.test/dir/b.png 2x">`},
		{"style", `<style>a{background:url( "x.png" )}</style><p style="background:url(y.png)">`, `<style>a{background:url( "/web/http://a.test/dir/x.png" )}</style><p style="background:url(/web/http://a.test/dir/y.png)">`},
		{"script", `<script src=s.js integrity="sha256-x">a = '<a href="x">'</script>`, `<script src="/web/http://a.test/dir/s.js" data-integrity="sha256-x">a = '<a href="x">'</script>`},
		{"refresh", `<meta http-equiv=refresh content="0; url=n.html">`, `<meta http-equiv=refresh content="0; url=/web/http://a.test/dir/n.html">`},
		{"policy", `<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`, `<meta data-http-equiv="Content-Security-Policy" content="default-src 'none'">`},
		{"comment", `<!-- <a href=x> --><a href`, `<!-- <a href=x> --><a href`},
		{"vector", `<svg><use xlink:href="s.svg#i"/></svg>`, `<svg><use xlink:href="/web/http://a.test/dir/s.svg#i"/></svg>`},
	}
	for _, test := range tests {
		if got := string(RewriteHTML([]byte(test.document), own, archived, nil)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestRewriteMemory rewrites documents that are made to need more memory than there is: documents within documents, and
// short references that a long base makes long ones.
func TestRewriteMemory(t *testing.T) {
	own, err := weburl.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	const deep = 800
	document := strings.Repeat("<a/srcdoc=", deep) + "x"
	for i := range deep - 1 { // the ends, the innermost first
		document += "&" + strings.Repeat("amp;", deep-2-i) + "gt;"
	}
	document += ">"
	based := "<base href=/" + strings.Repeat("x", 8<<10) + "/>"
	for name, document := range map[string]string{
		"nested": document, "long base": based + strings.Repeat("<a href=a>", 40_000), "long base of sheets": based + "<style>" + strings.Repeat("url(a)", 40_000),
		"long base in documents": based + strings.Repeat("<a srcdoc='"+strings.Repeat("<a href=a>", 1000)+"'>", 40),
	} {
		const most = 24 * maxReplaced
		if bytes := taken(func() { RewriteHTML([]byte(document), own, archived, nil) }); bytes > most {
			t.Errorf("%s: %d MiB for %d KiB", name, bytes>>20, len(document)>>10)
		}
	}
}

// TestRewriteUses puts files of the own site behind a document that takes drawings from them. Nothing of them runs, and
// their ids and styles are of no other file.
func TestRewriteUses(t *testing.T) {
	own, err := weburl.Parse("http://a.test/page.html")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"http://a.test/a.svg": `<svg><style>@media print{.b #c, i{fill:url(#g)}}</style><script>run()</script><g id=x class="b d" onload=run() fill="url('#g')"><image href="i.png"/><use href=#g /></g></svg>`,
		"http://b.test/b.svg": `<svg id=x></svg>`,
	}
	document := `<svg><use href="a.svg#x"/><use href="a.svg#y"/><use href="//b.test/b.svg#x"/><use href="none.svg#x"/><use href="#x"/></svg>`
	want := `<svg><use href="#freshet-0-x"/><use href="#freshet-0-y"/><use href="/web/http://b.test/b.svg#x"/><use href="/web/http://a.test/none.svg#x"/><use href="#x"/></svg>` +
		`<svg id="freshet-0-" aria-hidden="true" style="position:absolute;width:0;height:0;overflow:hidden">` +
		`<svg class="freshet-0-"><style class="freshet-0-">@media print{.freshet-0-b #freshet-0-c,i.freshet-0-{fill:url(#freshet-0-g)}}</style>` +
		`<g id="freshet-0-x" class="freshet-0- freshet-0-b freshet-0-d" data-onload=run() fill="url(&#39;#freshet-0-g&#39;)">` +
		`<image class="freshet-0-" href="/web/http://a.test/i.png"/><use class="freshet-0-" href="#freshet-0-g" /></g></svg></svg>`
	got := RewriteHTML([]byte(document), own, archived, func(u weburl.URL) []byte {
		if file, ok := files[u.String()]; ok {
			return []byte(file)
		}
		return nil
	})
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRewriteCSS(t *testing.T) {
	own, err := weburl.Parse("http://a.test/css/s.css")
	if err != nil {
		t.Fatal(err)
	}
	sheet := "@import 'b.css'; @IMPORT url(c.css); a{src:url(data:x)} b{background:URL('../i.png')}"
	want := "@import '/web/http://a.test/css/b.css'; @IMPORT url(/web/http://a.test/css/c.css); a{src:url(data:x)} b{background:URL('/web/http://a.test/i.png')}"
	same := `@namespace url(http://b.test/ns); /* url(a) */ p{content:"url(b)" 'it\'s url(c)'} /* @import "d"`
	sheet, want = sheet+same, want+same
	if got := string(RewriteCSS([]byte(sheet), own, archived)); got != want {
		t.Errorf("got %s", got)
	}
}

// FuzzRewriteHTML holds that whatever the document, a rewriting that changes no reference's meaning keeps
// its tokens, and that one that is asked to change nothing of a text without markup changes nothing.
func FuzzRewriteHTML(f *testing.F) {
	f.Add([]byte(`<a href="x"><img srcset="a 1x,b"><style>@import "x"</style><base href=/b/><p style='url(x)'>`))
	f.Fuzz(func(t *testing.T, document []byte) {
		own, _ := weburl.Parse("http://a.test/")
		embedded(document, "freshet-0-")
		out := RewriteHTML(document, own, archived, nil)
		before, after := tokenizer{document: document}, tokenizer{document: out}
		for {
			a, b := before.next(), after.next()
			if a != b || !bytes.HasPrefix(after.name, []byte("data-")) && a == startTag && !bytes.Equal(before.name, after.name) {
				t.Fatalf("%d %q became %d %q", a, before.raw, b, after.raw)
			}
			if a == endOfDocument {
				return
			}
		}
	})
}
