package warc

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Index writes to w the sorted CDXJ of the files at the given paths.
func Index(w io.Writer, fs vfs.FS, temp string, paths ...string) error { return nil }
