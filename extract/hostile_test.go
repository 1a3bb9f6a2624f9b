package extract

import (
	"fmt"
	"strings"
	"testing"
)

// TestHostile reads documents made to exhaust a reader. It passes by ending: each would take minutes
// or more memory than there is, were the work not linear or the depth not bounded.
func TestHostile(t *testing.T) {
	const n = 100_000
	many := func(s string) string { return strings.Repeat(s, n) }
	var signals strings.Builder
	for i := range 20 {
		fmt.Fprintf(&signals, "<meta name=robots content='noimageai %d %s'>", i, strings.Repeat("x ", 200))
	}
	for i := range n {
		fmt.Fprintf(&signals, "<meta name=robots content=noai,%d>", i)
	}
	var longHost strings.Builder
	for i := range 2600 {
		longHost.WriteRune(rune(0x4e00 + 7*i))
	}
	documents := []struct{ name, contentType, document string }{
		{"attributes", "text/html", "<a " + many("a=b ") + ">" + many("<p a>")},
		{"less-than signs", "text/html", many("<<<<")},
		{"comments never closed", "text/html", many("<!-")},
		{"scripts in scripts", "text/html", "<script>" + many("<!--<script")},
		{"ampersands", "text/html", many("&&&&")},
		{"srcset", "text/html", "<img srcset='" + many("(,") + "'>"},
		{"svg in svg", "text/html", many("<svg>")},
		{"ends of nothing in svg", "text/html", many("<svg>") + many("</desc></template></p>")},
		{"svg in HTML in svg", "text/html", many("<svg><desc><template>") + many("</svg>")},
		{"CDATA", "text/html", "<svg>" + many("<![CDATA[")},
		{"signals about use", "text/html", signals.String()},
		{"links that need the slow parser", "text/html", many("<a href=Ü>")},
		{"hosts that need the slow parser", "text/html", strings.Repeat("<a href=http://"+longHost.String()+"/><a href=http://xn--"+strings.Repeat("4", 8000)+"/>", 500)},
		{"long base", "text/html", "<base href='" + strings.Repeat("é", 3000) + "/'>" + many("<a href=Ü>")},
		{"feed in feed", "text/xml", "<rss><item>" + many("<a:a>")},
		{"end tags that fit nothing", "text/xml", "<urlset>" + strings.Repeat("<a>", maxDepth-1) + many("</b>")},
		{"document type", "text/xml", "<!DOCTYPE " + many("<")},
	}
	p := NewParser(Options{})
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			page := p.Extract(header("Content-Type", d.contentType), []byte(d.document), parsed(t, own))
			checkLinks(t, page.Links, DefaultMaxLinks)
		})
	}
}
