package frontier

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern  string
		in, out  []string
		ofSites  bool
		spelling string // as String prints it, if that differs
	}{
		{"*", []string{"http://a.test/", "https://[::1]/x"}, nil, true, ""},
		{"example.org", []string{"http://example.org/", "https://example.org:8443/x"}, []string{"http://www.example.org/", "http://example.org.test/"}, true, ""},
		{"EXAMPLE.org", []string{"http://example.org/"}, nil, true, "example.org"},
		{"[::1]", []string{"http://[::1]:8080/x"}, []string{"http://127.0.0.1/"}, true, ""},
		{".example.org", []string{"http://example.org/", "http://a.b.example.org/"}, []string{"http://badexample.org/", "http://org/"}, true, ""},
		{"https://example.org", []string{"https://example.org/x"}, []string{"http://example.org/", "https://example.org:8443/"}, true, ""},
		{"https://example.org:443", []string{"https://example.org/x"}, nil, true, "https://example.org"},
		{"https://example.org/docs/", []string{"https://example.org/docs/", "https://example.org/docs/a?b"}, []string{"https://example.org/docs", "http://example.org/docs/"}, false, ""},
		{"(org,example,", []string{"http://example.org/", "https://www.example.org/a", "http://a.example.org/"}, []string{"http://example.com/", "http://exampler.org/"}, false, ""},
		{"http://(org,example,)/docs/", []string{"http://example.org/docs/x", "https://www.example.org/docs/"}, []string{"http://a.example.org/docs/", "http://example.org/"}, false, "(org,example,)/docs/"},
		{"(org,example)/Docs/", []string{"http://example.org/docs/x"}, []string{"http://a.example.org/docs/"}, false, "(org,example,)/docs/"},
		{"~^http://a[.]test/.*[*]", []string{"http://a.test/x*y"}, []string{"http://a.test/x"}, false, ""},
		{`~/print\?|[?&]session=`, []string{"http://a.test/print?x", "http://a.test/?a&session=1"}, []string{"http://a.test/print"}, false, ""},
	}
	for _, test := range tests {
		t.Run(test.pattern, func(t *testing.T) {
			p, err := ParsePattern(test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range test.in {
				if !p.Match(mustParse(t, raw)) {
					t.Errorf("%s is not taken in", raw)
				}
			}
			for _, raw := range test.out {
				if p.Match(mustParse(t, raw)) {
					t.Errorf("%s is taken in", raw)
				}
			}
			if p.NamesSites() != test.ofSites {
				t.Errorf("names sites: %v", p.NamesSites())
			}
			want := test.spelling
			if want == "" {
				want = test.pattern
			}
			if p.String() != want {
				t.Errorf("prints as %q: want %q", p, want)
			}
		})
	}
}

func TestPatternFaults(t *testing.T) {
	for _, text := range []string{"*.a.test", "a.*", "https://*.a.test/", "http://a.test/*", "http://a.test/x*y", "http://a.test/?*", "(test,a,)/*", "(test,*", "%2a.a.test", "", ".", "(", "http://(", "~(", "ftp://a.test/", "https://", "a b", "example.org/path", "user@host", "?", "http://a.test/" + strings.Repeat(" x", maxPattern/3), "\n.", "\n.a.test", "。a.test", "\n(", "～a.test", "＊", strings.Repeat("a", maxPattern+1)} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%.40q is read as %q", text, p)
		}
	}
}

// TestPatternsNameSites holds that MatchSome tells which sites a pattern can match pages of. An expression names no
// site.
func TestPatternsNameSites(t *testing.T) {
	tests := []struct {
		pattern string
		in, out []weburl.Site
	}{
		{"*", []weburl.Site{"http://a.test"}, nil},
		{"example.org", []weburl.Site{"http://example.org", "https://example.org.:8443"}, []weburl.Site{"http://www.example.org"}},
		{".example.org", []weburl.Site{"http://example.org", "http://a.b.example.org"}, []weburl.Site{"http://badexample.org"}},
		{"https://example.org/docs/", []weburl.Site{"https://example.org"}, []weburl.Site{"http://example.org"}},
		{"(org,example,", []weburl.Site{"http://a.example.org", "https://www.example.org"}, []weburl.Site{"http://example.com", "http://exampler.org"}},
		{"(org,example,)/docs/", []weburl.Site{"http://example.org", "http://www.example.org"}, []weburl.Site{"http://a.example.org"}},
		{"~docs", nil, []weburl.Site{"http://docs.test"}},
	}
	for _, test := range tests {
		p, err := ParsePattern(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		patterns := NewPatterns([]Pattern{p})
		for _, site := range test.in {
			if !patterns.MatchSome(site) {
				t.Errorf("%s takes in no page of %s", p, site)
			}
		}
		for _, site := range test.out {
			if patterns.MatchSome(site) {
				t.Errorf("%s takes in pages of %s", p, site)
			}
		}
	}
}

// TestPatternsAreAnyOfThem holds that a list of patterns matches a URL if one of them does.
func TestPatternsAreAnyOfThem(t *testing.T) {
	words := []string{"*", "a.test", "b.test", ".test", ".b.test", "http://a.test", "http://a.test/x", "http://a.test/y/", "https://b.test/x", "(test,", "(test,b,)/x", "~x$", "~[0-9]"}
	rapid.Check(t, func(t *rapid.T) {
		var list []Pattern
		for _, text := range rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "patterns") {
			p, err := ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		u, err := weburl.Parse(rapid.StringMatching(`https?://(a|b|c\.b|test)\.(test|org)/[xy]?/?[0-9]?`).Draw(t, "url"))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.ContainsFunc(list, func(p Pattern) bool { return p.Match(u) })
		if got := NewPatterns(list).Match(u); got != want {
			t.Errorf("%v take in %s: %v, want %v", list, u, got, want)
		}
	})
}

// FuzzPattern holds that a parsed pattern prints as one with the same meaning.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"http://a.test/%2a", "*", "a.test", ".a.test", "http://a.test:81", "http://a.test/x?y", "(test,a,)/", "~^https"} {
		f.Add(seed, "http://a.test/x?y")
	}
	f.Fuzz(func(t *testing.T, text, raw string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		again, err := ParsePattern(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q prints as %q, which is read as %q, %v", text, p, again, err)
		}
		u, err := weburl.Parse(raw)
		if err != nil {
			return
		}
		if p.Match(u) != again.Match(u) || p.Match(u) != NewPatterns([]Pattern{p}).Match(u) {
			t.Fatalf("%q and %q do not mean the same of %s", text, again, u)
		}
	})
}

func TestRules(t *testing.T) {
	patterns := func(texts ...string) Patterns {
		var list []Pattern
		for _, text := range texts {
			p, err := ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		return NewPatterns(list)
	}
	rules := &Rules{Include: patterns("http://b.test/in/"), Exclude: patterns("~/private/"), OptOut: patterns("http://a.test/in/x")}
	scope, _ := ParseScope("page")
	scope.AddSeed(mustParse(t, "http://a.test/in/seed"))
	scope.AddSite("http://a.test")
	for raw, want := range map[string]Reason{
		"http://a.test/in/seed":       Admitted,
		"http://a.test/in/other":      OutOfScope,
		"http://b.test/in/x":          Admitted,
		"http://b.test/in/private/x":  Excluded,
		"http://a.test/in/x/private/": OptedOut,
		"http://b.test/":              OutOfScope,
	} {
		if got, ok := rules.Admit(scope, mustParse(t, raw)); got != want || ok != (want == Admitted) {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}
