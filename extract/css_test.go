package extract

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestSheetLinks finds requisites in style sheets, and in attributes that scripts read.
func TestSheetLinks(t *testing.T) {
	const sheet = `@charset "utf-8"; @import "a.css"; @import url(b.css) print; @import'c.css';
@namespace svg url(http://www.w3.org/2000/svg);
/* url(no.png) "*/ p { content: "url(no.png) \" url(no.png)"; background: url( "d.png" ), URL(e.png) }
@font-face { src: url('f.woff2') format("woff2"), url(data:font/woff,x), local("g") }
p { filter: url(#own) } /* url(no.png)`
	wanted := "a.css b.css c.css d.png e.png f.woff2"
	tests := []struct{ name, kind, body, want string }{
		{"sheet", "text/css; charset=utf-8", sheet, wanted},
		{"element", "text/html", "<style>" + sheet + "</style>", wanted},
		{"element in svg", "text/html", "<svg><style>" + sheet + "</style></svg>", wanted},
		{"attribute", "text/html", `<p style="background:url(&quot;a.png&quot;)"><b style='x:url(b.png?x&amp;y)'><svg><g style="fill:url(c.svg#i)">`, "a.png b.png?x&y c.svg"},
		{"attributes of scripts", "text/html", `<img src=a data-src=b data-srcset="c 1x, d 2x"><iframe data-src=e>`, "a b c d e"},
		{"base", "text/html", `<style>a{background:url(a)}</style><base href=/x/>`, "/x/a"},
		{"preload", "text/html", `<link rel=preload as=image href=a imagesrcset="b 1x">`, "a b"},
		{"raw text that is no sheet", "text/html", `<noframes>a{background:url(a)}</noframes>`, ""},
	}
	p := NewParser(Options{})
	for _, test := range tests {
		base := parsed(t, "http://site.test/x/")
		if test.name == "base" {
			base = parsed(t, "http://site.test/y/")
		}
		var got []string
		for _, l := range p.Extract(header("Content-Type", test.kind), []byte(test.body), base).Links {
			got = append(got, l.URL.String())
		}
		var want []string
		for ref := range strings.FieldsSeq(test.want) {
			u, err := base.Parse(ref)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, u.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test.name, got, want)
		}
	}
}

// FuzzSheet holds that the references are parts of the sheet in order, within the bound, and that nothing is replaced
// in a comment.
func FuzzSheet(f *testing.F) {
	f.Add([]byte(`@import "a"; /* url(b) */ p{background:url(c)}`))
	f.Fuzz(func(t *testing.T, sheet []byte) {
		at := 0
		for ref := range sheetReferences(sheet) {
			from := offsetIn(sheet, ref)
			if from < at || from+len(ref) > min(len(sheet), maxSheet) || !bytes.Equal(sheet[from:from+len(ref)], ref) {
				t.Fatalf("%q at %d of %q", ref, from, sheet)
			}
			at = from + len(ref)
		}
		comment := slices.Concat([]byte("/*"), bytes.ReplaceAll(sheet, []byte("*/"), nil), []byte("*/"))
		if bytes.Count(comment, []byte("*/")) > 1 {
			t.Skip() // taking an end out has made one
		}
		if got := newReferences(parsed(t, own), archived).css(comment); !bytes.Equal(got, comment) {
			t.Fatalf("%q became %q", comment, got)
		}
	})
}
