package text_test

import (
	"context"
	"strings"
	"testing"

	"freshet/text"
	"freshet/weburl"
)

// TestMarkdownLinks holds that links and pictures in Markdown lead where those of the page do.
func TestMarkdownLinks(t *testing.T) {
	for _, c := range []struct{ url, base, want string }{
		{"http://site.test/blog/", "", "http://site.test/blog/p1.html"},
		{"http://site.test/blog/index.html", "", "http://site.test/blog/p1.html"},
		{"http://site.test/", `<base href="/docs/">`, "http://site.test/docs/p1.html"},
		{"http://site.test/", "", "http://site.test/p1.html"},
		{"http://site.test/", `<base href="https://other.test/a/b"><meta property="og:type" content="article">`, "https://other.test/a/p1.html"},
		{"http://site.test/blog/", `<meta property="og:type" content="article">`, "http://site.test/blog/p1.html"},
	} {
		u, err := weburl.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		e := text.NewExtractor(text.Limits{})
		document := `<html><head>` + c.base + `<title>Blog</title></head><body><p>The first post of this blog is <a href="p1.html">the one about bees</a>, and it says a lot about them.</p></body></html>`
		d := e.Read(context.Background(), parse(t, document), u, nil, true)
		e.Close()
		if !strings.Contains(d.Markdown, "("+c.want+")") {
			t.Errorf("%s %s: want a link to %s in %s", c.url, c.base, c.want, d.Markdown)
		}
	}
}
