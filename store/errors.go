package store

import (
	"errors"

	"freshet/store/internal/format"
)

// What callers branch on, with errors.Is.
var (
	ErrLocked   = format.ErrLocked
	ErrFormat   = format.ErrFormat
	ErrOutdated = format.ErrOutdated
	ErrCorrupt  = format.ErrCorrupt
	ErrNotFound = format.ErrNotFound
	ErrCut      = errors.New("store: the snapshot was cut off by a purge: take it again")
	ErrReadOnly = errors.New("store: opened read-only")
	ErrClosed   = errors.New("store: closed")

	// ErrCluster is of a directory of a cluster that is opened to be written alone, and the reverse.
	ErrCluster = errors.New("store: records of a cluster belong to its log")

	// ErrDiskFull matches every error that says "no space left on device". The store then refuses
	// all further writes; it can still be read, closed, and opened again.
	ErrDiskFull = format.ErrDiskFull
)

// Problem is something that is wrong with a directory, or was, and is repaired.
type Problem struct {
	Place string // a URL, site, file or partition
	Text  string
}

// String returns "place: text".
func (p Problem) String() string { return p.Place + ": " + p.Text }
