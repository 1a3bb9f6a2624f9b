//go:build unix

package disk

import (
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reserve returns n zero bytes outside of the collector's heap, which would else keep as much again free
// beside them, or nil if the system has none.
func reserve(n int) []byte {
	memory, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return memory
}

// release gives back what reserve returned. Nothing may look at it any more.
func release(memory []byte) error { return syscall.Munmap(memory) }

// mapFile maps n bytes of a file from at on, so that they can be looked at where the system's cache of files has them.
// It returns them, and the mapping, which unmap takes; or nil, if the file is no file of the system's. To look at what
// the file has not is a fault. The mapping is of whole large pages.
func mapFile(file vfs.File, at int64, n int) (data, mapping []byte) {
	fd := file.Fd()
	if fd == vfs.InvalidFd {
		return nil, nil
	}
	skipped := int(at % largePage)
	size := (skipped + n + largePage - 1) / largePage * largePage
	mapping, err := syscall.Mmap(int(fd), at-int64(skipped), size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	preferLargePages(mapping)
	return mapping[skipped:], mapping
}

// unmap ends a mapping. Nothing may look at it any more.
func unmap(mapping []byte) {
	if err := syscall.Munmap(mapping); err != nil {
		panic("seen: unmap: " + err.Error()) // not a mapping
	}
}

// readAhead has the system take n bytes of a file, from at on, into its cache of files, in large pages where it knows
// them: reads that find nothing there leave small ones. What it does not take, as the file has it not, is left to them.
func readAhead(file vfs.File, at int64, n int) {
	if n <= 0 { // a damaged directory may say so
		return
	}
	data, mapping := mapFile(file, at, n)
	if mapping == nil {
		return
	}
	skipped := len(mapping) - len(data)
	take(mapping[skipped&^(syscall.Getpagesize()-1) : skipped+n])
	unmap(mapping)
}
