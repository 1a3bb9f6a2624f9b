package warc

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Copy copies the records of the WARC file at path to w, unchanged, if keep accepts their target (nil: all) or if they
// have none. From an open file it copies only whole records. The errors are those of keep and of reading, and an *Error
// with ErrCorrupt for a record that shares its gzip member with others. It reads the file once and the copied parts
// again. Memory is one record's header.
func Copy(w io.Writer, fs vfs.FS, path string, keep func(target string) (bool, error)) (err error) {
	r, err := Open(fs, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	raw, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	open := strings.HasSuffix(path, openSuffix)
	for {
		at, length, kept, err := nextKept(r, keep)
		switch {
		case err == io.EOF, open && errors.Is(err, ErrCorrupt):
			return nil
		case err != nil:
			return err
		case !kept:
			continue
		}
		if _, err := io.Copy(w, io.NewSectionReader(raw, at, length)); err != nil {
			return err
		}
	}
}

// nextKept returns where the next record is and whether keep accepts it.
func nextKept(r *Reader, keep func(target string) (bool, error)) (at, length int64, kept bool, err error) {
	record, err := r.Next()
	if err != nil {
		return 0, 0, false, err
	}
	kept = true
	if keep != nil && record.TargetURI != "" {
		if kept, err = keep(record.TargetURI); err != nil {
			return 0, 0, false, err
		}
	}
	if length, err = r.Finish(); err == nil && length == 0 {
		err = r.fail(fmt.Errorf("%w: several records in one gzip member", ErrCorrupt))
	}
	return r.Offset(), length, kept, err
}
