package adversary

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

var bodyKinds = []Kind{
	{Name: "body-endless", Attacks: "memory: an endless body",
		setUp: always(withoutEnd(ok+"\r\n", "many words "), "/", "/a", "/b")},
	{Name: "body-terabyte", Attacks: "memory: a length of a terabyte, and nearly as much",
		setUp: always(withoutEnd(ok+"Content-Length: 1099511627776\r\n\r\n", "many words "), "/", "/a")},
	{Name: "chunks-tiny", Attacks: "time: endless chunks of one byte",
		setUp: always(withoutEnd(chunked, "1\r\nx\r\n"), "/", "/a")},
	{Name: "chunk-extensions", Attacks: "time: an endless extension of a chunk",
		setUp: always(withoutEnd(chunked+"5;", "an=extension;"))},
	{Name: "chunk-sizes", Attacks: "framing: sizes of chunks that are none", setUp: pages(chunkSizes())},
	{Name: "trailers", Attacks: "memory: endless trailers",
		setUp: always(withoutEnd(chunked+"0\r\n", "X-Trailer: x\r\n"))},
	{Name: "length-wrong", Attacks: "framing: a length that is too long, and one that is too short",
		setUp: pages(map[string]answer{
			"/long":  hangsUp(ok + "Content-Length: 1000\r\n\r\n<title>Short</title>"),
			"/short": says(ok + "Content-Length: 10\r\n\r\n<title>Long</title>HTTP/1.1 200 OK\r\n\r\n"),
		})},
	{Name: "bomb-gzip", Attacks: "memory: 32 MB in 32 KB of gzip", setUp: always(bomb("gzip"), "/", "/a", "/b")},
	{Name: "bomb-deflate", Attacks: "memory: 32 MB in 32 KB of deflate", setUp: always(bomb("deflate"), "/", "/a")},
	{Name: "bomb-br", Attacks: "memory: 32 MB in less than a hundred bytes of brotli",
		setUp: always(bomb("br"), "/", "/a", "/b")},
	{Name: "bomb-zstd", Attacks: "memory: 32 MB in a few KB of zstd", setUp: always(bomb("zstd"), "/", "/a", "/b")},
	{Name: "bomb-tags", Attacks: "memory of a page: 16 MB of tags in little gzip",
		setUp: always(encoded(func() string {
			return strings.Repeat("<a href=x y=z>", 16<<20/14)
		}), "/", "/a", "/b")},
	{Name: "bomb-nested", Attacks: "memory: gzip in gzip, five times",
		setUp: always(func(x *exchange) bool {
			return x.say(page("text/html", nested(), "Content-Encoding: gzip, gzip, gzip, gzip, gzip"))
		}, "/", "/a")},
	{Name: "window-zstd", Attacks: "memory: a zstd frame that asks for a window of 2 GB",
		setUp: always(func(x *exchange) bool {
			return x.say(page("text/html", "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", "Content-Encoding: zstd"))
		}, "/", "/a", "/b")},
	{Name: "coding-lies", Attacks: "decoders: codings that the bodies don't have",
		setUp: always(func(x *exchange) bool {
			codings := []string{"gzip", "br", "zstd", "deflate", "cow", strings.Repeat("gzip, ", 100) + "gzip"}
			return x.say(html("<title>Plain</title>", "Content-Encoding: "+codings[x.nth%len(codings)]))
		}, "/", "/a", "/b", "/c", "/d", "/e")},
	{Name: "coding-noise", Attacks: "decoders: noise behind the first bytes of a coding",
		setUp: always(func(x *exchange) bool {
			coding := []string{"gzip", "br", "zstd", "deflate"}[x.nth%4]
			noise := []byte(compressed(coding, longText))
			for range 1 + len(noise)/8 {
				noise[x.random.IntN(len(noise))] ^= byte(1 + x.random.IntN(255))
			}
			return x.say(page("text/html", string(noise), "Content-Encoding: "+coding))
		}, "/", "/a", "/b", "/c", "/d", "/e", "/f", "/g")},
}

func chunkSizes() map[string]answer {
	answers := map[string]answer{}
	for i, body := range []string{
		"-5\r\nhello\r\n0\r\n\r\n", "five\r\nhello\r\n0\r\n\r\n", "fffffffffffffffff\r\nhello", "5\r\nhello0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
		"7fffffffffffffff\r\nhello", strings.Repeat("0", 10000) + "5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "\r\n\r\n\r\n", "5;\x00\r\nhello\r\n0\r\n\r\n",
	} {
		answers[fmt.Sprintf("/%d", i)] = hangsUp(chunked + body)
	}
	return answers
}

// compressed returns a text in a content coding, or as it is where there is no such coding.
func compressed(coding, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	default:
		return text
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

const bombSize = 32 << 20

var bombs = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

// zeros returns 32 MB of zero bytes in a coding.
func zeros(coding string) string {
	bombs.Lock()
	defer bombs.Unlock()
	if bombs.made[coding] == "" {
		bombs.made[coding] = compressed(coding, strings.Repeat("\x00", bombSize))
	}
	return bombs.made[coding]
}

var nested = sync.OnceValue(func() string {
	text := zeros("gzip")
	for range 4 {
		text = compressed("gzip", text)
	}
	return text
})

func bomb(coding string) answer {
	return func(x *exchange) bool { return x.say(page("text/html", zeros(coding), "Content-Encoding: "+coding)) }
}

// encoded answers with a gzipped page. The page is made once.
func encoded(text func() string) answer {
	once := sync.OnceValue(func() string { return page("text/html", compressed("gzip", text()), "Content-Encoding: gzip") })
	return func(x *exchange) bool { return x.say(once()) }
}
