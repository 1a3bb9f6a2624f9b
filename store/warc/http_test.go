package warc

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseResponse(t *testing.T) {
	tests := []struct {
		name, block string
		want        *Message // nil: ErrCorrupt
	}{
		{"plain", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody", &Message{200, http.Header{"Content-Type": {"text/html"}}, []byte("body")}},
		{"no reason", "HTTP/1.1 404\r\n\r\n", &Message{404, http.Header{}, []byte{}}},
		{"no status", "HTTP/1.1\r\n\r\n", &Message{0, http.Header{}, []byte{}}},
		{"bad status", "HTTP/1.1 2xx Fine\r\n\r\n", &Message{0, http.Header{}, []byte{}}},
		{"line feeds", "HTTP/1.0 200 OK\nA: 1\na: 2\n\nx\n", &Message{200, http.Header{"A": {"1", "2"}}, []byte("x\n")}},
		{"continued", "HTTP/1.1 200 OK\r\nA: 1\r\n\t 2\r\n\r\n", &Message{200, http.Header{"A": {"1 2"}}, []byte{}}},
		{"no colon", "HTTP/1.1 200 OK\r\nwhat\r\nA : 1\r\n\r\n", &Message{200, http.Header{"A": {"1"}}, []byte{}}},
		{"cut in the header", "HTTP/1.1 200 OK\r\nA: 1", &Message{200, http.Header{"A": {"1"}}, nil}},
		{"interim before", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nb", &Message{200, http.Header{}, []byte("b")}},
		{"interim alone", "HTTP/1.1 100 Continue\r\n\r\n", &Message{100, http.Header{}, []byte{}}},
		{"not HTTP", "<html>", nil},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseResponse([]byte(tt.block))
			if diff := cmp.Diff(tt.want, got); diff != "" || (tt.want == nil) != errors.Is(err, ErrCorrupt) {
				t.Errorf("ParseResponse: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestPayload(t *testing.T) {
	tests := []struct {
		name, coding, body, want string
		err                      error
	}{
		{"no coding", "", "3\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", nil},
		{"chunks", "chunked", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: z\r\n\r\n", "abcde", nil},
		{"case and list", "gzip, Chunked", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", nil},
		{"line feeds", "chunked", "3\nabc\n0\n\n", "abc", nil},
		{"empty", "chunked", "0\r\n\r\n", "", nil},
		{"decoded before", "chunked", "<html>\nx", "<html>\nx", nil},
		{"decoded before, with an empty line", "chunked", "\r\n<html>\nx", "\r\n<html>\nx", nil},
		{"empty line for a size", "chunked", "3\r\nabc\r\n\r\nx", "abc", ErrCorrupt},
		{"cut before the first", "chunked", "", "", io.ErrUnexpectedEOF},
		{"cut in a size", "chunked", "3\r\nabc\r\n1", "abc", io.ErrUnexpectedEOF},
		{"cut in a chunk", "chunked", "3\r\nabc\r\n5\r\nde", "abcde", io.ErrUnexpectedEOF},
		{"cut after a chunk", "chunked", "3\r\nabc", "abc", io.ErrUnexpectedEOF},
		{"bad size later", "chunked", "3\r\nabc\r\nzz\r\n", "abc", ErrCorrupt},
		{"no line end after a chunk", "chunked", "3\r\nabcdef\r\n", "abc", ErrCorrupt},
		{"huge size", "chunked", "7fffffffffffffff\r\nabc", "abc", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Message{Header: http.Header{}, Body: []byte(tt.body)}
			if tt.coding != "" {
				m.Header.Set("Transfer-Encoding", tt.coding)
			}
			got, err := m.Payload()
			if string(got) != tt.want || !errors.Is(err, tt.err) || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("Payload = %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// FuzzPayload holds that no block makes the parser panic. A payload is no longer than its block.
func FuzzPayload(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, block []byte) {
		m, err := ParseResponse(block)
		if err != nil {
			return
		}
		payload, err := m.Payload()
		if len(payload) > len(m.Body) || len(m.Body) > len(block) {
			t.Errorf("payload of %d bytes from %d of %d, %v", len(payload), len(m.Body), len(block), err)
		}
	})
}
