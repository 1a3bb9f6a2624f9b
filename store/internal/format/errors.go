package format

import (
	"errors"
	"syscall"
)

// The store's errors about the files of a directory. Callers use the names in package store.
var (
	ErrLocked   = errors.New("store: data directory is in use by another process")
	ErrFormat   = errors.New("store: data directory has a newer format")
	ErrOutdated = errors.New("store: data directory has an older format")
	ErrCorrupt  = errors.New("store: corrupt data")
	ErrNotFound = errors.New("store: not found")
	ErrDiskFull = error(syscall.ENOSPC)
)
