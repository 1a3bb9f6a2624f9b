//go:build unix

package disk

import "golang.org/x/sys/unix"

// allocate returns zero bytes outside of the heap, at least one. Their address is that of a page.
func allocate(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// release gives back what allocate returned.
func release(memory []byte) error { return unix.Munmap(memory) }
