package adversary

import (
	"fmt"
	"strings"
)

var markupKinds = []Kind{
	{Name: "base-long", Attacks: "memory of links: a long base, and 8,000 short links that it makes long",
		setUp: always(func(x *exchange) bool {
			base := fmt.Sprintf("<base href=/%s/%d/>", strings.Repeat("b", 7000), x.nth)
			return x.say(html(base + repeat(64<<10, "<a href=%d>")))
		}, "/", "/a", "/b")},
	{Name: "attributes", Attacks: "memory of a tag: as many attributes as 4 MB hold",
		setUp: always(encoded(func() string { return "<a " + repeat(4<<20, "a%d ") + ">" }), "/", "/a", "/b")},
	{Name: "attributes-same", Attacks: "time of a tag: one attribute a million times",
		setUp: always(encoded(func() string { return "<a " + strings.Repeat("a ", 1<<20) + ">" }), "/", "/a")},
	{Name: "attribute-long", Attacks: "memory of a link: an address of 4 MB",
		setUp: always(encoded(func() string {
			return "<a href='/" + strings.Repeat("x/../", 4<<20/5) + "'>"
		}), "/", "/a")},
	{Name: "tag-open", Attacks: "memory of a tag: one that never ends",
		setUp: always(withoutEnd(ok+"\r\n<a href=", "x y='z' "), "/", "/a")},
	{Name: "comment-open", Attacks: "memory: a comment that never ends",
		setUp: always(withoutEnd(ok+"\r\n<!--", "- > -- "), "/")},
	{Name: "script-open", Attacks: "time: a script that nearly ends, over and over",
		setUp: always(withoutEnd(ok+"\r\n<script>", "</scrip"), "/")},
	{Name: "nesting", Attacks: "the stack: markup 150,000 elements deep",
		setUp: always(encoded(func() string {
			return strings.Repeat("<div><b><i>", 50_000) + "<a href=/next>"
		}), "/", "/a")},
	{Name: "entities", Attacks: "time: nothing but character references",
		setUp: always(encoded(func() string {
			return strings.Repeat("&amp;&notanentity&#x110000;&#0;", 1<<20/32)
		}), "/", "/a")},
	{Name: "title-long", Attacks: "memory of the page's row: a title of 4 MB",
		setUp: always(encoded(func() string {
			return "<title>" + strings.Repeat("title ", 4<<20/6) + "</title>"
		}), "/", "/a")},
	{Name: "canonicals", Attacks: "the honest hosts' pages: each page says that it is one of theirs",
		setUp: always(func(x *exchange) bool {
			other := fmt.Sprintf("http://honest-1.test%s", HonestPath(x.nth%5))
			return x.say(html(fmt.Sprintf("<link rel=canonical href=%s><title>Copy %d</title><a href=/%d>next</a>", other, x.nth, x.nth)))
		}, "/")},
	{Name: "refresh-ring", Attacks: "requests: pages that lead to each other by meta refresh",
		setUp: always(func(x *exchange) bool {
			return x.say(html(fmt.Sprintf("<meta http-equiv=refresh content='0;url=/%d'><title>%d</title>", x.nth%10, x.nth)))
		}, "/")},
	{Name: "links-many", Attacks: "memory of what is new: 100,000 links on a page",
		setUp: always(func(x *exchange) bool {
			return x.say(page("text/html", compressed("gzip", repeat(2<<20, fmt.Sprintf("<a href=/%d/%%d>", x.nth%4))), "Content-Encoding: gzip"))
		}, "/")},
	{Name: "links-long", Attacks: "memory of what is new: 2,000 links of 2 KB on a page",
		setUp: always(func(x *exchange) bool {
			return x.say(page("text/html", compressed("gzip",
				repeat(4<<20, fmt.Sprintf("<a href=/%s/%d-%%d>", strings.Repeat("l", 2000), x.nth))), "Content-Encoding: gzip"))
		}, "/")},
	{Name: "srcset", Attacks: "the parser of lists: one attribute with 100,000 images",
		setUp: always(encoded(func() string {
			return "<img srcset='" + repeat(2<<20, "/%d.png %dw, ") + "'>"
		}), "/", "/a")},
	{Name: "metas", Attacks: "time: 100,000 meta elements that contradict each other",
		setUp: always(encoded(func() string {
			return strings.Repeat("<meta name=robots content='noindex,nofollow,noarchive,all'><meta charset=utf-16><meta name=robots content=none>", 20_000)
		}), "/", "/a")},
	{Name: "charsets", Attacks: "decoders: charsets that the text doesn't have",
		setUp: always(func(x *exchange) bool {
			names := []string{"utf-16le", "klingon", "iso-2022-jp", "utf-7", "gb18030", "hz-gb-2312", "replacement", "x-user-defined"}
			body := fmt.Sprintf("<meta charset=shift_jis><title>\xff\xfe\xc3\x28</title>\x1b$B<a href='/\xff%d'>next</a>", x.nth)
			return x.say(page("text/html; charset="+names[x.nth%len(names)], body))
		}, "/")},
	{Name: "types-lie", Attacks: "the choice of a parser: types that the bodies don't have",
		setUp: always(func(x *exchange) bool {
			types := []string{"application/xhtml+xml", "application/rss+xml", "application/pdf", "image/svg+xml", "multipart/x-mixed-replace", "text/xml", ""}
			return x.say(page(types[x.nth%len(types)], fmt.Sprintf("<title>Type</title><a href=/%d>next</a>", x.nth)))
		}, "/")},
}
