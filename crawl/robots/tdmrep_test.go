package robots

import (
	"strings"
	"testing"

	"freshet/consent"
	"freshet/weburl"
)

// TestTDMRep holds that the first matching rule decides about a page. The second file is the example of section 4.2 of
// the protocol.
func TestTDMRep(t *testing.T) {
	const (
		all    = `[{"location": "/", "tdm-reservation": 1}]`
		groups = `[{"location": "/directory-a/", "tdm-reservation": 1},
			{"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy": "https://provider.com/policies/policy.json"},
			{"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}]`
		reserved = "tdmrep.json tdm-reservation: 1"
		free     = "tdmrep.json tdm-reservation: 0"
	)
	for _, c := range []struct{ file, path, want string }{
		{all, "/", reserved},
		{all, "/x?y", reserved},
		{groups, "/directory-a/x.pdf", reserved},
		{groups, "/directory-b/html/", reserved + "\ntdmrep.json tdm-policy: https://provider.com/policies/policy.json"},
		{groups, "/directory-b/images/a/b.jpg", free},
		{groups, "/", ""},
		// The first in sequence is the most specific.
		{`[{"location": "/a", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]`, "/ab", free},
		{`[{"location": "/", "tdm-reservation": 1}, {"location": "/a", "tdm-reservation": 0}]`, "/ab", reserved},
		// Patterns are those of robots.txt.
		{`[{"location": "/a$", "tdm-reservation": 1}]`, "/a", reserved},
		{`[{"location": "/a$", "tdm-reservation": 1}]`, "/ab", ""},
		{`[{"location": "/foo-%24", "tdm-reservation": 1}]`, "/foo-$", reserved},
		{`[{"location": "/%7Ea", "tdm-reservation": 1}]`, "/~a", reserved},
		// Many sites write this instead.
		{`{"location": "/", "tdm-reservation": 1}`, "/", reserved},
		{"\xef\xbb\xbf\n" + all, "/", reserved},
		{`[{"location": "*", "tdm-reservation": "1"}]`, "/", reserved},
		{`[{"location": "a", "tdm-reservation": 1}]`, "/a", reserved},
		{`[{"location": "/", "tdm-reservation": 1, "tdm-policy": 7}, 5, `, "/", reserved},
		{`[5, {"location": 5}, {"location": "/"}, {"tdm-reservation": 1}, {"location": "/", "tdm-reservation": 1}]`, "/", reserved},
		// These files say nothing.
		{"", "/", ""}, {"[]", "/", ""}, {"null", "/", ""}, {"<html>", "/", ""}, {`[[` + all, "/", ""},
	} {
		if got := ParseTDMRep([]byte(c.file)).Signals(page(t, "http://a.test"+c.path)).String(); got != c.want {
			t.Errorf("%s\n%s: %q, want %q", c.file, c.path, got, c.want)
		}
	}
}

// FuzzTDMRep holds that the rules of every file stay within their bounds, and that consent reads back what they say. If
// a rule for all pages comes first, it decides.
func FuzzTDMRep(f *testing.F) {
	f.Add(`[{"location": "/a*b$", "tdm-reservation": 1, "tdm-policy": "x"}]`, "/a/b")
	f.Add(`[{"location": "%", "tdm-reservation": "1\n"}`, "/")
	f.Add(`[{"location": "`+strings.Repeat("*a", 2000)+`", "tdm-reservation": [1]}]`, "/"+strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, file, path string) {
		u, err := weburl.Parse("http://a.test/" + path)
		if err != nil {
			return
		}
		rules := ParseTDMRep([]byte(file))
		if rules.Bytes() > 8*MaxTDMRep {
			t.Fatalf("%d bytes are kept of %d", rules.Bytes(), len(file))
		}
		said := rules.Signals(u)
		if again := consent.Parse(said.String()); again.String() != said.String() {
			t.Fatalf("%q is read back as %q", said, again)
		}
		rest, array := strings.CutPrefix(strings.TrimSpace(file), "[")
		if array {
			first := ParseTDMRep([]byte(`[{"location": "/", "tdm-reservation": 1},` + rest)).Signals(u)
			if first.Verdict(consent.AITrain) != consent.Disallowed {
				t.Fatalf("what is reserved first is not: %q", first)
			}
		}
	})
}
