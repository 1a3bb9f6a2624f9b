package robots

import (
	"math"
	"strings"
	"testing"
	"time"

	"freshet/consent"
	"freshet/weburl"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// We made each case from a sentence of RFC 9309 or from the documents of large crawlers.
func TestAllowed(t *testing.T) {
	tests := []struct {
		name, file, agent string
		allow, deny       string // paths, separated by spaces
	}{
		{"empty file", "", "foo", "/ /a", ""},
		{"everything", "User-agent: *\nDisallow: /", "foo", "/robots.txt", "/ /a /robots.txt2 /robots.txt?x/../y"},
		{"empty disallow", "User-agent: *\nDisallow:", "foo", "/ /a", ""},
		{"prefix", "User-agent: *\nDisallow: /fish", "foo", "/ /Fish /catfish", "/fish /fish.html /fish/salmon /fishheads /fish?id=1"},
		{"folder", "User-agent: *\nDisallow: /fish/", "foo", "/fish /fish.html", "/fish/ /fish/salmon"},
		{"group of the agent alone", "User-agent: *\nDisallow: /\nUser-agent: foo\nDisallow: /x", "Foo", "/ /y", "/x"},
		{"agent's empty group", "User-agent: foo\n\nUser-agent: *\nDisallow: /", "foo", "", "/"},
		{"agent case", "user-AGENT: FOO\ndisALLOW: /", "foo", "", "/a"},
		{"agent is no substring", "User-agent: foobar\nDisallow: /\nUser-agent: oo\nDisallow: /", "foo", "/a", ""},
		{"agent is no prefix", "User-agent: fo\nDisallow: /", "foo", "/a", ""},
		{"version in the file", "User-agent: foo/2.1\nDisallow: /", "foo", "", "/a"},
		{"version in the agent", "User-agent: foo\nDisallow: /", "foo/1.0 (+https://example.org)", "", "/a"},
		{"words behind the token", "User-agent: foo bar\nDisallow: /", "foo", "", "/a"},
		{"star with words behind", "User-agent: * baz\nDisallow: /", "foo", "", "/a"},
		{"star glued to words", "User-agent: *baz\nDisallow: /", "foo", "/a", ""},
		{"merged groups", "User-agent: foo\nDisallow: /a\nUser-agent: bar\nDisallow: /b\nUser-agent: foo\nDisallow: /c", "foo", "/b", "/a /c"},
		{"merged groups of all", "User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "foo", "/c", "/a /b"},
		{"stacked agents", "User-agent: a\nUser-agent: foo\nDisallow: /x", "foo", "/", "/x"},
		{"stacked over blank lines and comments", "User-agent: foo\n\n# comment\nUser-agent: bar\nDisallow: /x", "foo", "/", "/x"},
		{"stacked over a sitemap", "User-agent: foo\nSitemap: https://example.com/s\nUser-agent: *\nDisallow: /x", "foo", "/", "/x"},
		{"stacked over a delay", "User-agent: foo\nCrawl-delay: 5\nUser-agent: bar\nDisallow: /x", "foo", "/", "/x"},
		{"stacked over unknown words", "User-agent: foo\nNoodles: yes\nUser-agent: bar\nDisallow: /x", "foo", "/", "/x"},
		{"rule before any group", "Disallow: /\nUser-agent: foo\nDisallow: /x", "foo", "/", "/x"},
		{"longest wins", "User-agent: *\nAllow: /p\nDisallow: /", "foo", "/page /p", "/ /a"},
		{"longest wins in any order", "User-agent: *\nDisallow: /folder\nAllow: /folder/page", "foo", "/folder/page", "/folder/x"},
		{"allow wins ties", "User-agent: *\nDisallow: /folder\nAllow: /folder", "foo", "/folder /folder/page", ""},
		{"stars count", "User-agent: *\nAllow: /page\nDisallow: /*.htm", "foo", "/page", "/page.htm"},
		{"end counts", "User-agent: *\nAllow: /$\nDisallow: /", "foo", "/", "/page.htm /?a"},
		{"star", "User-agent: *\nDisallow: /*.php", "foo", "/windows.PHP /", "/index.php /a/b.php?x /php.php/ /a.php5"},
		{"star and end", "User-agent: *\nDisallow: /*.php$", "foo", "/a.php?x /a.php/ /a.php5", "/a.php /folder/a.php /a.php.php"},
		{"star in the middle", "User-agent: *\nDisallow: /fish*.php", "foo", "/Fish.php /fis.php", "/fish.php /fishheads/catfish.php?id=1"},
		{"star at the end", "User-agent: *\nDisallow: /fish*", "foo", "/fis", "/fish /fish/x"},
		{"star first", "User-agent: *\nDisallow: *.gif$", "foo", "/a.gif?", "/a.gif /b/a.gif"},
		{"many stars", "User-agent: *\nDisallow: /**a**b**$", "foo", "/b /", "/ab /xaxbx"},
		{"parts don't overlap", "User-agent: *\nDisallow: /aba*ab$", "foo", "/abab2 /abab3 /aba", "/abaab /abaxab"},
		{"dollar inside", "User-agent: *\nDisallow: /a$b", "foo", "/a /ab", "/a$b /a%24b"},
		{"escaped star", "User-agent: *\nDisallow: /file-%2A.html", "foo", "/file-x.html", "/file-*.html /file-%2A.html"},
		{"no slash", "User-agent: *\nDisallow: fish", "foo", "/fish /", ""},
		{"query", "User-agent: *\nDisallow: /*?id=", "foo", "/a /a?x=id", "/a?id=3"},
		{"non-ASCII rule", "User-agent: *\nDisallow: /caf\u00e9", "foo", "/cafe", "/caf\u00e9 /caf%C3%A9 /caf%c3%a9"},
		{"escaped rule", "User-agent: *\nDisallow: /caf%c3%a9", "foo", "/cafe", "/caf\u00e9 /caf%C3%A9"},
		{"escaped unreserved", "User-agent: *\nDisallow: /%62%61%7A", "foo", "/", "/baz /%62az"},
		{"escaped reserved stays", "User-agent: *\nDisallow: /a%2Fb", "foo", "/a/b", "/a%2fb"},
		{"broken escape", "User-agent: *\nDisallow: /a%zz", "foo", "/a", "/a%zz"},
		{"comments", "User-agent: foo # us\nDisallow: /x # this\n# Disallow: /y", "foo", "/y", "/x"},
		{"byte-order mark", "\ufeffUser-agent: foo\nDisallow: /x", "foo", "/y", "/x"},
		{"line ends", "User-agent: foo\rDisallow: /x\r\nDisallow: /y\n\rDisallow: /z", "foo", "/", "/x /y /z"},
		{"blanks", "  User-agent\t:  foo \n\tDisallow :\t/x\t", "foo", "/", "/x"},
		{"missing colons", "User-agent foo\nDisallow /x\nDisallow /y is not read", "foo", "/y", "/x"},
		{"misspelt", "useragent: foo\ndissallow: /a\ndissalow: /b\ndisalow: /c\ndiasllow: /d\ndisallaw: /e", "foo", "/", "/a /b /c /d /e"},
		{"HTML", "<!DOCTYPE html>\n<html><head><title>No such page: /</title>\n<body style=\"a: b\">Disallow: all</body></html>", "foo", "/ /a", ""},
		{"binary", "\x00\xff\xfe\x01User-agent: *\nDisallow: /", "foo", "/", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := Parse([]byte(test.file), test.agent)
			for verdict, paths := range map[bool]string{true: test.allow, false: test.deny} {
				for path := range strings.FieldsSeq(paths) {
					if u := page(t, "https://example.com"+path); rules.Allowed(u) != verdict {
						t.Errorf("%s: allowed %v, want %v", u, !verdict, verdict)
					}
				}
			}
		})
	}
}

func TestCrawlDelay(t *testing.T) {
	tests := []struct {
		name, file string
		want       time.Duration
		ok         bool
	}{
		{"none", "User-agent: foo\nDisallow: /", 0, false},
		{"seconds", "User-agent: foo\nCrawl-delay: 10", 10 * time.Second, true},
		{"fraction", "User-agent: foo\nCrawl-delay: 0.5", 500 * time.Millisecond, true},
		{"zero", "User-agent: foo\nCrawl-delay: 0", 0, true},
		{"a day", "User-agent: foo\nDisallow: /x\nCrawl-delay: 86400", 24 * time.Hour, true},
		{"past every Duration", "User-agent: foo\nCrawl-delay: 1e999", math.MaxInt64, true},
		{"negative", "User-agent: foo\nCrawl-delay: -1", 0, false},
		{"no number", "User-agent: foo\nCrawl-delay: NaN\nCrawl-delay: soon", 0, false},
		{"of all", "User-agent: *\nCrawl-delay: 3", 3 * time.Second, true},
		{"own group without", "User-agent: *\nCrawl-delay: 3\nDisallow:\nUser-agent: foo\nDisallow:", 0, false},
		{"stacked agents", "User-agent: foo\nUser-agent: bar\nCrawl-delay: 3", 3 * time.Second, true},
		{"of the agents before it", "User-agent: bar\nCrawl-delay: 3\nUser-agent: foo\nDisallow: /x", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Parse([]byte(test.file), "foo").CrawlDelay()
			if got != test.want || ok != test.ok {
				t.Errorf("got %v %v, want %v %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestSize(t *testing.T) {
	line := "Disallow: /" + strings.Repeat("x", 88) + "\n" // 100 bytes
	head := "User-agent: *\n"
	within := head + strings.Repeat(line, 5119) + "Disallow: /last\n" // 511,930 bytes: 500 KiB is 512,000
	if Parse([]byte(within), "foo").Allowed(page(t, "http://example.com/last")) {
		t.Error("a rule before byte 512,000 was not read")
	}
	past := head + strings.Repeat(line, MaxBytes/100+1) + "Disallow: /last\n"
	if !Parse([]byte(past), "foo").Allowed(page(t, "http://example.com/last")) {
		t.Error("a rule past MaxBytes was read")
	}
}

func TestSitemaps(t *testing.T) {
	file := "Sitemap: https://example.com/a.xml\nUser-agent: foo\nsite-map:/b.xml#x\nDisallow: /\nSITEMAP: https://example.com/c:1.xml\nSitemap:\n"
	want := []string{"https://example.com/a.xml", "/b.xml", "https://example.com/c:1.xml"}
	if diff := cmp.Diff(want, Sitemaps([]byte(file))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPatternLaw holds that the matcher agrees with the obvious one, which tries every place for every star.
func TestPatternLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[/*][ab*$/]{0,8}`).Draw(t, "pattern")
		target := rapid.StringMatching(`/[ab/]{0,12}`).Draw(t, "target")
		text, ended := strings.CutSuffix(value, "$")
		text = normalised(text, true)
		if got, want := match(text, ended, target), glob(text, target, ended); got != want {
			t.Errorf("%q on %q: %v, want %v", value, target, got, want)
		}
	})
}

func normalised(path string, isPattern bool) string { return string(normalise(nil, path, isPattern)) }

func page(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// glob matches by exhaustive search.
func glob(pattern, target string, ended bool) bool {
	if pattern == "" {
		return target == "" || !ended
	}
	if pattern[0] == '*' {
		for i := range len(target) + 1 {
			if glob(pattern[1:], target[i:], ended) {
				return true
			}
		}
		return false
	}
	return target != "" && target[0] == pattern[0] && glob(pattern[1:], target[1:], ended)
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /*a*b$\nAllow: /a%zz\nCrawl-delay: 1e9\n"), "/a?b")
	f.Add([]byte("\ufeffuser-agent foo\r\rdissalow: *%2a$$\n"), "/%2A$")
	f.Add([]byte("Disallow: /\x00\xff"), "/\xff")
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		u, err := weburl.Parse("http://example.com/" + path)
		if err != nil {
			return
		}
		rules := Parse(file, "foo")
		if first := rules.Allowed(u); first != Parse(file, "foo").Allowed(u) {
			t.Errorf("%s: two answers", u)
		}
		if once := normalised(u.RequestURI(), false); normalised(once, false) != once {
			t.Errorf("%q: normalising twice gives %q", once, normalised(once, false))
		}
		if delay, _ := rules.CrawlDelay(); delay < 0 {
			t.Errorf("delay %v", delay)
		}
	})
}

func BenchmarkAllowed(b *testing.B) {
	stars := "User-agent: *\nDisallow: /" + strings.Repeat("a*", 40) + "b$\n"
	for name, file := range map[string]string{
		"rules=1/stars=40":  stars,
		"rules=200/stars=1": "User-agent: *\n" + strings.Repeat("Disallow: /some/folder/*.php\n", 200),
	} {
		b.Run(name, func(b *testing.B) {
			rules := Parse([]byte(file), "foo")
			u := page(b, "http://example.com/"+strings.Repeat("a", 200))
			b.ReportAllocs()
			for b.Loop() {
				rules.Allowed(u)
			}
		})
	}
}

// TestSignals holds which lines about the use of pages apply to which pages.
func TestSignals(t *testing.T) {
	const file = "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: /art train-ai=n\nContent-Usage: /art/*/free$ train-ai=y, search=y\n" +
		"Content-Signal: search=yes\nContent-Signal: /art ai-train=no\nContent-Signal: /art ai-input=no\nContent-Signal: /nothing\nAllow: /\n" +
		"User-agent: other\nContent-Usage: search=n\n"
	for path, want := range map[string]string{
		"/":             "robots.txt content-usage: train-ai=y\nrobots.txt content-signal: search=yes",
		"/nothing":      "robots.txt content-usage: train-ai=y\nrobots.txt content-signal: search=yes",
		"/art/a":        "robots.txt content-usage: /art train-ai=n\nrobots.txt content-signal: /art ai-train=no\nrobots.txt content-signal: /art ai-input=no",
		"/art/a/free":   "robots.txt content-usage: /art/*/free$ train-ai=y, search=y\nrobots.txt content-signal: /art ai-train=no\nrobots.txt content-signal: /art ai-input=no",
		"/art/a/free?b": "robots.txt content-usage: /art train-ai=n\nrobots.txt content-signal: /art ai-train=no\nrobots.txt content-signal: /art ai-input=no",
	} {
		if got := Parse([]byte(file), "freshet").Signals(page(t, "http://a.test"+path)).String(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
	if got := Parse([]byte(file), "other").Signals(page(t, "http://a.test/art")).String(); got != "robots.txt content-usage: search=n" {
		t.Errorf("to another agent: %s", got)
	}
	long := "/" + strings.Repeat("a", 2000)
	said := Parse([]byte("User-agent: *\nContent-Usage: "+long+" train-ai=n\n"), "freshet").Signals(page(t, "http://a.test"+long))
	if said.Verdict(consent.AITrain) != consent.Disallowed {
		t.Errorf("behind a long path: %s", said)
	}
}
