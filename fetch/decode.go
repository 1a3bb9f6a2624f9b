package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxCodings is how many content codings a body may have, one inside another.
const maxCodings = 3

// maxWindow bounds the memory that one zstd stream may ask for, in bytes: what RFC 9659 allows the
// zstd content coding.
const maxWindow = 8 << 20

// ErrCoding is wrapped by the errors of Decode for an unknown Content-Encoding or too many of them.
var ErrCoding = errors.New("unknown content coding")

// Room reserves that many more bytes of memory before they are used, and may wait. After an error they are not
// used. A nil Room grants every request.
type Room func(bytes int64) error

func (room Room) ask(bytes int64) error {
	if room == nil || bytes <= 0 {
		return nil
	}
	return room(bytes)
}

// DecodeHeld returns the most bytes of memory that Decode may take for content of limit bytes.
func DecodeHeld(limit int64) int64 { return limit + 1 + maxWindows }

// windows are the bytes that the decoder of each coding may take. maxWindows is what the decoders of one body may
// take together.
var windows = map[string]int64{
	"gzip": 64 << 10, "x-gzip": 64 << 10, "deflate": 64 << 10, "br": 17 << 20, "zstd": maxWindow + 1<<20,
}

const maxWindows = 28 << 20

// Decode undoes the content codings that header names (gzip, deflate, br, zstd, at most three on top of each other). It
// returns at most limit bytes; truncated means that there were more. For a broken stream it returns what came before
// the break, and an error. If header names no coding, data is body itself. Memory is bounded by limit and the codings'
// windows, however far the body expands. It keeps no state and may be called concurrently.
func Decode(header http.Header, body []byte, limit int64) (data []byte, truncated bool, err error) {
	codings, err := contentCodings(header)
	if err != nil {
		return nil, false, err
	}
	if len(codings) == 0 || len(body) == 0 {
		return cut(body, limit)
	}
	return decode(codings, bytes.NewReader(body), len(body), limit, new([]byte), nil)
}

// Reader returns a reader of a body that undoes the content codings that header names. Its memory depends only on
// the codings' windows. The caller must close it. For unknown codings it returns the same error as Decode.
func Reader(header http.Header, body []byte) (io.ReadCloser, error) {
	codings, err := contentCodings(header)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		codings = nil
	}
	stream, closeAll, err := decoders(codings, bytes.NewReader(body))
	return decoded{stream, closeAll}, err
}

// decoded is a stream with the decoders under it.
type decoded struct {
	io.Reader
	closeAll func()
}

// Close implements io.Closer.
func (d decoded) Close() error {
	d.closeAll()
	return nil
}

// decoders wraps a stream in a decoder for each coding. closeAll frees them.
func decoders(codings []string, stream io.Reader) (_ io.Reader, closeAll func(), err error) {
	var closers []io.Closer
	closeAll = func() {
		for _, c := range closers {
			c.Close()
		}
	}
	for _, coding := range slices.Backward(codings) {
		next, err := decoder(coding, stream)
		if err != nil {
			closeAll()
			return nil, func() {}, fmt.Errorf("fetch: content coding %q: %w", coding, err)
		}
		if closer, ok := next.(io.Closer); ok {
			closers = append(closers, closer)
		}
		stream = next
	}
	return stream, closeAll, nil
}

// cut returns the first limit bytes of a body, and whether there were more.
func cut(body []byte, limit int64) (data []byte, truncated bool, err error) {
	n := min(int64(len(body)), limit)
	return body[:n:n], n < int64(len(body)), nil
}

// decode reads a body of length bytes through its codings.
func decode(codings []string, stream io.Reader, length int, limit int64, scratch *[]byte, room Room) (data []byte, truncated bool, err error) {
	for _, coding := range codings {
		if err := room.ask(windows[coding]); err != nil {
			return nil, false, fmt.Errorf("fetch: content coding %q: %w", coding, err)
		}
	}
	stream, closeAll, err := decoders(codings, stream)
	if err != nil {
		return nil, false, err
	}
	defer closeAll()
	expected := int64(length)
	if len(codings) > 0 {
		expected *= 4
	}
	data, err = readAll(stream, expected, limit, *scratch, room)
	if *scratch = data; err != nil {
		return data, false, fmt.Errorf("fetch: content coding %q: %w", strings.Join(codings, ", "), err)
	}
	if int64(len(data)) == limit {
		n, _ := io.ReadFull(stream, make([]byte, 1))
		truncated = n > 0
	}
	return data, truncated, nil
}

// firstContent is how many bytes of content are read at first, at most.
const firstContent = 1 << 20

// readAll reads a stream into scratch, to its end or limit bytes of it. expected is the likely length. A buffer
// that is too small is replaced by one of twice its size.
func readAll(stream io.Reader, expected, limit int64, scratch []byte, room Room) (data []byte, err error) {
	if data = scratch[:0]; cap(data) == 0 {
		size := min(max(expected, 512)+1, firstContent, limit+1)
		if err := room.ask(size); err != nil {
			return nil, err
		}
		data = make([]byte, 0, size)
	}
	for {
		n, err := stream.Read(data[len(data):min(int64(cap(data)), limit)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF, int64(len(data)) == limit:
			return data, nil
		case err != nil:
			return data, err
		case len(data) < cap(data):
			continue
		}
		more := min(int64(cap(data)), limit+1-int64(cap(data)))
		if err := room.ask(more); err != nil {
			return data, err
		}
		data = append(make([]byte, 0, int64(cap(data))+more), data...)
	}
}

// Read implements io.Reader.
func (r *pieceReader) Read(p []byte) (n int, err error) {
	for len(r.piece) == 0 {
		if !r.next() {
			return 0, io.EOF
		}
	}
	n = copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// contentCodings returns the codings that Content-Encoding names, in the order of application, without identity. It
// returns an error that wraps ErrCoding if there are too many, or if their decoders would take more than maxWindows
// bytes.
func contentCodings(header http.Header) ([]string, error) {
	var codings []string
	var held int64
	for _, value := range header["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "" && name != "identity" {
				codings = append(codings, name)
				held += windows[name]
			}
			if len(codings) > maxCodings || held > maxWindows {
				return nil, fmt.Errorf("fetch: content codings %.80q: %w", value, ErrCoding)
			}
		}
	}
	return codings, nil
}

// decoder returns a reader of one coding's content.
func decoder(coding string, in io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		return gzipMembers{r}, nil
	case "deflate":
		return inflater(in)
	case "br":
		return brotli.NewReader(in), nil
	case "zstd":
		d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, ErrCoding
}

// gzipMembers reads gzip members one after another. Bytes after a member that are not a member end it without an
// error, as in browsers: servers append line ends and padding.
type gzipMembers struct{ *gzip.Reader }

func (g gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if errors.Is(err, gzip.ErrHeader) {
		err = io.EOF
	}
	return n, err
}

// inflater reads the deflate coding. The standard says zlib; some servers send bare deflate.
func inflater(in io.Reader) (io.Reader, error) {
	head := make([]byte, 2)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	in = io.MultiReader(bytes.NewReader(head[:n]), in)
	// RFC 1950 section 2.2: method 8, and the two bytes together a multiple of 31.
	if n == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}
