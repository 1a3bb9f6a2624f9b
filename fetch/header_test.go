package fetch

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// TestStandardReader shows why a header is not read by the standard library, as decision 10 says: a stray line costs
// the page, and a Content-Length beside chunks is hidden.
func TestStandardReader(t *testing.T) {
	for _, stray := range []string{"nonsense", ": none", " folded: at once"} {
		block := "HTTP/1.1 200 OK\r\n" + stray + "\r\nContent-Length: 2\r\n\r\n"
		if _, err := http.ReadResponse(bufio.NewReader(strings.NewReader(block+"ok")), nil); err == nil {
			t.Errorf("%q: the standard library reads it", stray)
		}
		h, err := parseHead(block)
		if err != nil || h.status != http.StatusOK || h.header.Get("Content-Length") != "2" {
			t.Errorf("%q: read as %v, %v", stray, h, err)
		}
	}
	const both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(both+"0\r\n\r\n")), nil)
	if err != nil || r.Header.Get("Content-Length") != "" || r.ContentLength != -1 {
		t.Errorf("the standard library tells of the length: %v, %v", r, err)
	}
	h, err := parseHead(both)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := h.framing(); err != nil || f.kind != byChunks || f.sole {
		t.Errorf("framing %+v, %v: want chunks that are not trusted", f, err)
	}
}
