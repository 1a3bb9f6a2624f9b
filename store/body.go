package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"freshet/store/warc"
)

// Body is a captured HTTP response.
type Body struct {
	URL       string
	At        time.Time // start of the capture
	Status    int
	Header    http.Header
	Payload   []byte // the entity body: transfer-decoded, still content-encoded
	Truncated string // as in WARC-Truncated
	Revisit   bool   // an answer that an earlier capture has the body of; Payload is empty
}

// Body reads a captured response. Errors are ErrNotFound for the zero Pointer, ErrCorrupt, and those
// of the file system. A capture is readable as soon as a row names it.
func (s *Store) Body(at Pointer) (*Body, error) {
	if at.IsZero() {
		return nil, fmt.Errorf("%w: no capture", ErrNotFound)
	}
	r, err := warc.ReadAt(s.fs, s.dir.join(warcDir), warc.Pointer{File: at.File, Offset: at.Offset, Length: at.Length})
	if err != nil {
		return nil, captureError(err)
	}
	b := &Body{URL: r.TargetURI, At: r.Date, Truncated: string(r.Truncated), Revisit: r.Type == warc.Revisit}
	if r.Type != warc.Response && r.Type != warc.Revisit {
		return nil, fmt.Errorf("%w: capture at %s:%d is a %s record: want a response", ErrCorrupt, at.File, at.Offset, r.Type)
	}
	m, err := warc.ParseResponse(r.Block)
	if err != nil {
		return nil, captureError(err)
	}
	b.Status, b.Header = m.Status, m.Header
	if b.Revisit {
		return b, nil
	}
	if b.Payload, err = m.Payload(); err != nil && b.Truncated == "" {
		return nil, captureError(err)
	}
	return b, nil
}

func captureError(err error) error {
	if errors.Is(err, warc.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("store: read capture: %w", err)
}

// Content returns the payload without its content coding (gzip, deflate, br, zstd, in any order),
// of at most limit bytes; longer content is an error. An unknown coding is an error too.
func (b *Body) Content(limit int64) ([]byte, error) {
	content := b.Payload
	for _, coding := range slices.Backward(codings(b.Header)) {
		decoder, err := newDecoder(coding, content)
		if err != nil {
			return nil, fmt.Errorf("store: body of %s: %w", b.URL, err)
		}
		content, err = io.ReadAll(io.LimitReader(decoder, limit+1))
		if err = errors.Join(err, decoder.Close()); err != nil {
			return nil, fmt.Errorf("store: body of %s: %s: %w", b.URL, coding, err)
		}
		if int64(len(content)) > limit {
			return nil, fmt.Errorf("store: body of %s: over %d bytes when decoded", b.URL, limit)
		}
	}
	return content, nil
}

// codings lists the content codings of a response in the order in which they were applied.
func codings(h http.Header) (list []string) {
	for _, value := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(value, ",") {
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && coding != "identity" {
				list = append(list, coding)
			}
		}
	}
	return list
}

func newDecoder(coding string, content []byte) (io.ReadCloser, error) {
	if len(content) == 0 {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(bytes.NewReader(content))
	case "deflate": // zlib's format by the standard; some servers send it bare
		if r, err := zlib.NewReader(bytes.NewReader(content)); err == nil {
			return r, nil
		}
		return flate.NewReader(bytes.NewReader(content)), nil
	case "br":
		return io.NopCloser(brotli.NewReader(bytes.NewReader(content))), nil
	case "zstd":
		r, err := zstd.NewReader(bytes.NewReader(content), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("content coding %q: want gzip, deflate, br or zstd", coding)
}

// Files returns the paths of the WARC files, in the order in which they were begun. The one that is
// being written ends in ".open".
func (s *Store) Files() ([]string, error) {
	dir := s.dir.join(warcDir)
	names, err := s.fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	paths := names[:0]
	for _, name := range names {
		if strings.HasSuffix(strings.TrimSuffix(name, ".open"), ".warc.gz") {
			paths = append(paths, s.fs.PathJoin(dir, name))
		}
	}
	return paths, nil
}
