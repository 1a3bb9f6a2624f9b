package robots

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"freshet/weburl"
)

// filled returns a file of MaxBytes that begins with head and then repeats line, with a running number for %d.
func filled(head, line string) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for n := 0; b.Len() < MaxBytes; n++ {
		if strings.Contains(line, "%d") {
			fmt.Fprintf(&b, line, n)
		} else {
			b.WriteString(line)
		}
	}
	return b.Bytes()[:MaxBytes]
}

// worst are the files that cost most, each for a different reason.
var worst = map[string][]byte{
	"entries and rules":  append(filled("", "User-agent:foo\n")[:MaxBytes/2], filled("", "Allow:/\n")[:MaxBytes/2]...),
	"agents":             filled("", "User-agent:a%d\nDisallow:/\n"),
	"both":               filled("User-agent:*\nUser-agent:foo\n", "Allow:/\n"),
	"short rules":        filled("User-agent:*\n", "Allow:/\n"),
	"short rules apart":  filled("User-agent:*\n", "Allow:/%d\n"),
	"stars":              filled("User-agent:*\n", "Allow:*%dx$\n"),
	"stars that overlap": filled("User-agent:*\n", "Allow:*aaaaab\n"),
	"one rule of stars":  filled("User-agent:*\nDisallow:/", "*a"),
	"one rule of octets": filled("User-agent:*\nDisallow:/", "\xff"),
	"rules of octets":    filled("User-agent:*\n", "Allow:\xff\xff\xff\xff\n"),
	"empty lines":        filled("User-agent:*\n", "\r\n"),
	"words":              filled("User-agent:*\n", "a "),
	"escapes":            filled("User-agent:*\nDisallow:/", "%%24"),
	"uses":               filled("User-agent:*\n", "content-usage:/%d train-ai=n\n"),
	"short uses":         filled("User-agent:*\n", "content-signal:a\n"),
	"one use":            filled("User-agent:*\n", "content-usage:*%d train-ai=n, "),
	"sitemaps":           filled("User-agent:*\n", "sitemap:a\n"),
	"delays":             filled("User-agent:*\n", "crawl-delay:1\n"),
	"numbers":            filled("User-agent:*\nCrawl-delay:", "9"),
}

// TestParseIsBoundedInBytes holds that Parse and Sitemaps together allocate at most 8 MB for the largest file of any
// kind. Bytes counts at least the text and the rules that are kept.
func TestParseIsBoundedInBytes(t *testing.T) {
	for name, file := range worst {
		t.Run(name, func(t *testing.T) {
			if len(file) != MaxBytes {
				t.Fatalf("file of %d bytes", len(file))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rules := Parse(file, "foo")
			sitemaps := Sitemaps(file)
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
				t.Errorf("%d bytes were allocated", taken)
			}
			if len(sitemaps) > maxSitemaps {
				t.Errorf("%d sitemaps", len(sitemaps))
			}
			if kept := rules.Bytes(); kept > 3*MaxBytes+100 || kept < int64(len(rules.text)+8*len(rules.rules)) {
				t.Errorf("%d bytes are kept of %d rules", kept, len(rules.rules))
			}
		})
	}
}

// TestSearchIsBounded holds that a URL which costs too much to decide is not allowed. A usual URL is decided among
// 25,000 rules with stars.
func TestSearchIsBounded(t *testing.T) {
	short, long := page(t, "http://example.com/page"), page(t, "http://example.com/"+strings.Repeat("a", weburl.MaxLength-100))
	for name, file := range worst {
		rules := Parse(file, "foo")
		rules.Allowed(short)
		if allowed := rules.Allowed(long); allowed && name == "stars that overlap" {
			t.Errorf("%s: the longest URL is allowed", name)
		}
	}
	allow := Parse(filled("User-agent:*\nDisallow: /private/*/x\n", "Allow: /*?id=%d&\n"), "foo")
	if !allow.Allowed(page(t, "http://example.com/"+strings.Repeat("a", 100))) {
		t.Error("a usual URL is too dear among 25,000 rules with stars")
	}
}

