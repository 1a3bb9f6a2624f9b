package store

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/segments"
)

// openSegments returns the file system that also shows moved WARC files.
func (s *Store) openSegments() (vfs.FS, error) {
	o := &s.options
	if o.Segments != nil {
		return o.Segments.Open(o.FS, s.dir.path, o.ReadOnly)
	}
	address, err := segments.Address(o.FS, s.dir.path)
	if err == nil && address != "" {
		err = fmt.Errorf("store: %s keeps its WARC files in %s, and is opened without them", s.dir.path, address)
	}
	return o.FS, err
}

// FS returns the file system in which the paths of Files are opened.
func (s *Store) FS() vfs.FS { return s.fs }

// Moved returns the segment of a WARC file that was moved to an object store. ok is false if it was not moved.
func (in Inside) Moved(file string) (segments.Segment, bool) {
	if in.options.Segments == nil {
		return segments.Segment{}, false
	}
	return in.options.Segments.Moved(file)
}

// Shares returns what a copy of the directory must know about the object store of its moved WARC files, without their
// list. It returns nil if the directory has no object store.
func (in Inside) Shares() *segments.Manifest {
	if in.options.Segments == nil {
		return nil
	}
	return &segments.Manifest{Identity: in.options.Segments.Identity()}
}

// Settle waits until the objects of all removed WARC files are deleted.
func (in Inside) Settle(ctx context.Context) error {
	if in.options.Segments == nil {
		return nil
	}
	return in.options.Segments.Settle(ctx)
}

// CheckMoved compares the list of moved WARC files with the object store. It calls report for each missing, changed
// or unknown object.
func (in Inside) CheckMoved(ctx context.Context, report func(Problem)) error {
	if in.options.Segments == nil {
		return nil
	}
	return in.options.Segments.Check(ctx, func(name, text string) { report(Problem{Place: name, Text: text}) })
}
