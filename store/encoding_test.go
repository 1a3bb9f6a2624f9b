package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/weburl"
)

// TestEncodeLinks holds links encoded by hand to what the library makes of them, for lengths and
// numbers of every size.
func TestEncodeLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) OutLink {
			length := rapid.SampledFrom([]int{0, 1, 10, 300, 60_000}).Draw(t, "length")
			u, err := weburl.Parse(fmt.Sprintf("http://a.test/%d?%s", rapid.Byte().Draw(t, "page"), strings.Repeat("q", length)))
			if err != nil {
				t.Fatal(err)
			}
			return OutLink{URL: u, Rel: weburl.Rel(rapid.Uint8().Draw(t, "rel")), NoFollow: rapid.Bool().Draw(t, "nofollow"),
				LastMod: rapid.Int64().Draw(t, "lastmod") >> rapid.IntRange(0, 63).Draw(t, "shift")}
		}), 0, 30).Draw(t, "links")
		encoded := EncodeLinks(links)
		if want := appendValue(nil, links); !bytes.Equal(encoded, want) {
			t.Fatalf("%x, want %x", encoded, want)
		}
		if decoded, err := DecodeLinks(encoded); err != nil || !cmp.Equal(decoded, links, cmp.AllowUnexported(weburl.URL{}), cmp.Comparer(func(a, b OutLink) bool { return a == b })) {
			t.Fatalf("decoded: %v, %v", decoded, err)
		}
	})
}

func BenchmarkEncodeLinks(b *testing.B) {
	links := make([]OutLink, 40)
	for i := range links {
		u, err := weburl.Parse(fmt.Sprintf("https://www.example.org/archive/article-%d.html", i))
		if err != nil {
			b.Fatal(err)
		}
		links[i] = OutLink{URL: u, Rel: weburl.RelAnchor}
	}
	b.ReportAllocs()
	for b.Loop() {
		EncodeLinks(links)
	}
}
