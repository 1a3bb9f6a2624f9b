package store

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/segments"
)

// openSegments returns the file system in which WARC files that have been moved are seen.
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

// Moved returns a WARC file that is in an object store.
func (in Inside) Moved(file string) (segments.Segment, bool) {
	if in.options.Segments == nil {
		return segments.Segment{}, false
	}
	return in.options.Segments.Moved(file)
}

// Shares returns what a copy of the directory has to know of WARC files that are in an object store, except for which
// these are; nil if none can be.
func (in Inside) Shares() *segments.Manifest {
	if in.options.Segments == nil {
		return nil
	}
	return &segments.Manifest{Identity: in.options.Segments.Identity()}
}

// Settle returns when nothing of a WARC file that was removed is in the object store.
func (in Inside) Settle(ctx context.Context) error {
	if in.options.Segments == nil {
		return nil
	}
	return in.options.Segments.Settle(ctx)
}

// CheckMoved compares what was moved with what is in the object store.
func (in Inside) CheckMoved(ctx context.Context, report func(Problem)) error {
	if in.options.Segments == nil {
		return nil
	}
	return in.options.Segments.Check(ctx, func(name, text string) { report(Problem{Place: name, Text: text}) })
}
