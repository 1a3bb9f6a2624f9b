package main

import (
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/node"
)

func TestByteCountSet(t *testing.T) {
	tests := []struct {
		text  string
		want  byteCount
		wrong bool
	}{
		{text: "500", want: 500}, {text: "500B", want: 500}, {text: "64KiB", want: 64 << 10}, {text: "16 MiB", want: 16 << 20}, {text: "1.5GB", want: 15e8}, {text: "0", want: 0},
		{text: "9223372036854775807", want: math.MaxInt64}, {text: "9223372036854775808", wrong: true}, {text: "8388608TiB", wrong: true},
		{text: "", wrong: true}, {text: "MiB", wrong: true}, {text: "-1", wrong: true}, {text: "-1KB", wrong: true}, {text: "nan", wrong: true}, {text: "infB", wrong: true}, {text: "5 apples", wrong: true},
	}
	for _, test := range tests {
		var c byteCount
		if err := c.Set(test.text); (err != nil) != test.wrong || c != test.want {
			t.Errorf("Set(%q): %d, %v: want %d", test.text, c, err, test.want)
		}
	}
}

func TestByteCountString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.IntRange(0, 50).Draw(t, "shift")
		c := byteCount(rapid.Int64Min(0).Draw(t, "bytes") >> shift << shift)
		var again byteCount
		if err := again.Set(c.String()); err != nil || again != c {
			t.Fatalf("%s: read back as %d, %v: want %d", c.String(), again, err, c)
		}
	})
}

func TestResolveMapSet(t *testing.T) {
	for _, text := range []string{"", "a.test", "a.test=", "=127.0.0.1:80", "a.test=127.0.0.1", "a.test=host:80", "a b=127.0.0.1:80", "a/b=127.0.0.1:80", "x@a.test=127.0.0.1:80", "a.test:8080=127.0.0.1:80", "a.test=127.0.0.1:80,"} {
		if err := (resolveMap{}).Set(text); err == nil {
			t.Errorf("Set(%q): no error", text)
		}
	}
	m := resolveMap{}
	for _, text := range []string{"A.Test=127.0.0.1:80", "b.test=[::1]:8080,müller.test=127.0.0.2:1", "a.test=127.0.0.3:1"} {
		if err := m.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	want := resolveMap{"a.test": netip.MustParseAddrPort("127.0.0.3:1"), "b.test": netip.MustParseAddrPort("[::1]:8080"), "xn--mller-kva.test": netip.MustParseAddrPort("127.0.0.2:1")}
	if diff := cmp.Diff(want, m, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestResolveMapString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := resolveMap{}
		for range rapid.IntRange(0, 4).Draw(t, "pairs") {
			address := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
			if rapid.Bool().Draw(t, "six") {
				address = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6")))
			}
			m[rapid.StringMatching(`[a-z]{1,8}\.test`).Draw(t, "host")] = netip.AddrPortFrom(address, rapid.Uint16().Draw(t, "port"))
		}
		again := resolveMap{}
		if len(m) > 0 {
			if err := again.Set(m.String()); err != nil {
				t.Fatal(err)
			}
		}
		if again.String() != m.String() || len(again) != len(m) {
			t.Fatalf("%s: read back as %s", m, again)
		}
		if err := again.Replace(m.GetSlice()); err != nil || again.String() != m.String() {
			t.Fatalf("replaced: %s, %v", again, err)
		}
	})
}

// How many pages a second a crawl makes is by the machine's clock.
func TestSpan(t *testing.T) {
	s := node.Summary{DurationS: 86400, PagesPerS: 0.1}
	for rate, want := range map[float64]string{1: "24h (0.1 pages/s)", 28800: "24h (3s by the machine's clock, 2880.0 pages/s)"} {
		if got := span(s, rate); got != want {
			t.Errorf("at rate %g: %q, want %q", rate, got, want)
		}
	}
}
