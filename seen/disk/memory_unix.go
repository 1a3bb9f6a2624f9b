//go:build unix

package disk

import "syscall"

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
