package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"

	"freshet/store/internal/format"
	"freshet/weburl"
)

// TestEncodeLinks compares links encoded by hand with the library's encoding, for lengths and numbers of every size.
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
		array, encoded := appendLinks(links), EncodeLinks(links)
		if want := format.AppendValue(nil, links); !bytes.Equal(array, want) {
			t.Fatalf("%x, want %x", array, want)
		}
		if len(encoded) > len(array) {
			t.Fatalf("%d bytes as an array, %d compressed", len(array), len(encoded))
		}
		for _, raw := range [][]byte{array, encoded} { // the array alone is what earlier versions wrote
			if decoded, err := DecodeLinks(raw); err != nil || !cmp.Equal(decoded, links, cmp.AllowUnexported(weburl.URL{}), cmp.Comparer(func(a, b OutLink) bool { return a == b })) {
				t.Fatalf("decoded: %v, %v", decoded, err)
			}
		}
	})
}

// TestDecodeLinksRefuses holds that DecodeLinks returns an error for links that EncodeLinks cannot have written. It
// does not trust the length that they claim.
func TestDecodeLinksRefuses(t *testing.T) {
	packed := func(content []byte) []byte {
		return append(appendHead(nil, cborBytes, uint64(len(content))), content...)
	}
	for name, raw := range map[string][]byte{
		"a number":                 {cborUnsigned | 7},
		"a byte string cut short":  appendHead(nil, cborBytes, 100),
		"not compressed":           packed([]byte("no such format")),
		"more than there may be":   packed(binary.AppendUvarint(nil, manyLinksBytes+1)),
		"compressed, and no array": packed(s2.Encode(nil, []byte("http://page.test/"))),
	} {
		if links, err := DecodeLinks(raw); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, %v, want ErrCorrupt", name, links, err)
		}
	}
}

// FuzzLinks holds that decoding never panics. Encoding and decoding what it accepts gives the same.
func FuzzLinks(f *testing.F) {
	links := make([]OutLink, 20)
	for i := range links {
		u, err := weburl.Parse(fmt.Sprintf("http://page.test/%d", i))
		if err != nil {
			f.Fatal(err)
		}
		links[i] = OutLink{URL: u, Rel: weburl.RelAnchor}
	}
	f.Add([]byte(EncodeLinks(links)))
	f.Add([]byte(EncodeLinks(links[:1])))
	f.Fuzz(func(t *testing.T, raw []byte) {
		links, err := DecodeLinks(raw)
		if err != nil {
			return
		}
		if again, err := DecodeLinks(EncodeLinks(links)); err != nil || len(again) != len(links) {
			t.Fatalf("%d links of %x, then %d: %v", len(links), raw, len(again), err)
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
