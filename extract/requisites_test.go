package extract

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"freshet/weburl"
)

// TestEachRequisite covers each way in which a page refers to a requisite. The requisite must be found, with the
// right relation, and a replayed page must load its stored copy.
func TestEachRequisite(t *testing.T) {
	const html = "text/html"
	tests := []struct{ name, kind, body, want string }{
		{"style sheet", html, `<link rel="alternate stylesheet" href="/a">`, "/a"},
		{"icon", html, `<link rel="shortcut icon" href="/a"><link rel=apple-touch-icon href=/b><link rel=mask-icon href=/c>`, "/a /b /c"},
		{"preload", html, `<link rel=preload as=font crossorigin href=/a><link rel=modulepreload href=/b><link rel=preload as=image imagesrcset="/c 1x, /d 2x">`, "/a /b /c /d"},
		{"manifest", html, `<link rel=manifest href=/a>`, "/a"},
		{"script", html, `<script src=/a></script><svg><script href="/b"/></svg>`, "/a /b"},
		{"picture", html, `<img src=/a srcset="/b 2x,/c 3x"><picture><source srcset="/d 1x"></picture><input type=image src=/e>`, "/a /b /c /d /e"},
		{"picture, later", html, `<img data-src=/a><img data-original=/b><img data-lazy-src=/c><source data-srcset="/d 1x"><img data-lazy-srcset="/e 1x">`, "/a /b /c /d /e"},
		{"media", html, `<video src=/a poster=/b><source src=/c><track src=/d></video><audio src=/e>`, "/a /b /c /d /e"},
		{"object", html, `<object data=/a></object><embed src=/b>`, "/a /b"},
		{"background", html, `<body background=/a><table background=/b>`, "/a /b"},
		{"svg", html, `<svg><image href="/a"/><image xlink:href="/b"/><use href="/c#i"/><use xlink:href="/d#i"/><filter><feImage href="/e"/></filter></svg>`, "/a /b /c /d /e"},
		{"style element", html, `<style>@import "/a"; @import url(/b) print; @font-face{src:url('/c') format("woff2")} p{background:url("/d")}</style>`, "/a /b /c /d"},
		{"style in svg", html, `<svg><style>@import '/a'; p{fill:url(/b)}</style></svg>`, "/a /b"},
		{"style attribute", html, `<p style="background:url(/a), url(&quot;/b&quot;)"><svg><g style="mask:url(/c)"/></svg>`, "/a /b /c"},
		{"noscript", html, `<noscript><img src=/a><style>p{background:url(/b)}</style><link rel=stylesheet href=/c></noscript><img src=/d>`, "/a /b /c /d"},
		{"template", html, `<template><img src=/a></template>`, "/a"},
		{"sheet", "text/css", `@import "/a"; @import url(/b); @font-face{src:url(/c), url('/d')} p{cursor:url("/e")}`, "/a /b /c /d /e"},
	}
	p := NewParser(Options{})
	own := parsed(t, "http://a.test/dir/page")
	for _, test := range tests {
		var want []string
		for path := range strings.FieldsSeq(test.want) {
			want = append(want, "http://a.test"+path)
		}
		var found []string
		for _, l := range p.Extract(http.Header{"Content-Type": {test.kind}}, []byte(test.body), own).Links {
			if l.Rel != weburl.RelEmbed {
				t.Errorf("%s: %s is of relation %s", test.name, l.URL, l.Rel)
			}
			found = append(found, l.URL.String())
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", test.name, found, want)
		}
		var replaced []string
		to := func(u weburl.URL) string {
			replaced = append(replaced, u.String())
			return archived(u)
		}
		out := string(RewriteHTML([]byte(test.body), own, to, nil))
		if test.kind != html {
			out = string(RewriteCSS([]byte(test.body), own, to))
		}
		slices.Sort(replaced)
		if !slices.Equal(slices.Compact(replaced), want) || strings.Count(out, "/web/") < len(want) {
			t.Errorf("%s: replaced %q in\n%s", test.name, replaced, out)
		}
	}
}
