package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"freshet/weburl"
)

// maxLine bounds a line, maxWindow the memory that a zstd stream may ask for, in bytes.
const (
	maxLine   = 1 << 20
	maxWindow = 128 << 20
)

// Reader reads a trace. It is not for concurrent use.
type Reader struct {
	name    string
	next    func() (weburl.Fingerprint, error)
	closers []io.Closer
}

// Open opens the trace in a file.
func Open(name string) (*Reader, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	r, err := NewReader(file, name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.closers = append(r.closers, file)
	return r, nil
}

// NewReader reads a trace from in; name determines its form and appears in errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name}
	base, ok := strings.CutSuffix(name, ".gz")
	if ok {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("trace: %s: %w", name, unexpected(err))
		}
		in, r.closers = plain, []io.Closer{plain}
	} else if base, ok = strings.CutSuffix(name, ".zst"); ok {
		plain, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("trace: %s: %w", name, err)
		}
		in, r.closers = plain, []io.Closer{plain.IOReadCloser()}
	}
	if strings.HasSuffix(base, ".u64") {
		r.next = r.fingerprints(in)
	} else {
		r.next = r.lines(in)
	}
	return r, nil
}

// unexpected turns io.EOF from an incomplete header into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Next returns the next request, and io.EOF after the last.
func (r *Reader) Next() (weburl.Fingerprint, error) { return r.next() }

// All returns the requests that are left.
func (r *Reader) All() (trace []weburl.Fingerprint, err error) {
	for {
		fp, err := r.Next()
		if err == io.EOF {
			return trace, nil
		}
		if err != nil {
			return nil, err
		}
		trace = append(trace, fp)
	}
}

// Close frees the resources of Open or NewReader, but does not close the in of NewReader.
func (r *Reader) Close() error {
	var faults []error
	for _, c := range r.closers {
		faults = append(faults, c.Close())
	}
	return errors.Join(faults...)
}

func (r *Reader) fingerprints(in io.Reader) func() (weburl.Fingerprint, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	var offset int64
	var word [8]byte
	return func() (weburl.Fingerprint, error) {
		n, err := io.ReadFull(buffered, word[:])
		switch {
		case err == io.EOF:
			return 0, io.EOF
		case err == io.ErrUnexpectedEOF && n > 0:
			return 0, fmt.Errorf("trace: %s: offset %d: %d bytes are left: want fingerprints of 8", r.name, offset, n)
		case err != nil:
			return 0, fmt.Errorf("trace: %s: offset %d: %w", r.name, offset, err)
		}
		offset += int64(len(word))
		return max(1, weburl.Fingerprint(binary.LittleEndian.Uint64(word[:]))), nil
	}
}

func (r *Reader) lines(in io.Reader) func() (weburl.Fingerprint, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 1<<16), maxLine)
	line := 0
	return func() (weburl.Fingerprint, error) {
		for scanner.Scan() {
			line++
			text := strings.TrimSpace(scanner.Text())
			if text == "" {
				continue
			}
			u, err := weburl.Parse(text)
			if err != nil {
				return 0, fmt.Errorf("trace: %s:%d: %w", r.name, line, err)
			}
			return u.Fingerprint(), nil
		}
		if err := scanner.Err(); err != nil {
			return 0, fmt.Errorf("trace: %s:%d: %w", r.name, line+1, err)
		}
		return 0, io.EOF
	}
}
