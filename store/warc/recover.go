package warc

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Recovered is what Recover did to a file.
type Recovered struct {
	File    string // name, now without the suffix of an open file
	Bytes   int64  // length kept
	Cut     int64  // bytes of the torn tail that were dropped
	Removed bool   // the file held no capture and is gone
}

// Recover ends the files in dir that a crash left open.
func Recover(fs vfs.FS, dir string) ([]Recovered, error) { return nil, nil }