// Rules for others are not kept.
func TestOthersAreNotKept(t *testing.T) {
	rules := Parse(append([]byte("User-agent: foo\nDisallow: /x\n\n"), worst["short rules"][:MaxBytes/2]...), "foo")
	if rules.Bytes() > 200 {
		t.Errorf("%d bytes are kept of one rule", rules.Bytes())
	}
	rules = Parse(worst["agents"], "foo")
	if rules.Bytes() > 200 {
		t.Errorf("%d bytes are kept of no rule", rules.Bytes())
	}
}

func TestDigest(t *testing.T) {
	digest := func(file string) uint64 { return Parse([]byte(file), "foo").Digest() }
	base := digest("User-agent: *\nDisallow: /a\nAllow: /b")
	for _, same := range []string{
		"Sitemap: /s\nUser-agent: *\n# why\nCrawl-delay: 3\nDisallow: /a\nAllow: /b\nUser-agent: bar\nDisallow: /",
		"User-agent: foo\nDisallow: /a\nAllow: /b\nUser-agent: *\nDisallow: /",
	} {
		if digest(same) != base {
			t.Errorf("%q has another digest", same)
		}
	}
	for _, other := range []string{"", "User-agent: *\nDisallow: /a\nDisallow: /b", "User-agent: *\nDisallow: /a\nAllow: /b$",
		"User-agent: *\nDisallow: /a\nAllow: /bc"} {
		if digest(other) == base {
			t.Errorf("%q has the same digest", other)
		}
	}
}

func BenchmarkWorst(b *testing.B) {
	long := page(b, "http://example.com/"+strings.Repeat("a", weburl.MaxLength-100))
	for name, file := range worst {
		name = strings.ReplaceAll(name, " ", "-")
		b.Run("parse/file="+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				Parse(file, "foo")
			}
		})
		b.Run("allowed/file="+name, func(b *testing.B) {
			rules := Parse(file, "foo")
			for b.Loop() {
				rules.Allowed(long)
			}
		})
	}
}

// TestBookIsBoundedInBytes judges ten thousand sites with the worst files. By its own count the book exceeds its limit
// by at most an eighth, and the heap grows by at most twice the limit.
func TestBookIsBoundedInBytes(t *testing.T) {
	const most = 16 << 20
	b := NewBook("foo", false, most)
	now := time.Unix(1_000_000_000, 0)
	answers := []Answer{{Reached: true, Body: worst["short rules"]}, {Reached: true, Body: worst["rules of octets"]},
		{Reached: true, Body: []byte("User-agent: *\nDisallow: /x\n")}}
	if testing.Short() {
		answers = answers[2:]
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range 10_000 {
		site := weburl.Site(fmt.Sprintf("http://a%d.test", n))
		b.Judge(site, Answer{Redirect: page(t, "http://b.test/"+strings.Repeat("a", 5000))}, nil, 0, Patience{}, now)
		if n < 60 || len(answers) == 1 {
			b.Judge(site, answers[n%len(answers)], nil, 0, Patience{}, now)
		} else {
			b.Keep(site, b.mustRead(t, n))
		}
		if b.Bytes() > most+most/8 {
			t.Fatalf("%d bytes after %d sites", b.Bytes(), n)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2*most {
		t.Errorf("the heap has grown by %d bytes, the book says %d", grown, b.Bytes())
	}
	if b.Bytes() < most/4 && !testing.Short() {
		t.Errorf("%d bytes are kept of %d", b.Bytes(), most)
	}
	runtime.KeepAlive(b)
}

// mustRead returns rules of some hundred kilobytes without parsing a file.
func (b *Book) mustRead(t *testing.T, n int) Standing {
	t.Helper()
	return Standing{Rules: &Rules{text: strings.Repeat("a", 100<<10+n)}}
}
