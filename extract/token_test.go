package extract

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// ownTokens and theirTokens list the tokens of a document, a line each, as ours and the tokenizer of
// golang.org/x/net/html have them, which the tests hold to be the same. In one place the other departs from the
// standard, and ownTokens follows it: a slash that ends the value of an attribute which is there twice counts as the
// tag's own.
func ownTokens(document []byte, cdata bool) (list []string) {
	t := tokenizer{document: document, cdata: cdata}
	for {
		switch kind := t.next(); kind {
		case endOfDocument:
			return list
		case characters:
			text := []byte(unixLines(t.text))
			if t.whole {
				text = withoutNUL(text)
			}
			if !t.plain {
				text, _ = unescape(nil, text, false)
			}
			list = appendText(list, text)
		case startTag, emptyTag:
			attributes, again := "", false
			seen := map[string]bool{}
			for _, a := range t.values {
				var buffer [maxName]byte
				name := string(withoutNUL(lower(a.name, &buffer)))
				key := string(bytes.Map(asciiLower, latin1(a.name))) // byte by byte: names need not be UTF-8
				if again = seen[key]; !again {
					value, _ := unescape(nil, withoutNUL([]byte(unixLines(a.value))), true)
					attributes += fmt.Sprintf(" %q=%q", name, value)
				}
				seen[key] = true
			}
			empty := kind == emptyTag || again && t.raw[len(t.raw)-2] == '/'
			list = append(list, fmt.Sprintf("start %q %v", t.name, empty)+attributes)
		case endTag:
			list = append(list, fmt.Sprintf("end %q", t.name))
		}
	}
}

// latin1 returns a character a byte.
func latin1(text []byte) []byte {
	var all []byte
	for _, c := range text {
		all = utf8.AppendRune(all, rune(c))
	}
	return all
}

func asciiLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func theirTokens(document []byte, cdata bool) (list []string) {
	z := html.NewTokenizer(bytes.NewReader(document))
	z.AllowCDATA(cdata)
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return list
		case html.TextToken:
			list = appendText(list, z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			var buffer [maxName]byte
			line := fmt.Sprintf("start %q %v", lower(tokenName(z.Raw()), &buffer), kind == html.SelfClosingTagToken)
			for more := true; more; {
				var name, value []byte
				if name, value, more = z.TagAttr(); name != nil {
					line += fmt.Sprintf(" %q=%q", withoutNUL(lower(bytes.ReplaceAll(name, []byte("\uFFFD"), []byte{0}), &buffer)), value)
				}
			}
			list = append(list, line)
		case html.EndTagToken:
			var buffer [maxName]byte
			list = append(list, fmt.Sprintf("end %q", lower(tokenName(z.Raw()), &buffer)))
		}
	}
}

// appendText adds a text; two in a row count as one.
func appendText(list []string, text []byte) []string {
	if n := len(list) - 1; n >= 0 && strings.HasPrefix(list[n], "text ") {
		list[n] += string(text)
		return list
	}
	return append(list, "text "+string(text))
}

// tokenName returns the name in a raw tag.
func tokenName(raw []byte) []byte {
	name := bytes.TrimPrefix(raw[1:], []byte("/"))
	return name[:bytes.IndexAny(name, " \t\n\f\r/>")]
}

func unixLines(text []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
}

func checkTokens(t *testing.T, document []byte) {
	t.Helper()
	for _, cdata := range []bool{false, true} {
		own, their := ownTokens(document, cdata), theirTokens(document, cdata)
		for i := range max(len(own), len(their)) {
			if i >= len(own) || i >= len(their) || own[i] != their[i] {
				t.Fatalf("CDATA %v: tokens from %d on: %q, want %q", cdata, i, own[min(i, len(own)):], their[min(i, len(their)):])
			}
		}
	}
}

// pieces are the texts for which the tokenizer has a rule.
var pieces = []string{
	"a < b <", "</", "</>", "<a", "<a/>", "<a href=/>", "<a href=x/>", "<A\tHREF = 'x'y=\"z\"/ >", "<a =b =c= d=>", "<a b=1 B=2 b>",
	"</p x=y>", "<!-->", "<!--->", "<!---!>", "<!--!>x-->", "<!--a--!>", "<!--a--!-->", "<!-- -- > -->", "<!--", "<!doctype html>", "<?xml?>", "<!x>", "</ x>",
	"<![CDATA[a]]>", "<![CDATA[a]]]>", "<![CDATA[&lt;\x00<b>", "<title>&amp;<b></titl></TITLE >x", "<textarea>\x00</textarea/", "<style>&amp;</style", "<plaintext></plaintext>&lt;",
	"<script><!--<script></script></script>x", "<script><!--></script>x", "<script><!--<script>--></script>x", "<script><!--<scripty></script>", "<script>a<!-</script>",
	"&lt;&notit;&not=&copy=1&amp&#x41;&#65&#;&#x;&#0;&#x80;&semi;&unknown;&", "<a b='&notit;&not=&copy=1&amp;&ampx&#x41;&#65=&#;&#x;&semi;&unknown;&fjlig;&' c=&lt>",
	"a\rb\r\nc\x00d", "<a\x00b c\x00=\x00\r\n>", "<iframe><a></iframe>", "<noscript><a></noscript>", "<xmp><a>&lt;</xmp>", "<a-name-that-is-longer b=1>", "<p an-attribute-that-is-longer=1>",
}

func TestTokens(t *testing.T) {
	for i, first := range pieces {
		checkTokens(t, []byte(first))
		for _, second := range pieces[i:] {
			checkTokens(t, []byte(first+second))
			checkTokens(t, []byte(second+first))
		}
	}
	for _, name := range []string{"testdata/article.html", "testdata/gallery.html"} {
		document, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkTokens(t, document)
	}
}

func FuzzTokens(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, document []byte) { checkTokens(t, document) })
}
