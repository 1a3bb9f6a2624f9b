package store

import (
	"errors"
	"syscall"
)

// What callers branch on, with errors.Is.
var (
	ErrLocked   = errors.New("store: data directory is in use by another process")
	ErrFormat   = errors.New("store: data directory has a newer format")
	ErrOutdated = errors.New("store: data directory has an older format")
	ErrCorrupt  = errors.New("store: corrupt data")
	ErrNotFound = errors.New("store: not found")
	ErrCut      = errors.New("store: the snapshot was cut off by a purge: take it again")
	ErrReadOnly = errors.New("store: opened read-only")
	ErrClosed   = errors.New("store: closed")

	// ErrDiskFull matches every error that says "no space left on device". The store then refuses
	// all further writes; it can still be read, closed, and opened again.
	ErrDiskFull = error(syscall.ENOSPC)
)
