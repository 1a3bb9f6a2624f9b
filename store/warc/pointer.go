package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openSuffix marks the file that is being written.
const openSuffix = ".open"

// MaxBlock is the longest block, in bytes, that ReadAt reads into memory. A Reader has no such bound.
const MaxBlock = 1 << 30

// Pointer is the location of a member. The zero pointer points nowhere.
type Pointer struct {
	File   string // name in its directory, without the suffix of an open file
	Offset int64  // bytes from the file's start
	Length int64  // bytes of the member
}

// ReadMember appends to dst the bytes of the member that p points to, in a closed or open file of directory dir.
// With an *Error it returns dst unchanged; the error is ErrCorrupt if the file is too short.
func ReadMember(dst []byte, fs vfs.FS, dir string, p Pointer) ([]byte, error) {
	f, err := openMember(fs, dir, p.File)
	if err != nil {
		return dst, &Error{p.File, p.Offset, err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return dst, &Error{p.File, p.Offset, err}
	}
	if p.Offset < 0 || p.Length <= 0 || p.Length > info.Size() || p.Offset > info.Size()-p.Length {
		return dst, &Error{p.File, p.Offset, fmt.Errorf("%w: %d bytes past the end of %d", ErrCorrupt, p.Length, info.Size())}
	}
	member := make([]byte, p.Length)
	if _, err := f.ReadAt(member, p.Offset); err != nil && err != io.EOF {
		return dst, &Error{p.File, p.Offset, err}
	}
	return append(dst, member...), nil
}

// openMember opens a file that may be closed, that is renamed, at any moment.
func openMember(fs vfs.FS, dir, name string) (f vfs.File, err error) {
	for _, name := range []string{name, name + openSuffix, name} {
		f, err = fs.Open(fs.PathJoin(dir, name), vfs.RandomReadsOption)
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return f, err
}

// ReadAt returns the record, with its block, that p points to in directory dir: a gzip member or an uncompressed
// record. Errors are an *Error. A member that does not end with the record, and a block over MaxBlock, are
// ErrCorrupt too.
func ReadAt(fs vfs.FS, dir string, p Pointer) (*Record, error) {
	member, err := ReadMember(nil, fs, dir, p)
	if err != nil {
		return nil, err
	}
	return decode(member, p)
}

// decode returns the record in a member; p is its location.
func decode(member []byte, p Pointer) (*Record, error) {
	r := NewReader(bytes.NewReader(member), p.File)
	r.src.count = p.Offset
	record, err := r.Next()
	if err == io.EOF {
		err = r.fail(io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	if record.Length > MaxBlock {
		return nil, r.fail(fmt.Errorf("%w: block of %d bytes: want at most %d", ErrCorrupt, record.Length, int64(MaxBlock)))
	}
	var block bytes.Buffer
	block.Grow(int(min(record.Length, 1032*int64(len(member)), 1<<20))) // deflate cannot do better than 1032:1
	if _, err := block.ReadFrom(r); err != nil {
		return nil, err
	}
	record.Block = block.Bytes()
	length, err := r.Finish()
	if err != nil {
		return nil, err
	}
	if length != int64(len(member)) {
		return nil, r.fail(fmt.Errorf("%w: more than one record", ErrCorrupt))
	}
	return record, nil
}
