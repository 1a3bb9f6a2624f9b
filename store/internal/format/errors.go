package format

import (
	"errors"
	"syscall"
)

// The store's errors that tell how a directory lies on disk. Callers know them by the store's names.
var (
	ErrLocked   = errors.New("store: data directory is in use by another process")
	ErrFormat   = errors.New("store: data directory has a newer format")
	ErrOutdated = errors.New("store: data directory has an older format")
	ErrCorrupt  = errors.New("store: corrupt data")
	ErrNotFound = errors.New("store: not found")
	ErrDiskFull = error(syscall.ENOSPC)
)
