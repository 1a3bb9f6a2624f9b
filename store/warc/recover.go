package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Recovered is what Recover did to a file.
type Recovered struct {
	File    string // name, now without the suffix of an open file
	Bytes   int64  // length kept
	Cut     int64  // bytes of the torn tail that were dropped
	Removed bool   // the file held no capture and is gone
}

// mendSuffix is the suffix of the copy that replaces a file that cannot be cut in place.
const mendSuffix = ".mend"

// Recover closes the files in directory dir that a crash left open, in the order of their names. It cuts each file
// at its first faulty record, removes the file if only a warcinfo record is left, and removes the suffix from its
// name. After a crash during Recover the next call completes it. No Writer may be open in dir. An error of the file
// system ends it; what was done by then is returned too.
//
// durable is the last Extent that a Writer returned, or zero. Recover keeps that part of its file unread, and reads
// only the rest. It reads other open files from their beginning; each has at most MaxBytes and one capture.
func Recover(fs vfs.FS, dir string, durable Extent) ([]Recovered, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("warc: recover: %w", err)
	}
	slices.Sort(names)
	var done []Recovered
	for _, name := range names {
		whole, ok := strings.CutSuffix(name, openSuffix)
		if !ok {
			continue
		}
		var known int64
		if whole == durable.File {
			known = durable.Bytes
		}
		d, err := recoverFile(fs, dir, whole, known)
		if err != nil {
			return done, fmt.Errorf("warc: recover %s: %w", name, err)
		}
		done = append(done, d)
	}
	return done, nil
}

func recoverFile(fs vfs.FS, dir, name string, known int64) (Recovered, error) {
	path := fs.PathJoin(dir, name)
	if err := fs.Remove(path + openSuffix + mendSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Recovered{}, err
	}
	keep, size, err := scan(fs, path+openSuffix, known)
	if err != nil {
		return Recovered{}, err
	}
	if keep == 0 {
		err := errors.Join(fs.Remove(path+openSuffix), syncDir(fs, dir))
		return Recovered{File: name, Cut: size, Removed: true}, err
	}
	if err := cut(fs, path+openSuffix, keep, size); err != nil {
		return Recovered{}, err
	}
	if err := fs.Rename(path+openSuffix, path); err != nil {
		return Recovered{}, err
	}
	return Recovered{File: name, Bytes: keep, Cut: size - keep}, syncDir(fs, dir)
}

// scan returns the size of a file, and after how many bytes its last whole capture ends: 0 if it has none. It does not
// read the first known bytes.
func scan(fs vfs.FS, path string, known int64) (keep, size int64, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	if known > size {
		known = 0 // not the file that was told of
	}
	keep = known
	r := NewReader(io.NewSectionReader(f, known, size-known), fs.PathBase(path))
	for {
		record, err := r.Next()
		var length int64
		if err == nil {
			length, err = r.Finish()
		}
		switch {
		case err == io.EOF || errors.Is(err, ErrCorrupt):
			return keep, size, nil
		case err != nil:
			return 0, 0, err
		}
		if record.Type != Warcinfo {
			keep = known + r.Offset() + length
		}
	}
}

// cut makes a file end after keep of its size bytes and makes it durable. Where the file system
// cannot cut it copies.
func cut(fs vfs.FS, path string, keep, size int64) error {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	t, ok := f.(truncater)
	switch {
	case keep == size:
		return errors.Join(f.Sync(), f.Close())
	case ok:
		return errors.Join(t.Truncate(keep), f.Sync(), f.Close())
	}
	if err := errors.Join(copyHead(fs, path+mendSuffix, f, keep), f.Close()); err != nil {
		return err
	}
	return fs.Rename(path+mendSuffix, path)
}

func copyHead(fs vfs.FS, path string, from io.Reader, n int64) error {
	to, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, n)
	return errors.Join(err, to.Sync(), to.Close())
}
