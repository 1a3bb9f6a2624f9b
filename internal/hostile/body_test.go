package hostile

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/clock"
	"freshet/store"
)

// zipped returns size zeros in gzip: members of 16 MiB, each 16 KiB compressed.
func zipped(t *testing.T, size int) string {
	t.Helper()
	const member = 16 << 20
	var one bytes.Buffer
	w := gzip.NewWriter(&one)
	if _, err := w.Write(make([]byte, member)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.Repeat(one.String(), size/member)
}

func TestCompressionBombs(t *testing.T) {
	bomb := zipped(t, 512<<20)
	var nested bytes.Buffer
	w := gzip.NewWriter(&nested)
	w.Write([]byte(bomb))
	w.Close()
	encoded := func(coding, body string) string {
		return strings.Replace(page("text/html", body), "\r\n", "\r\nContent-Encoding: "+coding+"\r\n", 1)
	}
	trial{
		evil: server{answer: site(map[string]string{
			"/bomb":   encoded("gzip", bomb),
			"/nested": encoded("gzip, gzip", nested.String()),
			"/stack":  encoded("gzip, gzip, gzip, gzip, gzip", nested.String()),
			"/lie":    encoded("gzip", "no gzip at all"),
		})},
		seeds: []string{"/bomb", "/nested", "/stack", "/lie"},
		explains: map[string]string{
			"/bomb": "fetch: truncated-length", "/nested": "fetch: truncated-length",
			"/stack": "fetch: truncated-unspecified", "/lie": "fetch: truncated-unspecified",
		},
	}.run(t)
}

// The crawl stores an archive as it came and unpacks nothing.
func TestZipOfAZip(t *testing.T) {
	body := []byte(strings.Repeat("<a href=/inside>inside</a>", 1000))
	for range 3 {
		var archive bytes.Buffer
		w := zip.NewWriter(&archive)
		file, err := w.Create("inside.zip")
		if err != nil {
			t.Fatal(err)
		}
		file.Write(body)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		body = archive.Bytes()
	}
	trial{
		evil:     server{answer: site(map[string]string{"/": page("application/zip", string(body)), "/html": page("text/html", string(body))})},
		seeds:    []string{"/", "/html"},
		explains: map[string]string{"/": "", "/html": "", "/inside": "seen: unknown"},
	}.run(t)
}

// drip writes text a byte a second.
func drip(out io.Writer, text string) bool {
	for i := range len(text) {
		if _, err := io.WriteString(out, text[i:i+1]); err != nil {
			return false
		}
		if clock.Real().Sleep(context.Background(), time.Second) != nil {
			return false
		}
	}
	return true
}

func TestByteASecond(t *testing.T) {
	text := html(strings.Repeat("words ", 1000))
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			switch r.URL.Path {
			case "/header":
				return drip(out, head+"\r\nX-Long: "+strings.Repeat("x", 1000))
			case "/body":
				_, err := io.WriteString(out, head+"\r\n\r\n")
				return err == nil && drip(out, body)
			}
			return clock.Real().Sleep(context.Background(), time.Hour) == nil // nothing at all
		})},
		seeds: []string{"/header", "/body", "/silence"},
		explains: map[string]string{
			"/header": "fetch: timed-out", "/body": "fetch: truncated-time", "/silence": "fetch: timed-out",
		},
	}.run(t)
}

// endless writes head, and then piece over and over until the other side has gone.
func endless(out io.Writer, head, piece string) bool {
	_, err := io.WriteString(out, head)
	for err == nil {
		_, err = io.WriteString(out, piece)
	}
	return false
}

