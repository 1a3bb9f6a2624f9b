package store

import (
	"errors"

	"freshet/store/internal/format"
)

// Errors that callers test for with errors.Is.
var (
	ErrLocked   = format.ErrLocked
	ErrFormat   = format.ErrFormat
	ErrOutdated = format.ErrOutdated
	ErrCorrupt  = format.ErrCorrupt
	ErrNotFound = format.ErrNotFound
	ErrCut      = errors.New("store: the snapshot was cut off by a purge: take it again")
	ErrReadOnly = errors.New("store: opened read-only")
	ErrClosed   = errors.New("store: closed")

	// ErrTakeDown is returned if a directory is opened read-only and its rows show what an interrupted purge was to
	// take down. Opening it for writing takes it down.
	ErrTakeDown = errors.New("store: a purge was interrupted before it took everything down: open the directory for writing to resume it")

	// ErrCluster is returned if a cluster's directory is opened for writing without the cluster, or another
	// directory with one.
	ErrCluster = errors.New("store: records of a cluster belong to its log")

	// ErrNewer is returned by Follow if a newer build wrote a record that this one would apply in another way.
	ErrNewer = format.ErrUnknown

	// ErrDiskFull matches every error that says "no space left on device". The store then refuses
	// all further writes; it can still be read, closed, and opened again.
	ErrDiskFull = format.ErrDiskFull
)

// Problem is something wrong with a directory, or something that was wrong and is repaired.
type Problem struct {
	Place string // a URL, site, file or partition
	Text  string
}

// String returns "place: text".
func (p Problem) String() string { return p.Place + ": " + p.Text }
