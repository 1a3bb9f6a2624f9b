package robots

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// googleDifferences are the vectors of testdata/google-robots for which our verdict differs, with the reason.
var googleDifferences = map[string]string{
	"allow foobot http://foo.com/allowed-slash/":  "only Google takes a last index.html in a rule for its folder; RFC 9309 compares octets",
	"deny FooBot http://foo.bar/foo/bar/ツ":        "there the caller has to encode URLs first; a weburl.URL always is, and then the rule names it",
	"deny FooBot http://foo.bar/foo/bar/baz":      "Google compares escapes as they stand; RFC 9309 section 2.2.2 decodes those of unreserved characters on both sides",
	"deny FooBot http://foo.bar/x/{a*16649}/fux":  "Google cuts lines after 16,664 bytes; a rule is read whole here, as far as the file is",
	"allow FooBot http://foo.bar/x/{b*16652}/fux": "the same cut",
}

// TestGoogleVectors holds our verdicts to those of Google's own parser, but for the listed differences. Each of these
// must still differ.
func TestGoogleVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/google-robots")
	if err != nil {
		t.Fatal(err)
	}
	var file, about string
	same, different, seen := 0, 0, map[string]bool{}
	for number, line := range strings.Split(string(text), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		switch name {
		case "", "#":
			continue
		case "case":
			about = rest
			continue
		case "robots":
			file = repeatedText(t, rest)
			continue
		case "more":
			file += repeatedText(t, rest)
			continue
		}
		got := googleVerdict(t, file, name, rest)
		_, known := googleDifferences[line]
		switch {
		case got == "" && !known:
			same++
		case got != "" && known:
			different++
			seen[line] = true
		case known:
			t.Errorf("%s, line %d: no difference any more: %s", about, number+1, line)
		default:
			t.Errorf("%s, line %d: %s: %s", about, number+1, line, got)
		}
	}
	t.Logf("%d vectors decided as Google does, %d vectors otherwise:", same, different)
	for _, line := range slices.Sorted(maps.Keys(googleDifferences)) {
		if !seen[line] {
			t.Errorf("no vector %q", line)
		}
		t.Logf("%s: %s", line, googleDifferences[line])
	}
	if same+different < 150 {
		t.Errorf("only %d vectors found", same+different)
	}
}

// googleVerdict checks one vector and returns the difference, "" if there is none.
func googleVerdict(t *testing.T, file, name, rest string) string {
	t.Helper()
	words := quotedWords.FindAllString(rest, -1)
	want, got := "", ""
	switch name {
	case "allow", "deny":
		agent := strings.Trim(words[0], `"`)
		allowed := Parse([]byte(file), agent).Allowed(page(t, repeatedURL(t, words[1])))
		want, got = name, "deny"
		if allowed {
			got = "allow"
		}
	case "sitemap":
		want, got = words[0], strings.Join(Sitemaps([]byte(file)), " ")
	case "path":
		want, got = words[1], page(t, words[0]).RequestURI()
	case "escape":
		want, got = words[1], normalised(words[0], true)
	default:
		t.Fatalf("unknown line %q", name)
	}
	if got == want {
		return ""
	}
	return fmt.Sprintf("got %q, want %q", got, want)
}

var (
	quotedWords = regexp.MustCompile(`"[^"]*"|\S+`)
	repeatIn    = regexp.MustCompile(`\{(.+)\*(\d+)\}`)
)

// repeatedText reads a quoted text and the number of its repetitions, by default one.
func repeatedText(t *testing.T, line string) string {
	t.Helper()
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	text, _ := strconv.Unquote(quoted)
	times := 1
	if count := strings.TrimSpace(line[len(quoted):]); count != "" {
		if times, err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Repeat(text, times)
}

// repeatedURL spells out the repetition in a URL.
func repeatedURL(t *testing.T, raw string) string {
	t.Helper()
	at := repeatIn.FindStringSubmatchIndex(raw)
	if at == nil {
		return raw
	}
	times, err := strconv.Atoi(raw[at[4]:at[5]])
	if err != nil {
		t.Fatal(err)
	}
	return raw[:at[0]] + strings.Repeat(raw[at[2]:at[3]], times) + raw[at[1]:]
}
