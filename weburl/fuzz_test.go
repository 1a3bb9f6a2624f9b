package weburl

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"
)

var seeds = []struct{ base, ref string }{
	{"", "http://example.org/a/b?c=d#e"},
	{"", "https://example.org:8443"},
	{"", "http://1.2.3.4:80/"},
	{"", "http://[::1]:81/"},
	{"", "http://a.b-c.1d/%2e./.%2E"},
	{"", "http://xn--bcher-kva.example/"},
	{"", "http://user:pass@h/é?'é"},
	{"http://h/a/b/c?d", "../.././x/../y?z"},
	{"http://h//a//", "..//..//"},
	{"https://h/", "//other/"},
	{"http://h/", "http:a"},
	{"http://h/", "1:2/3"},
	{"http://h/a", "/.//x\\y"},
	{"http://h/a", " ?\t'|^{}`"},
}

// FuzzStandard holds that Parse agrees with an independent implementation of the whole standard.
func FuzzStandard(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed.base, seed.ref)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		u, _ := Parse(base)
		checkStandard(t, u, ref)
	})
}

// FuzzParse holds that a canonical form is its own canonical form and is made of printable ASCII,
// and that a failed parse gives nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed.base, seed.ref)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		u, err := Parse(base)
		checkURL(t, u, err)
		v, err := u.Parse(ref)
		checkURL(t, v, err)
	})
}

// TestParseProperty says the same as the two fuzz targets of links that are nearly clean.
func TestParseProperty(t *testing.T) {
	part := rapid.SampledFrom(strings.Fields(
		"a b9 . .. ... / / / // ? # : % %2e %2E %41 .% - _ ~ ' ! | [ ] ^ { @ & = http: https: // é xn-- 1 127.0.0.1 0 " +
			"80 443 8080 example.org .com A \\ + , ; ( * ` < > \" $"))
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
	})
	prefix := rapid.SampledFrom([]string{"", "http://", "https://", "http://h/", "https://example.org:80/a/"})
	rapid.Check(t, func(t *rapid.T) {
		u, err := Parse(prefix.Draw(t, "base prefix") + text.Draw(t, "base"))
		checkURL(t, u, err)
		ref := prefix.Draw(t, "prefix") + text.Draw(t, "ref")
		checkStandard(t, u, ref)
		v, err := u.Parse(ref)
		checkURL(t, v, err)
	})
}

type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// signed finds labels of a host that the library takes for signed numbers.
var signed = regexp.MustCompile(`([ .:/@\\]|0[xX])[-+][0-9a-fA-F]`)

// checkStandard compares with the library where it follows today's standard: it leaves the "^" of a
// path as it is, which the standard has encoded since 2024, misreads what is not UTF-8, and takes
// the host "-1" for an IPv4 address.
func checkStandard(t reporter, base URL, ref string) {
	t.Helper()
	if len(ref) > maxMapped || strings.ContainsAny(ref, "^\uFFFD") || !utf8.ValidString(ref) || signed.MatchString(base.String()+" "+ref) {
		return
	}
	got, err := base.Parse(ref)
	want, wantErr := standard(base, ref)
	if strings.Contains(got.Host()+base.Host()+want, "xn--") && (err == nil) != (wantErr == nil) {
		return // the library does not read all that it makes; checkURL holds that we do
	}
	if got.String() != want || (err == nil) != (wantErr == nil) {
		t.Fatalf("%q against %q: got %q, %v; want %q, %v", ref, base, got, err, want, wantErr)
	}
}

// standard returns the canonical form by the library alone.
func standard(base URL, ref string) (string, error) {
	u, err := url.ParseRef(base.String(), ref)
	if err != nil {
		return "", err
	}
	if u.Scheme() != "http" && u.Scheme() != "https" {
		return "", ErrScheme
	}
	u.SetUsername("")
	u.SetPassword("")
	return u.Href(true), nil
}

func checkURL(t reporter, u URL, err error) {
	t.Helper()
	if err != nil {
		if !u.IsZero() {
			t.Fatalf("%q beside error %v", u, err)
		}
		return
	}
	text := u.String()
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		t.Fatalf("%q: byte %d is not printable ASCII", text, i)
	}
	if again, err := Parse(text); err != nil || again != u {
		t.Fatalf("canonical form %q parses to %q, %v", text, again, err)
	}
	if again, err := (URL{}).resolve(text); err != nil || again != u {
		t.Fatalf("canonical form %q resolves to %q, %v", text, again, err)
	}
	site := u.Site()
	if root := site.Root(); root.Site() != site || u.Host() == "" || u.Port() == 0 && !strings.HasSuffix(string(site), ":0") {
		t.Fatalf("%q: site %q of host %q, port %d, root %q", text, site, u.Host(), u.Port(), root)
	}
	if u.Fingerprint() == 0 || u.SURT() == "" || u.Domain() == "" || int(u.Partition(7)) >= 7 {
		t.Fatalf("%q: fingerprint %v, SURT %q, domain %q", text, u.Fingerprint(), u.SURT(), u.Domain())
	}
	if text != string(site)+u.RequestURI() || !strings.HasPrefix(u.RequestURI(), u.Path()) {
		t.Fatalf("%q: site %q, path %q, query %q", text, site, u.Path(), u.Query())
	}
}
