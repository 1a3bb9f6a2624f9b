package fetch

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compress applies one content coding.
func compress(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw deflate":
		w, err = flate.NewWriter(&out, 6)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	default:
		t.Fatalf("no coding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDecode(t *testing.T) {
	text := []byte(strings.Repeat("a page of some length. ", 200))
	encode := func(codings ...string) []byte {
		data := text
		for _, coding := range codings {
			data = compress(t, coding, data)
		}
		return data
	}
	tests := []struct {
		name, header string
		body         []byte
		fault        bool
	}{
		{"none", "", text, false},
		{"identity", "identity", text, false},
		{"gzip", "gzip", encode("gzip"), false},
		{"old name and case", "X-GZip", encode("gzip"), false},
		{"two members", "gzip", append(compress(t, "gzip", text[:100]), compress(t, "gzip", text[100:])...), false},
		{"bytes behind the member", "gzip", append(encode("gzip"), "\r\n\r\nand more of them"...), false},
		{"deflate", "deflate", encode("deflate"), false},
		{"raw deflate", "deflate", encode("raw deflate"), false},
		{"br", "br", encode("br"), false},
		{"zstd", "zstd", encode("zstd"), false},
		{"three deep", "gzip, br,zstd", encode("gzip", "br", "zstd"), false},
		{"four deep", "gzip, gzip, gzip, gzip", encode("gzip", "gzip", "gzip", "gzip"), true},
		{"unknown", "compress", text, true},
		{"not gzip", "gzip", text, true},
		{"not br", "br", text, true},
		{"not zstd", "zstd", text, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			if test.header != "" {
				header.Set("Content-Encoding", test.header)
			}
			data, truncated, err := Decode(header, test.body, 1<<20)
			if truncated || (err != nil) != test.fault || err == nil && !bytes.Equal(data, text) {
				t.Errorf("%d bytes, truncated %v: %v", len(data), truncated, err)
			}
			if test.header == "compress" && !errors.Is(err, ErrCoding) {
				t.Errorf("%v does not wrap ErrCoding", err)
			}
			if err != nil {
				return
			}
			for limit, cut := range map[int64]bool{int64(len(text)): false, int64(len(text)) - 1: true, 0: true} {
				data, truncated, err := Decode(header, test.body, limit)
				if !bytes.Equal(data, text[:limit]) || truncated != cut || err != nil {
					t.Errorf("limit %d: %d bytes, truncated %v: %v", limit, len(data), truncated, err)
				}
			}
		})
	}
}

// A broken stream gives its content up to the break.
func TestDecodeBroken(t *testing.T) {
	text, random := make([]byte, 100_000), rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = 'a' + byte(random.IntN(16))
	}
	for _, coding := range []string{"gzip", "deflate", "br"} {
		whole := compress(t, coding, text)
		data, _, err := Decode(http.Header{"Content-Encoding": {coding}}, whole[:len(whole)-6], 1<<20)
		if err == nil || !bytes.HasPrefix(text, data) || len(data) == 0 {
			t.Errorf("%s: %d bytes: %v", coding, len(data), err)
		}
	}
}

// A bomb costs as much as the limit allows and no more.
func TestDecodeBomb(t *testing.T) {
	zeros := make([]byte, 8<<20)
	for _, codings := range [][]string{{"gzip"}, {"br"}, {"zstd"}, {"gzip", "gzip", "gzip"}} {
		bomb := zeros
		for _, coding := range codings {
			bomb = compress(t, coding, bomb)
		}
		data, truncated, err := Decode(http.Header{"Content-Encoding": codings}, bomb, 1<<18)
		if len(data) != 1<<18 || cap(data) > 1<<20 || !truncated || err != nil {
			t.Errorf("%v: %d bytes of %d, truncated %v: %v", codings, len(data), cap(data), truncated, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		f.Add(coding, compress(f, coding, []byte("hello")))
		f.Add(coding+", gzip", compress(f, "gzip", compress(f, coding, []byte("hello"))))
	}
	f.Fuzz(func(t *testing.T, coding string, body []byte) {
		data, truncated, err := Decode(http.Header{"Content-Encoding": {coding}}, body, 10_000)
		if len(data) > 10_000 || truncated && (len(data) != 10_000 || err != nil) {
			t.Errorf("%d bytes, truncated %v: %v", len(data), truncated, err)
		}
	})
}
