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

// maxCodings is how many content codings may lie on top of each other.
const maxCodings = 3

// maxWindow bounds the memory that one zstd stream may ask for, in bytes: what RFC 9659 allows the
// zstd content coding.
const maxWindow = 8 << 20

// ErrCoding is wrapped by the errors of Decode for a Content-Encoding that it does not know or that is
// stacked too deep.
var ErrCoding = errors.New("unknown content coding")

// Decode undoes the content codings that header names (gzip, deflate, br, zstd, at most three on top
// of each other). It returns at most limit bytes; truncated tells that there were more. A broken
// stream gives what could be read before the break, and an error. Where no coding is named, data is
// body itself. Memory is bounded by limit and the codings' windows, however far the body expands. It
// keeps no state and may be called concurrently.
func Decode(header http.Header, body []byte, limit int64) (data []byte, truncated bool, err error) {
	codings := contentCodings(header)
	if len(codings) > maxCodings {
		return nil, false, fmt.Errorf("fetch: %d content codings, at most %d: %w", len(codings), maxCodings, ErrCoding)
	}
	if len(codings) == 0 || len(body) == 0 {
		cut := min(int64(len(body)), limit)
		return body[:cut:cut], cut < int64(len(body)), nil
	}
	var stream io.Reader = bytes.NewReader(body)
	for _, coding := range slices.Backward(codings) {
		next, err := decoder(coding, stream)
		if err != nil {
			return nil, false, fmt.Errorf("fetch: content coding %q: %w", coding, err)
		}
		if closer, ok := next.(io.Closer); ok {
			defer closer.Close()
		}
		stream = next
	}
	var out bytes.Buffer
	out.Grow(int(min(limit, 4*int64(len(body))) + bytes.MinRead))
	_, err = out.ReadFrom(io.LimitReader(stream, limit))
	data = out.Bytes()
	if err != nil {
		return data, false, fmt.Errorf("fetch: content coding %q: %w", strings.Join(codings, ", "), err)
	}
	if int64(len(data)) == limit {
		n, _ := io.ReadFull(stream, make([]byte, 1))
		truncated = n > 0
	}
	return data, truncated, nil
}

// contentCodings lists what Content-Encoding names, in the order of application, without identity.
func contentCodings(header http.Header) []string {
	var codings []string
	for _, value := range header["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "" && name != "identity" {
				codings = append(codings, name)
			}
		}
	}
	return codings
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

// gzipMembers reads gzip members one after the other and ends quietly at bytes behind a member that
// are not another one, as browsers do: servers append line ends and padding.
type gzipMembers struct{ *gzip.Reader }

func (g gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if errors.Is(err, gzip.ErrHeader) {
		err = io.EOF
	}
	return n, err
}

// inflater reads the deflate coding, which is zlib by the standard and bare deflate by some servers.
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
