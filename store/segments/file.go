package segments

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/objects"
	"freshet/store/warc"
)

// file is a moved segment, opened for reading. Read reads some MiB at a time from the store, and checks the digest
// at the end. ReadAt reads through the cache.
type file struct {
	s       *Segments
	segment Segment
	in      io.Reader
	sum     hash.Hash
}

var _ vfs.File = (*file)(nil)

func (s *Segments) open(segment Segment) *file {
	return &file{s: s, segment: segment, sum: sha256.New(), in: objects.Reader(s.ctx, s.options.Store, objectName(segment.Name), segment.Bytes)}
}

// fault distinguishes a lost or cut object from a store that does not answer, or has nothing at all: its disk is not
// mounted.
func (f *file) fault(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.s.checkMarker(f.s.ctx, f.s.Identity().Directory); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s has no %s any more", warc.ErrCorrupt, f.s.options.Store, objectName(f.segment.Name))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", warc.ErrCorrupt, err)
	}
	return err
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.sum.Write(p[:n])
	switch {
	case err == io.EOF && f.segment.SHA256 != "" && f.segment.SHA256 != hex.EncodeToString(f.sum.Sum(nil)):
		return n, fmt.Errorf("%w: %s in %s has other bytes than were uploaded", warc.ErrCorrupt, objectName(f.segment.Name), f.s.options.Store)
	case err != nil && err != io.EOF:
		return n, f.fault(err)
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		if offset >= f.segment.Bytes {
			return n, io.EOF
		}
		block, err := f.block(offset / blockBytes)
		if err != nil {
			return n, f.fault(err)
		}
		done := copy(p[n:], block[offset%blockBytes:])
		n, offset = n+done, offset+int64(done)
	}
	return n, nil
}

// block returns a block of the object, from the cache or the store.
func (f *file) block(i int64) ([]byte, error) {
	name, size := f.segment.Name, min(blockBytes, f.segment.Bytes-i*blockBytes)
	if b := f.s.cache.get(name, i); int64(len(b)) == size {
		return b, nil
	}
	b := make([]byte, size)
	n, err := f.s.options.Store.ReadAt(f.s.ctx, objectName(name), b, i*blockBytes)
	if int64(n) < size {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%s in %s ends early: %w", objectName(name), f.s.options.Store, io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	f.s.cache.put(name, i, b, func() bool { _, ok := f.s.Moved(name); return ok })
	return b, nil
}

// Close implements io.Closer.
func (f *file) Close() error { return nil }

// Stat implements vfs.File.
func (f *file) Stat() (vfs.FileInfo, error) { return info{f.segment}, nil }

// A segment is never changed: the rest of vfs.File is for files that are.

func (f *file) Write([]byte) (int, error)          { return 0, errors.ErrUnsupported }
func (f *file) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (f *file) Preallocate(int64, int64) error     { return errors.ErrUnsupported }
func (f *file) Sync() error                        { return nil }
func (f *file) SyncTo(int64) (bool, error)         { return true, nil }
func (f *file) SyncData() error                    { return nil }
func (f *file) Prefetch(int64, int64) error        { return nil }
func (f *file) Fd() uintptr                        { return vfs.InvalidFd }

// info describes a moved segment.
type info struct{ segment Segment }

func (i info) Name() string           { return i.segment.Name }
func (i info) Size() int64            { return i.segment.Bytes }
func (i info) Mode() os.FileMode      { return 0o400 }
func (i info) ModTime() time.Time     { return time.Time{} }
func (i info) IsDir() bool            { return false }
func (i info) Sys() any               { return nil }
func (i info) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
