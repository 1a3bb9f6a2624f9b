package warc

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/gzip"
)

// ErrCorrupt matches every fault in the format. If a file or member ends before its record, the error matches
// io.ErrUnexpectedEOF too.
var ErrCorrupt = errors.New("warc: corrupt")

// Error says where reading failed. Its cause is an ErrCorrupt or the file system's.
type Error struct {
	File   string
	Offset int64 // of the record, in bytes from the file's start
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("warc: %s at %d: %v", e.File, e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reader reads the records of a file in order: compressed, a gzip member each, as we write it;
// uncompressed; or several records to a gzip member. Memory is bounded by the longest header
// (256 KiB), whatever the file holds. It is not safe for concurrent use.
type Reader struct {
	name string
	file io.Closer
	src  source
	raw  *bufio.Reader // the file's bytes
	text *bufio.Reader // the records' bytes: raw, or over gzip
	gzip *gzip.Reader  // nil before the first member

	start  int64 // where the record, or its member, begins
	left   int64 // bytes of the block not yet read
	open   bool  // a record has been begun and not finished
	within bool  // text is inside a member, at a further record
	shared bool  // the record is not alone in its member
	err    error // what ended the reading
}

// source counts the bytes of a file and remembers its failure, which is not the format's.
type source struct {
	in    io.Reader
	count int64
	err   error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.count += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// NewReader returns a reader of the records in in. Errors name the file.
func NewReader(in io.Reader, name string) *Reader {
	r := &Reader{name: name, src: source{in: in}}
	r.raw = bufio.NewReaderSize(&r.src, 64<<10)
	return r
}

// Open returns a reader of the file at path; close it.
func Open(fs vfs.FS, path string) (*Reader, error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, fmt.Errorf("warc: open: %w", err)
	}
	r := NewReader(f, fs.PathBase(path))
	r.file = f
	return r, nil
}

// Close closes a file that Open opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Next finishes the current record and returns the header of the next one; Read then reads its block. At the file's
// end the error is io.EOF. Other errors are an *Error, and every later call returns the same one.
func (r *Reader) Next() (*Record, error) {
	if r.open {
		if _, err := r.Finish(); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	r.shared = r.within
	if !r.within {
		if err := r.begin(); err != nil {
			return nil, r.fail(err)
		}
	}
	record, err := readHeader(r.text)
	if err != nil {
		return nil, r.fail(noEOF(err))
	}
	r.open, r.left = true, record.Length
	return record, nil
}

// begin moves text to the start of a member, or of a record in an uncompressed file. Its error is io.EOF at the
// file's end.
func (r *Reader) begin() error {
	r.start = r.offset()
	magic, err := r.raw.Peek(2)
	if len(magic) == 0 {
		return err
	}
	if r.gzip == nil && (len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b) {
		r.text = r.raw
		return nil
	}
	if r.gzip == nil {
		r.gzip = new(gzip.Reader)
		r.text = bufio.NewReaderSize(nil, 16<<10)
	}
	if err := r.gzip.Reset(r.raw); err != nil {
		return noEOF(err)
	}
	r.gzip.Multistream(false)
	r.text.Reset(r.gzip)
	return nil
}

// offset returns the position in the file.
func (r *Reader) offset() int64 { return r.src.count - int64(r.raw.Buffered()) }

// Offset returns where the current record begins, in bytes from the file's start: its gzip member
// if the file is compressed.
func (r *Reader) Offset() int64 { return r.start }

// Read reads from the block of the current record; io.EOF at the block's end.
func (r *Reader) Read(p []byte) (int, error) {
	if r.left == 0 || !r.open {
		return 0, io.EOF
	}
	n, err := r.text.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err != nil && r.left > 0 {
		return n, r.fail(noEOF(err))
	}
	return n, nil
}

// Finish reads the rest of the current record, checks its end and the checksum of a gzip member, and returns its
// length in the file. Offset and length make a pointer for ReadAt. The length is 0 if the record shares its gzip
// member with others: then it can only be read in order.
func (r *Reader) Finish() (length int64, err error) {
	if !r.open {
		return 0, r.err
	}
	r.open = false
	if err := r.skip(); err != nil {
		return 0, r.fail(noEOF(err))
	}
	if r.gzip != nil {
		switch _, err := r.text.Peek(1); err {
		case nil:
			r.within, r.shared = true, true
		case io.EOF:
			r.within = false
		default:
			return 0, r.fail(err)
		}
	}
	if r.shared {
		return 0, nil
	}
	return r.offset() - r.start, nil
}

// skip reads the rest of the block and what follows it.
func (r *Reader) skip() error {
	for r.left > 0 {
		n, err := r.text.Discard(int(min(r.left, 1<<20)))
		r.left -= int64(n)
		if err != nil {
			return err
		}
	}
	end, err := r.text.Peek(len(recordEnd))
	if string(end) != recordEnd {
		if err == nil {
			err = fmt.Errorf("%w: block ends with %q", ErrCorrupt, end)
		}
		return err
	}
	_, err = r.text.Discard(len(recordEnd))
	return err
}

// fail ends the reading.
func (r *Reader) fail(err error) error {
	r.open = false
	switch {
	case err == io.EOF && r.src.err == nil:
		r.err = io.EOF
		return r.err
	case r.src.err != nil:
		err = r.src.err
	case !errors.Is(err, ErrCorrupt):
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r.err = &Error{File: r.name, Offset: r.start, Err: err}
	return r.err
}
