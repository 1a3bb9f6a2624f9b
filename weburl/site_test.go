package weburl

import (
	_ "embed"
	"strings"
	"testing"
)

func TestSite(t *testing.T) {
	tests := []struct {
		url, site, scheme, host string
		port                    uint16
		domain                  string
	}{
		{"http://example.org/a", "http://example.org", "http", "example.org", 80, "example.org"},
		{"https://www.example.co.uk/a:b", "https://www.example.co.uk", "https", "www.example.co.uk", 443, "example.co.uk"},
		{"https://a.b.example.org:8443/", "https://a.b.example.org:8443", "https", "a.b.example.org", 8443, "example.org"},
		{"http://user.github.io/x", "http://user.github.io", "http", "user.github.io", 80, "user.github.io"},
		{"http://co.uk/", "http://co.uk", "http", "co.uk", 80, "co.uk"},
		{"http://localhost:0/", "http://localhost:0", "http", "localhost", 0, "localhost"},
		{"http://www.example.org./", "http://www.example.org.", "http", "www.example.org.", 80, "example.org"},
		{"http://a..example.org/", "http://a..example.org", "http", "a..example.org", 80, "a..example.org"},
		{"http://./", "http://.", "http", ".", 80, "."},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080", "http", "127.0.0.1", 8080, "127.0.0.1"},
		{"https://[2001:db8::1]/", "https://[2001:db8::1]", "https", "[2001:db8::1]", 443, "[2001:db8::1]"},
		{"https://[2001:db8::1]:1/", "https://[2001:db8::1]:1", "https", "[2001:db8::1]", 1, "[2001:db8::1]"},
		{"http://bücher.example/", "http://xn--bcher-kva.example", "http", "xn--bcher-kva.example", 80, "xn--bcher-kva.example"},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			u := mustParse(t, test.url)
			s := u.Site()
			if string(s) != test.site || s.Scheme() != test.scheme || s.Host() != test.host ||
				s.Port() != test.port || s.Domain() != test.domain {
				t.Errorf("site %q: %q, %q, %d, %q; want %+v", s, s.Scheme(), s.Host(), s.Port(), s.Domain(), test)
			}
			if u.Scheme() != test.scheme || u.Host() != test.host || u.Port() != test.port || u.Domain() != test.domain {
				t.Errorf("the URL's accessors differ from its site's: %q", u)
			}
			if root := s.Root().String(); root != test.site+"/" {
				t.Errorf("Root() = %q", root)
			}
		})
	}
}

func TestPathAndQuery(t *testing.T) {
	tests := []struct{ url, path, query, uri string }{
		{"http://h", "/", "", "/"},
		{"http://h/?", "/", "", "/?"},
		{"http://h/a/b?c?d", "/a/b", "c?d", "/a/b?c?d"},
		{"http://h/a?/b", "/a", "/b", "/a?/b"},
	}
	for _, test := range tests {
		u := mustParse(t, test.url)
		if u.Path() != test.path || u.Query() != test.query || u.RequestURI() != test.uri {
			t.Errorf("%q: %q, %q, %q; want %+v", u, u.Path(), u.Query(), u.RequestURI(), test)
		}
	}
}

func TestZeroURL(t *testing.T) {
	var u URL
	if !u.IsZero() || u.String() != "" || u.Site() != "" || u.Scheme() != "" || u.Host() != "" || u.Port() != 0 ||
		u.Path() != "" || u.Query() != "" || u.RequestURI() != "" || u.Fingerprint() != 0 || u.SURT() != "" ||
		u.Domain() != "" || u.Site().Root() != u {
		t.Error("an accessor of the zero URL gives something")
	}
}

//go:embed testdata/surt.txt
var surts string

func TestSURT(t *testing.T) {
	for line := range strings.Lines(surts) {
		raw, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		if got := mustParse(t, raw).SURT(); got != want {
			t.Errorf("SURT of %s is %q, want %q", raw, got, want)
		}
	}
	if got, want := mustParse(t, "http://www./").SURT(), ",www)/"; got != want {
		t.Errorf("a host of www. alone: %q, want %q", got, want)
	}
}

// What these tests hold is on the disks of users: the values never change.

func TestFingerprintNeverChanges(t *testing.T) {
	tests := []struct{ url, want string }{
		{"http://example.org/", "b73dc5b066f53581"},
		{"https://example.org/", "8e2c3c2914c7cb49"},
		{"https://example.org:8443/a/b?c=d", "337075e2b4412f34"},
		{"http://example.org/" + strings.Repeat("a", 300), "256e9e5b78b12457"},
	}
	for _, test := range tests {
		u := mustParse(t, test.url)
		f := u.Fingerprint()
		if f.String() != test.want {
			t.Errorf("fingerprint of %.60s is %v, want %s", u, f, test.want)
		}
	}
}

func TestPartitionNeverChanges(t *testing.T) {
	tests := []struct {
		domain string
		n      int
		want   Partition
	}{
		{"example.org", 1, 0},
		{"example.org", 16, 5},
		{"example.org", 64, 5},
		{"example.org", 1000, 277},
		{"example.co.uk", 64, 43},
		{"127.0.0.1", 64, 12},
		{"[::1]", MaxPartitions, 7708},
	}
	for _, test := range tests {
		if got := PartitionOf(test.domain, test.n); got != test.want {
			t.Errorf("PartitionOf(%q, %d) = %d, want %d", test.domain, test.n, got, test.want)
		}
	}
}

func TestPartitionKeepsAnOwnerTogether(t *testing.T) {
	want := mustParse(t, "http://example.org/").Partition(64)
	for _, raw := range []string{"https://example.org/", "http://www.example.org:8080/a", "https://a.b.example.org./"} {
		if got := mustParse(t, raw).Partition(64); got != want {
			t.Errorf("%s is in partition %d, http://example.org/ in %d", raw, got, want)
		}
	}
}

func TestPartitionOfRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, MaxPartitions + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("PartitionOf of %d partitions does not panic", n)
				}
			}()
			PartitionOf("example.org", n)
		}()
	}
}

// TestName holds that whatever leaves a host the same host leaves its name the same, and that nothing else does.
func TestName(t *testing.T) {
	for _, tt := range []struct{ raw, name, plain string }{
		{"http://a.test/x?y", "a.test", "http://a.test/x?y"},
		{"http://a.test./x?y", "a.test", "http://a.test/x?y"},
		{"https://A.TEST.:443/", "a.test", "https://a.test/"},
		{"http://a.test.:8080/", "a.test", "http://a.test:8080/"},
		{"http://BÜCHER.test/", "xn--bcher-kva.test", "http://xn--bcher-kva.test/"},
		{"http://xn--bcher-kva.test./", "xn--bcher-kva.test", "http://xn--bcher-kva.test/"},
		{"http://0x7f.1/", "127.0.0.1", "http://127.0.0.1/"},
		{"http://[::1]:80/", "[::1]", "http://[::1]/"},
		{"http://www.a.test/", "www.a.test", "http://www.a.test/"},
	} {
		u, err := Parse(tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Site().Name(); got != tt.name {
			t.Errorf("%s: name %q: want %q", tt.raw, got, tt.name)
		}
		if got := u.Plain().String(); got != tt.plain {
			t.Errorf("%s: plain %q: want %q", tt.raw, got, tt.plain)
		}
	}
}
