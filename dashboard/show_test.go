package dashboard

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// bomb is a feed that unpacks to 1 GiB.
type bomb struct {
	Reader
	read int64 // bytes taken of it
}

const bombBytes = 1 << 30

func (b *bomb) Content(string, uint32, time.Time) (Content, error) {
	return Content{Header: http.Header{"Content-Type": {"text/xml"}}, Body: bombBody{b}}, nil
}

type bombBody struct{ bomb *bomb }

func (b bombBody) Read(p []byte) (int, error) {
	left := bombBytes - b.bomb.read
	if left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), left)
	clear(p[:n])
	if b.bomb.read == 0 {
		copy(p, `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">`)
	}
	b.bomb.read += n
	return int(n), nil
}

func (bombBody) Close() error { return nil }

// counting counts the bytes sent, and the largest piece.
type counting struct {
	header         http.Header
	bytes, largest int
}

func (c *counting) Header() http.Header { return c.header }
func (c *counting) WriteHeader(int)     {}
func (c *counting) Write(p []byte) (int, error) {
	c.bytes += len(p)
	c.largest = max(c.largest, len(p))
	return len(p), nil
}

// An unknown hub learns from the start of a page whether it is a feed. The handler sends content in small pieces.
func TestShownInPieces(t *testing.T) {
	b := &bomb{Reader: fake{}}
	h := Handler(Options{Reader: b, Steerer: steered{new([]any)}, HubSecret: theSecret})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, callbackPath+"?"+url.Values{
		"topic": {theFeed}, "hub.topic": {theFeed}, "hub.mode": {"subscribe"}, "hub.challenge": {"echo"}}.Encode(), nil))
	if w.Code != http.StatusOK || b.read == 0 || b.read > maxFeedHead {
		t.Errorf("%d: %d bytes were decoded, want at most %d", w.Code, b.read, maxFeedHead)
	}
	b.read = 0
	c := &counting{header: http.Header{}}
	h.ServeHTTP(c, httptest.NewRequest(http.MethodGet, "/api/v1/content?url=http://a.test/", nil))
	if c.bytes != bombBytes || c.largest > 2*showBuffer {
		t.Errorf("%d bytes were sent, in pieces of up to %d", c.bytes, c.largest)
	}
}

// broken breaks in the middle.
type broken struct{ Reader }

func (broken) Content(string, uint32, time.Time) (Content, error) {
	in, out := io.Pipe()
	go func() {
		out.Write(make([]byte, 2*showBuffer))
		out.CloseWithError(gzip.ErrChecksum)
	}()
	return Content{Body: in}, nil
}

func TestBrokenInTheMiddle(t *testing.T) {
	server := httptest.NewServer(Handler(Options{Reader: broken{fake{}}}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/api/v1/content?url=http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("a body that breaks was sent as a whole one")
	}
}
