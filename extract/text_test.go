package extract

import (
	"encoding/hex"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func digestOf(t testing.TB, document string) [16]byte { return extractHTML(t, document).Text }

// hashOf is the digest that a folded text must have.
func hashOf(text string) [16]byte {
	if text == "" {
		return [16]byte{}
	}
	return xxh3.HashString128(text).Bytes()
}

func TestVisibleText(t *testing.T) {
	tests := []struct{ name, document, text string }{
		{"plain", "a b", "a b"},
		{"nothing", "", ""},
		{"script only", "<script>x</script><!-- y -->", ""},
		{"white space", " \n a\t\r\n\u00a0\u2003\u3000b \u0085", "a b"},
		{"blocks part words", "<p>a</p><p>b</p><ul><li>c<li>d</ul>e<br>f<td>g<unknown>h", "a b c d e f g h"},
		{"inline does not", "fre<b>sh</b>e<wbr>t<!-- x --><span class=y>s</span>", "freshets"},
		{"space beside inline", "a <b> b</b> c", "a b c"},
		{"invisible does not part", "fre<script>x</script><style>y</style><noscript>z</noscript><template>t</template>sh", "fresh"},
		{"entities", "&eacute;&#x41;&amp;&lt;b&gt;&nbsp;&copy", "éA&<b> ©"},
		{"title and text area count", "<title>t</title><textarea>u<b></textarea>", "t u<b>"},
		{"fallback of a frame does not", "<iframe>x</iframe><noframes>y</noframes>z", "z"},
		{"attributes do not", `<img alt=x title=y><input value=z>`, ""},
		{"nested templates", "a<template>b<template>c</template>d</template>e", "ae"},
		{"CDATA in svg", "<svg><text><![CDATA[a]]></text></svg><![CDATA[b]]>c", "a c"},
		{"style and script in svg", "<svg><style>x<g>y</g></style><text>a</text><script>z</script></svg>b", "a b"},
		{"style in HTML within svg", "<svg><foreignObject>a<style>x<g>y</style></foreignObject></svg>b", "a b"},
		{"svg in a template", "<template><svg>x</template>a", "a"},
		{"no NUL", "a\x00b", "a\x00b"},
		{"unclosed tag at the end", "a<b", "a"},
		{"less-than sign", "a < b", "a < b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, want := digestOf(t, test.document), hashOf(test.text); got != want {
				t.Errorf("digest is not that of %q", test.text)
			}
		})
	}
}

// TestTextVersion holds the digest to its version: values that are stored must not change.
func TestTextVersion(t *testing.T) {
	got := digestOf(t, "<title>Fresh</title><p>It  rains.<p>The <b>river</b> rises&hellip;")
	const want = "7d709f0f342a195532156674c4a89e39" // version 1, of "Fresh It rains. The river rises…"
	if got != hashOf("Fresh It rains. The river rises…") {
		t.Error("the digest is not that of the text")
	}
	if TextVersion != 1 || hex.EncodeToString(got[:]) != want {
		t.Errorf("version %d gives %x, want %s", TextVersion, got, want)
	}
}

func TestTextLaws(t *testing.T) {
	words := rapid.SliceOfN(rapid.StringMatching(`[a-zé汉&<0-9]{1,12}`), 1, 60)
	spaces := rapid.SampledFrom([]string{" ", "\n\t", "\u00a0", "&nbsp; ", "<br>", " <i class=x>\n</i>", "<p>", " <!-- c -->", "<script>s()</script>\n", "</div><div id=4>"})
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace
	rapid.Check(t, func(r *rapid.T) {
		text := words.Draw(r, "words")
		var b strings.Builder
		for _, w := range text {
			b.WriteString(spaces.Draw(r, "space"))
			b.WriteString(escape(w))
		}
		want := hashOf(strings.Join(text, " "))
		if digestOf(t, b.String()) != want {
			r.Fatalf("%q: markup or white space changed the digest", b.String())
		}
		i := rapid.IntRange(0, len(text)-1).Draw(r, "changed word")
		text[i] += "x"
		if hashOf(strings.Join(text, " ")) == want {
			r.Fatalf("a changed word did not change the digest")
		}
	})
}

// TestFoldedInPieces holds the fold of a text in pieces to the fold of the whole, past the size of
// its buffer.
func TestFoldedInPieces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pieces := rapid.SliceOf(rapid.Custom(func(r *rapid.T) string {
			return strings.Repeat(rapid.StringMatching(`[ aé\n\x{2009}汉]{0,8}`).Draw(r, "unit"), rapid.SampledFrom([]int{1, 2, 900}).Draw(r, "times"))
		})).Draw(r, "pieces")
		var f folded
		f.reset()
		for _, p := range pieces {
			f.add([]byte(p))
		}
		want := strings.Join(strings.FieldsFunc(strings.Join(pieces, ""), unicode.IsSpace), " ")
		if f.length != int64(len(want)) || f.digest() != hashOf(want) {
			r.Fatalf("%d bytes folded, want %d or another digest", f.length, len(want))
		}
	})
}

// TestWhiteSpace holds the table of bytes to the Unicode property.
func TestWhiteSpace(t *testing.T) {
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if first := string(c)[0]; unicode.IsSpace(c) && class[first] == inWord {
			t.Errorf("%U is white space, its first byte %#x is not known for it", c, first)
		}
	}
}