func TestBodiesWithoutEnd(t *testing.T) {
	block := strings.Repeat("x", 32<<10)
	chunked := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
	forms := map[string][2]string{
		"/close":     {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", block},
		"/length":    {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1099511627776\r\n\r\n", block},
		"/chunks":    {chunked, "8000\r\n" + block + "\r\n"},
		"/tiny":      {chunked, strings.Repeat("1\r\nx\r\n", 4000)},
		"/extension": {chunked + "5;", "an=extension;"},
		"/size":      {chunked, "0"},
		"/trailer":   {chunked + "0\r\n", "X-Trailer: " + strings.Repeat("x", 1000) + "\r\n"},
		"/interim":   {"", "HTTP/1.1 100 Continue\r\n\r\n"},
	}
	trial{
		evil: server{answer: each(func(out io.Writer, r *http.Request) bool {
			form := forms[r.URL.Path]
			return endless(out, form[0], form[1])
		})},
		seeds: []string{"/close", "/length", "/chunks", "/tiny", "/extension", "/size", "/trailer", "/interim"},
		explains: map[string]string{
			"/close": "fetch: truncated-length", "/length": "fetch: truncated-length", "/chunks": "fetch: truncated-length",
			"/tiny": "fetch: truncated-length", "/extension": "fetch: malformed", "/size": "fetch: malformed",
			"/trailer": "fetch: malformed", "/interim": "fetch: header-too-large",
		},
	}.run(t)
}

func TestContentLengths(t *testing.T) {
	body := "<title>Lengths</title>It is as long as it is."
	with := func(lines string) string {
		return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines + "\r\n\r\n" + body
	}
	right := fmt.Sprintf("Content-Length: %d", len(body))
	trial{
		evil: server{answer: site(map[string]string{
			"/long":     with("Content-Length: 1000"),
			"/short":    with("Content-Length: 10"),
			"/same":     with(right + "\r\n" + right),
			"/double":   with(right + "\r\nContent-Length: 7"),
			"/list":     with(right + ", 7"),
			"/negative": with("Content-Length: -1"),
			"/huge":     with("Content-Length: 99999999999999999999999999"),
			"/plus":     with("Content-Length: +10"),
			"/both":     with(right + "\r\nTransfer-Encoding: chunked"),
		}, "/long", "/short", "/same", "/double", "/list", "/negative", "/huge", "/plus", "/both")},
		seeds: []string{"/long", "/short", "/same", "/double", "/list", "/negative", "/huge", "/plus", "/both"},
		explains: map[string]string{
			"/long": "fetch: truncated-disconnect", "/short": "", "/same": "", "/double": "fetch: malformed", "/list": "fetch: malformed",
			// chunked, by RFC 9112
			"/negative": "fetch: malformed", "/huge": "fetch: malformed", "/plus": "fetch: malformed", "/both": "fetch: truncated-disconnect",
		},
	}.run(t)
}

func TestChunking(t *testing.T) {
	chunks := func(body string) string {
		return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n" + body
	}
	pages := map[string]string{
		"/negative": chunks("-5\r\nhello\r\n0\r\n\r\n"),
		"/word":     chunks("five\r\nhello\r\n0\r\n\r\n"),
		"/overflow": chunks("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
		"/missing":  chunks("5\r\nhello0\r\n\r\n"),
		"/prefix":   chunks("0x5\r\nhello\r\n0\r\n\r\n"),
		"/huge":     chunks("7fffffffffffffff\r\nhello"),
		"/twice":    strings.Replace(chunks("5\r\nhello\r\n0\r\n\r\n"), "chunked\r\n", "chunked\r\nTransfer-Encoding: chunked\r\n", 1),
		"/unknown":  strings.Replace(chunks("5\r\nhello\r\n0\r\n\r\n"), "chunked", "cow", 1),
		"/good":     chunks("5;name=value\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: fine\r\n\r\n"),
	}
	explains, seeds := map[string]string{}, []string{}
	for _, path := range []string{"/negative", "/word", "/overflow", "/missing", "/prefix", "/huge", "/twice", "/unknown", "/good"} {
		explains[path], seeds = "fetch: malformed", append(seeds, path)
	}
	explains["/good"] = ""
	trial{evil: server{answer: site(pages, seeds...)}, seeds: seeds, explains: explains}.run(t)
}

// The answer to one request carries a second one, for the request that comes next on the connection.
func TestResponseSplitting(t *testing.T) {
	injected := html("<title>Injected</title><a href=/injected>not of this site</a>")
	pages := map[string]string{
		"/":        html("<title>Start</title><a href=/split>split</a>"),
		"/split":   page("text/html", "<a href=/victim>the victim</a>") + injected,
		"/victim":  html("<title>Victim</title>The victim's own words. <a href=/header>on</a>"),
		"/header":  "HTTP/1.1 302 Found\r\nX-Name: value\rLocation: /injected\r\nContent-Length: 0\r\n\r\n",
		"/nothing": status(http.StatusNoContent) + injected,
	}
	trial{
		evil:     server{answer: site(pages)},
		seeds:    []string{"/", "/nothing"},
		explains: map[string]string{"/split": "", "/victim": "", "/header": "fetch: 302", "/injected": "seen: unknown"},
		check: func(t *testing.T, n *network, s *store.Store) {
			row, fp, err := s.PageOf((&trial{}).url(t, "http://evil.test/victim"))
			if err != nil {
				t.Fatal(err)
			}
			version, err := s.Version(row.URL.Partition(s.Partitions()), fp, row.Versions)
			if err != nil {
				t.Fatal(err)
			}
			body, err := s.Body(version.Capture)
			if err != nil || !strings.Contains(string(body.Payload), "own words") {
				t.Errorf("the victim is stored as %+v, error %v", body, err)
			}
		},
	}.run(t)
}
