package segments

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/warc"
)

// overlay is the file system that Open returns.
type overlay struct {
	vfs.FS // below
	s      *Segments
}

// Unwrap implements vfs.FS.
func (o overlay) Unwrap() vfs.FS { return o.FS }

// segmentAt returns the name of the segment at a path. ok is false if the path is not in the folder of captures.
func (o overlay) segmentAt(path string) (name string, ok bool) {
	name = o.PathBase(path)
	return name, o.PathDir(path) == o.s.dir && isSegment(name)
}

// moved returns the segment at a path, if it was moved.
func (o overlay) moved(path string) (Segment, bool) {
	name, ok := o.segmentAt(path)
	if !ok {
		return Segment{}, false
	}
	return o.s.Moved(name)
}

// Open implements vfs.FS.
func (o overlay) Open(path string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := o.FS.Open(path, opts...)
	if errors.Is(err, fs.ErrNotExist) {
		if segment, ok := o.moved(path); ok {
			return o.s.open(segment), nil
		}
	}
	return f, err
}

// Stat implements vfs.FS.
func (o overlay) Stat(path string) (vfs.FileInfo, error) {
	i, err := o.FS.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if segment, ok := o.moved(path); ok {
			return info{segment}, nil
		}
	}
	return i, err
}

// List implements vfs.FS.
func (o overlay) List(dir string) ([]string, error) {
	if dir != o.s.dir {
		return o.FS.List(dir)
	}
	o.s.mu.Lock() // a file is local or moved, never neither
	defer o.s.mu.Unlock()
	names, err := o.FS.List(dir)
	if err != nil {
		return nil, err
	}
	for name := range o.s.list.moved {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Link implements vfs.FS. It refuses a moved segment: that must be copied.
func (o overlay) Link(from, to string) error {
	err := o.FS.Link(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if _, ok := o.moved(from); ok {
			return errors.ErrUnsupported
		}
	}
	return err
}

// Rename implements vfs.FS. Closing a WARC file renames it: it then waits for its upload. A segment that is renamed
// out of the folder of captures leaves the store too. If it is lost there, no file arrives.
func (o overlay) Rename(from, to string) error {
	name, is := o.segmentAt(from)
	if !is {
		err := o.FS.Rename(from, to)
		if _, closed := o.segmentAt(to); closed && err == nil {
			o.s.notify()
		}
		return err
	}
	defer o.s.hold(name)()
	if _, ok := o.s.Moved(name); ok {
		if err := vfs.Copy(o, from, to); err != nil && !errors.Is(err, warc.ErrCorrupt) {
			return err
		}
		return o.s.remove(name)
	}
	if err := o.FS.Rename(from, to); err != nil {
		return err
	}
	return o.s.remove(name)
}

// Remove implements vfs.FS. It removes a segment from the disk, the cache and the store.
func (o overlay) Remove(path string) error {
	name, is := o.segmentAt(path)
	if !is {
		return o.FS.Remove(path)
	}
	defer o.s.hold(name)()
	_, away := o.s.Moved(name)
	if err := o.s.remove(name); err != nil {
		return err
	}
	err := o.FS.Remove(path)
	if away && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