func TestCharset(t *testing.T) {
	const utf16be = "\xfe\xff\x00<\x00p\x00>\x00\xe9"
	tests := []struct{ name, contentType, document, charset, text string }{
		{"UTF-8 by header", "text/html; charset=utf-8", "é", "utf-8", "é"},
		{"mark", "text/html; charset=latin1", "\xef\xbb\xbfé", "utf-8", "é"},
		{"UTF-16 by mark", "text/html", utf16be, "utf-16be", "é"},
		{"UTF-16 little-endian", "text/html", "\xff\xfe\xe9\x00", "utf-16le", "é"},
		{"Latin-1 by header", "text/html; charset=ISO-8859-1", "\xe9\x80", "windows-1252", "é€"},
		{"Latin-1 by meta", "text/html", "<meta charset=latin1>\xe9", "windows-1252", "é"},
		{"old meta", "text/html", `<meta http-equiv=content-type content="text/html; charset=koi8-r">` + "\xc1", "koi8-r", "а"},
		{"Shift JIS", "text/html", "<META CHARSET=Shift_JIS>\x93\xfa\x96\x7b", "shift_jis", "日本"},
		{"EUC-JP by header", "text/html;charset=euc-jp", "\xc6\xfc\xcb\xdc", "euc-jp", "日本"},
		{"ISO-2022-JP", "text/html;charset=iso-2022-jp", "\x1b$BF|\x1b(B", "iso-2022-jp", "日"},
		{"GBK", "text/html; charset=\"gb2312\"", "\xc4\xe3", "gbk", "你"},
		{"header over meta", "text/html; charset=utf-8", "<meta charset=latin1>é", "utf-8", "é"},
		{"nothing said, valid UTF-8 late", "text/html", strings.Repeat("a", 2000) + "é", "utf-8", strings.Repeat("a", 2000) + "é"},
		{"nothing said, not UTF-8", "text/html", "caf\xe9", "windows-1252", "café"},
		{"lies: UTF-8 that is not", "text/html; charset=utf-8", "caf\xe9 x", "utf-8", "caf\uFFFD x"},
		{"lies: meta says Latin-1, is UTF-8", "text/html", "<meta charset=iso-8859-1>é", "utf-8", "é"},
		{"lies: meta says UTF-16", "text/html", "<meta charset=utf-16>é", "utf-8", "é"},
		{"unknown name", "text/html; charset=klingon", "<meta charset=koi8-r>\xc1", "koi8-r", "а"},
		{"malformed header", "text/html; charset=koi8-r; x", "\xc1", "koi8-r", "а"},
		{"XML declaration", "text/html", "<?xml version='1.0' encoding='koi8-r'?>\xc1", "koi8-r", "а"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page := NewParser(Options{}).Extract(header("Content-Type", test.contentType), []byte(test.document), parsed(t, own))
			if page.Charset != test.charset {
				t.Errorf("read as %s, want %s", page.Charset, test.charset)
			}
			if page.Text != hashOf(test.text) {
				text, _ := decode(test.contentType, []byte(test.document), new(Options{}.orDefault()))
				t.Errorf("decoded %q, want the text %q", text, test.text)
			}
		})
	}
}

func TestDecodeDoesNotCopy(t *testing.T) {
	for _, contentType := range []string{"", "text/html; charset=utf-8", "text/html; charset=latin1", "text/html; charset=shift_jis"} {
		body := []byte("<p>plain")
		if text, _ := decode(contentType, body, new(Options{}.orDefault())); &text[0] != &body[0] {
			t.Errorf("%q: ASCII was copied", contentType)
		}
	}
}

func TestSoftError(t *testing.T) {
	long := strings.Repeat("word ", maxErrorText/4)
	tests := []struct {
		name, document string
		want           bool
	}{
		{"error page", "<title>404 Not Found</title>Sorry.", true},
		{"with the site's name", "<title>Page not found | Example</title>Sorry.", true},
		{"with an exclamation mark", "<title>Example – Page Not Found!</title>Sorry.", true},
		{"German", "<title>Seite nicht gefunden - Beispiel</title>", true},
		{"no title", "404 not found", false},
		{"about errors", "<title>How to design a 404 page not found page</title>", false},
		{"long page", "<title>404</title>" + long, false},
		{"number", "<title>Bus 404 to town</title>", false},
		{"ordinary", "<title>Welcome</title>", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := extractHTML(t, test.document).SoftError; got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	tests := []struct {
		name, set string
		want      []string
	}{
		{"one", "a", []string{"a"}},
		{"densities", "a 1x, b 2x", []string{"a", "b"}},
		{"widths", "\n\ta 100w,\n\tb 200w\n", []string{"a", "b"}},
		{"no descriptors", "a, b", []string{"a", "b"}},
		{"comma inside a URL", "a,b 1x, c", []string{"a,b", "c"}},
		{"no space after comma", "a 1x,b 2x", []string{"a", "b"}},
		{"data URL", "data:image/png;base64,AA== 1x, b", []string{"data:image/png;base64,AA==", "b"}},
		{"parentheses", "a x(1,2) 1x, b", []string{"a", "b"}},
		{"commas only", ", ,,", nil},
		{"leading and trailing commas", ",a,, b,", []string{"a", "b"}},
		{"empty", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for ref := range candidates([]byte(test.set)) {
				got = append(got, string(ref))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefreshTarget(t *testing.T) {
	tests := []struct{ content, want string }{
		{"0; url=x", "x"}, {"5;URL = 'x y' z", "x y"}, {" 1.5 , x", "x"}, {"0 x", "x"}, {"0;url", "url"},
		{`0;url="x`, "x"}, {"5", ""}, {"", ""}, {"url=x", ""}, {"5x", ""}, {"0;", ""}, {".;x", "x"},
	}
	for _, test := range tests {
		if got := refreshTarget(test.content); got != test.want {
			t.Errorf("%q: got %q, want %q", test.content, got, test.want)
		}
	}
}
