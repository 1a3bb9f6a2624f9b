package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const plainHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"

func digest(s string) string {
	sum := sha1.Sum([]byte(s))
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func record(kind, block, blockDigest, payloadDigest string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "WARC/1.1\r\nWARC-Type: %s\r\nContent-Length: %d\r\n", kind, len(block))
	if blockDigest != "" {
		fmt.Fprintf(&b, "WARC-Block-Digest: %s\r\n", blockDigest)
	}
	if payloadDigest != "" {
		fmt.Fprintf(&b, "WARC-Payload-Digest: %s\r\n", payloadDigest)
	}
	return b.String() + "\r\n" + block + "\r\n\r\n"
}

func TestChecker(t *testing.T) {
	body := "some text"
	chunks := "4\r\nsome\r\n5\r\n text\r\n0\r\n\r\n"
	for name, test := range map[string]struct {
		record string
		faults int
	}{
		"plain":             {record("response", plainHead+body, digest(plainHead+body), digest(body)), 0},
		"chunked":           {record("response", chunkedHead+chunks, digest(chunkedHead+chunks), digest(body)), 0},
		"chunks cut":        {record("response", chunkedHead+chunks[:16], digest(chunkedHead+chunks[:16]), digest("some tex")), 0},
		"chunks undone":     {record("response", chunkedHead+chunks, digest(chunkedHead+chunks), digest(chunks)), 1},
		"hints before":      {record("response", "HTTP/1.1 103 Early Hints\r\n\r\n"+plainHead+body, digest("HTTP/1.1 103 Early Hints\r\n\r\n"+plainHead+body), digest(body)), 0},
		"revisit":           {record("revisit", plainHead, digest(plainHead), digest(body)), 0},
		"block wrong":       {record("request", "GET / HTTP/1.1\r\n\r\n", digest("x"), ""), 1},
		"both wrong":        {record("response", plainHead+body, digest("x"), digest("x")), 2},
		"none":              {record("response", plainHead+body, "", ""), 2},
		"no payload digest": {record("response", plainHead+body, digest(plainHead+body), ""), 1},
		"block short":       {record("warcinfo", "a: b\r\n", digest("a: b\r\n"), "")[:90], 1},
		"not WARC":          {"GIF89a\r\n\r\n", 1},
		"lengthy":           {"WARC/1.1\r\nContent-Length: 99999999999\r\n\r\n", 1},
	} {
		for _, form := range []string{"plain", "gzip"} {
			t.Run(name+"/"+form, func(t *testing.T) {
				data := []byte(test.record)
				if form == "gzip" {
					data = member(t, data)
				}
				file := filepath.Join(t.TempDir(), "t.warc.gz")
				if err := os.WriteFile(file, data, 0o644); err != nil {
					t.Fatal(err)
				}
				c := checker{require: true}
				if err := c.file(file); err != nil {
					c.fault("%v", err)
				}
				if len(c.faults) != test.faults {
					t.Errorf("%d faults, want %d: %q", len(c.faults), test.faults, c.faults)
				}
			})
		}
	}
}

func TestTwoRecordsInAMember(t *testing.T) {
	one := record("warcinfo", "a: b\r\n", digest("a: b\r\n"), "")
	file := filepath.Join(t.TempDir(), "t.warc.gz")
	if err := os.WriteFile(file, member(t, []byte(one+one)), 0o644); err != nil {
		t.Fatal(err)
	}
	c := checker{}
	if err := c.file(file); err == nil {
		t.Error("two records in one gzip member passed")
	}
}

func member(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
