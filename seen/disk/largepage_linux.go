package disk

import "syscall"

// preferLargePages asks the system to read what it has not yet of a mapped file as large pages. It is a wish: systems
// and file systems that do not know them go on with small ones.
func preferLargePages(mapping []byte) { _ = syscall.Madvise(mapping, syscall.MADV_HUGEPAGE) }

// take has the system read all of a mapped stretch of a file now. Linux before 5.14 does not know how.
func take(mapped []byte) {
	const populateRead = 22 // MADV_POPULATE_READ
	_ = syscall.Madvise(mapped, populateRead)
}
