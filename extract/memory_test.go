package extract

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// taken returns how many bytes of memory a function allocates in total, including memory that it frees.
func taken(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// The memory for a document of 8 MiB is bounded for any content. Without bounds on a tag's attributes, an XML token
// or the URLs, each of these took hundreds of megabytes or more.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	many := func(text string) string { return strings.Repeat(text, 8*mib/len(text)) }
	var links strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&links, "<a href=%d>", i)
	}
	tests := []struct {
		name, contentType, document string
		most                        int64 // MiB taken all in all
	}{
		{"attributes", "text/html", "<a " + many("a ") + ">", 1},
		{"attributes with references", "text/html", many("<a href='" + strings.Repeat("&amp;", 10_000) + "'>"), 2},
		{"references", "text/html", many("&nGt;"), 32},
		{"nothing but NUL", "text/html", "<svg>" + many("\x00"), 96}, // in pieces, one after the other
		{"another character set", "text/html; charset=windows-1252", many("\x80"), 48},
		{"long base", "text/html", "<base href='http://a.test/" + strings.Repeat("x", 2000) + "/'>" + links.String(), 64},
		{"attributes of XML", "text/xml", "<urlset><url " + many("a=''\n") + "/>", 1},
		{"a comment of XML", "text/xml", "<urlset><!--" + many("comment ") + "-->", 1},
		{"text of XML", "text/xml", "<urlset><url><loc>" + many("text "), 1},
		{"a name of XML", "text/xml", "<urlset><" + many("name") + ">", 1},
		{"instructions of XML", "text/xml", "<urlset><?" + many("instruction "), 1},
		{"long locations", "text/xml", "<urlset>" + many("<url><loc>http://a.test/"+strings.Repeat("\xc3\xa4", 1000)+"</loc></url>"), 64},
	}
	p := NewParser(Options{MaxDocument: 16 * mib, MaxLinkBytes: 16 * mib})
	p.Extract(nil, []byte("<p>warm"), parsed(t, own))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body, h := []byte(test.document), http.Header{"Content-Type": {test.contentType}}
			bytes := taken(func() { p.Extract(h, body, parsed(t, own)) })
			if bytes > test.most*mib {
				t.Errorf("%.1f MiB, want %d at most", float64(bytes)/mib, test.most)
			}
		})
	}
}

// If Room refuses, the result has what fits into the first 64 KiB.
func TestNoRoom(t *testing.T) {
	asked := 0
	p := NewParser(Options{Room: func(int64) error { asked++; return fmt.Errorf("no room") }})
	var links strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&links, "<a href=%d>", i)
	}
	page := p.Extract(http.Header{"Content-Type": {"text/html"}}, []byte(links.String()), parsed(t, own))
	if n := len(page.Links); asked == 0 || n == 0 || n > freeBytes/linkBytes || page.LinksDropped == 0 {
		t.Errorf("asked %d times, %d links, %d dropped", asked, n, page.LinksDropped)
	}
}
