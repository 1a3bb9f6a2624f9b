package weburl

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, base, ref, want string }{
		{"canonical", "", "https://example.org/a/b?c=d", "https://example.org/a/b?c=d"},
		{"no path", "", "http://example.org", "http://example.org/"},
		{"no path, a query", "", "http://example.org?q", "http://example.org/?q"},
		{"upper case", "", "HTTP://EXAMPLE.org/A", "http://example.org/A"},
		{"default port", "", "https://example.org:443/", "https://example.org/"},
		{"other scheme's port", "", "http://example.org:443/", "http://example.org:443/"},
		{"port with a leading zero", "", "http://example.org:08080/", "http://example.org:8080/"},
		{"fragment", "", "http://example.org/a#b", "http://example.org/a"},
		{"fragment in any bytes", "", "http://example.org/a#é \"<", "http://example.org/a"},
		{"credentials", "", "http://user:secret@example.org/", "http://example.org/"},
		{"dot segments", "", "http://example.org/a/./b/../c", "http://example.org/a/c"},
		{"escaped dot segments", "", "http://example.org/a/%2e/b/%2E%2e/c", "http://example.org/a/c"},
		{"above the root", "", "http://example.org/../../a", "http://example.org/a"},
		{"hidden file", "", "http://example.org/.well-known/x", "http://example.org/.well-known/x"},
		{"backslashes", "", `http:\\example.org\a`, "http://example.org/a"},
		{"white space around", "", " \t\nhttp://example.org/\r\n ", "http://example.org/"},
		{"line feed within", "", "http://example.org/a\nb", "http://example.org/ab"},
		{"space within", "", "http://example.org/a b?c d", "http://example.org/a%20b?c%20d"},
		{"escapes kept as written", "", "http://example.org/%7e%7E%zz%", "http://example.org/%7e%7E%zz%"},
		{"not ASCII in path and query", "", "http://example.org/é?é", "http://example.org/%C3%A9?%C3%A9"},
		{"not ASCII in host", "", "http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"IPv4 in other notation", "", "http://0x7f.1/", "http://127.0.0.1/"},
		{"IPv4", "", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/"},
		{"IPv6", "", "http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"},
		{"host with a final dot", "", "http://example.org./", "http://example.org./"},
		{"host with an underscore", "", "http://a_b.example.org/", "http://a_b.example.org/"},
		{"empty query", "", "http://example.org/?", "http://example.org/?"},

		{"empty reference", "http://h/a/b?q", "", "http://h/a/b?q"},
		{"fragment only", "http://h/a/b?q", "#x", "http://h/a/b?q"},
		{"query only", "http://h/a/b?q", "?r=/../s", "http://h/a/b?r=/../s"},
		{"empty query only", "http://h/a/b?q", "?", "http://h/a/b?"},
		{"sibling", "http://h/a/b?q=/x/", "c?d#e", "http://h/a/c?d"},
		{"same directory", "http://h/a/b", ".", "http://h/a/"},
		{"same directory, slash", "http://h/a/b", "./", "http://h/a/"},
		{"parent", "http://h/a/b/c", "..", "http://h/a/"},
		{"parent's other", "http://h/a/b/c", "../d", "http://h/a/d"},
		{"above the root again", "http://h/a", "../../d", "http://h/d"},
		{"dots in the middle", "http://h/a/", "b/./c/../d/..", "http://h/a/b/"},
		{"three dots", "http://h/a/", ".../..b/c..", "http://h/a/.../..b/c.."},
		{"empty segments", "http://h/a//", "..", "http://h/a/"},
		{"escaped parent", "http://h/a/b/c", ".%2e/d", "http://h/a/d"},
		{"absolute path", "http://h/a/b", "/c/d", "http://h/c/d"},
		{"absolute path with dots", "http://h/a/b", "/c/./../d", "http://h/d"},
		{"root, then an empty segment", "http://h/a", "/.//b", "http://h//b"},
		{"other host, same scheme", "https://h/a", "//example.org/b", "https://example.org/b"},
		{"absolute", "https://h/a", "http://example.org", "http://example.org/"},
		{"same scheme, relative", "http://h/a/b", "http:c", "http://h/a/c"},
		{"other scheme without slashes", "http://h/a/b", "https:c", "https://c/"},
		{"colon that is no scheme", "http://h/a/b", "./c:d", "http://h/a/c:d"},
		{"colon after a digit", "http://h/a/b", "1:d", "http://h/a/1:d"},
		{"white space around a reference", "http://h/a/b", " c ", "http://h/a/c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var base URL
			if test.base != "" {
				base = mustParse(t, test.base)
			}
			got, err := base.Parse(test.ref)
			if err != nil || got.String() != test.want {
				t.Errorf("Parse(%q, %q) = %q, %v; want %q", test.base, test.ref, got, err, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, base, ref string
		want            error
	}{
		{"empty", "", "", ErrSyntax},
		{"relative to nothing", "", "/a", ErrSyntax},
		{"no host", "", "http://", ErrSyntax},
		{"no host but a port", "", "http://:80/", ErrSyntax},
		{"no host but credentials", "", "http://user@/", ErrSyntax},
		{"port too large", "", "http://h:65536/", ErrSyntax},
		{"port not a number", "", "http://h:8o/", ErrSyntax},
		{"space in host", "", "http://a b/", ErrSyntax},
		{"host too long to map", "", "http://" + strings.Repeat("é", 600) + "/", ErrSyntax},
		{"label too long to read", "", "http://XN--" + strings.Repeat("a", 300) + ".test/", ErrSyntax},
		{"IPv4 too large", "", "http://256.0.0.1/", ErrSyntax},
		{"IPv4 of five parts", "", "http://1.2.3.4.5/", ErrSyntax},
		{"IPv6 unclosed", "", "http://[::1/", ErrSyntax},
		{"ftp", "", "ftp://example.org/", ErrScheme},
		{"mailto", "http://h/", "mailto:a@example.org", ErrScheme},
		{"javascript", "http://h/", "JavaScript:void(0)", ErrScheme},
		{"script with a tab in its scheme", "http://h/", "java\tscript:void(0)", ErrScheme},
		{"data", "http://h/", " data:,x", ErrScheme},
		{"too long", "", "http://h/" + strings.Repeat("a", MaxLength), ErrLength},
		{"too long once encoded", "", "http://h/" + strings.Repeat("é", MaxLength/3), ErrLength},
		{"too long once resolved", "http://h/" + strings.Repeat("a", MaxLength/2) + "/",
			strings.Repeat("b", MaxLength/2), ErrLength},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var base URL
			if test.base != "" {
				base = mustParse(t, test.base)
			}
			got, err := base.Parse(test.ref)
			if !errors.Is(err, test.want) || !got.IsZero() {
				t.Errorf("got %.100q, %v; want an error that is %v", got, err, test.want)
			}
			if fault, ok := errors.AsType[*Error](err); !ok || fault.Input != test.ref {
				t.Errorf("error %v does not carry its input", err)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse("ftp://example.org/")
	const want = `"ftp://example.org/": scheme is not http or https`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestURLAsText(t *testing.T) {
	u := mustParse(t, "http://example.org/a")
	text, err := u.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var v URL
	if err := v.UnmarshalText(text); err != nil || v != u {
		t.Errorf("UnmarshalText(%s) = %v, %v; want %v", text, v, err, u)
	}
	if err := v.UnmarshalText([]byte("x")); err == nil || v != u {
		t.Errorf("UnmarshalText of no URL: %v, %v; want an error and %v as it was", v, err, u)
	}
	if err := v.UnmarshalText(nil); err != nil || !v.IsZero() {
		t.Errorf("UnmarshalText of nothing: %v, %v; want the zero URL", v, err)
	}
}

func mustParse(tb testing.TB, raw string) URL {
	tb.Helper()
	u, err := Parse(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func BenchmarkParse(b *testing.B) {
	base := mustParse(b, "https://www.example.org/wiki/Category:Rivers?action=view&lang=en")
	tests := []struct {
		name string
		base URL
		ref  string
	}{
		{"absolute", URL{}, "https://www.example.org/wiki/Spring_freshet?action=view&lang=en"},
		{"path", base, "/wiki/Spring_freshet?action=view&lang=en"},
		{"sibling", base, "Spring_freshet#Causes"},
		{"parent", base, "../images/./freshet.png"},
		{"mailto", base, "mailto:someone@example.org"},
		{"unclean", base, "/wiki/Crue_printanière"},
		{"long-unclean", base, strings.Repeat("é/../", 8<<10)},
	}
	for _, test := range tests {
		b.Run("ref="+test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				test.base.Parse(test.ref)
			}
		})
	}
}

// TestParseAllocates holds the promise to keep a canonical text, and to make anything else that is
// clean in one piece.
func TestParseAllocates(t *testing.T) {
	base := mustParse(t, "http://example.org/a/b?c")
	tests := []struct {
		name string
		base URL
		ref  string
		want float64
	}{
		{"canonical", URL{}, "https://example.org:8443/a/b?c=d#e", 0},
		{"canonical against a base", base, "http://127.0.0.1/", 0},
		{"fragment", base, "#top", 0},
		{"path", base, "/a/../c", 1},
		{"sibling", base, "é d", 1},
		{"query", base, "?d", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() { test.base.Parse(test.ref) })
			if got > test.want {
				t.Errorf("%v allocations, want %v", got, test.want)
			}
		})
	}
}
