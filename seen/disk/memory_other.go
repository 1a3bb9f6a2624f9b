//go:build !unix

package disk

import "github.com/cockroachdb/pebble/v2/vfs"

// reserve returns nil: the heads stay in the collector's heap.
func reserve(int) []byte { return nil }

func release([]byte) error { return nil }

// mapFile returns nil: files are read.
func mapFile(vfs.File, int64, int) (data, mapping []byte) { return nil, nil }

func unmap([]byte) {}

func readAhead(vfs.File, int64, int) {}
