package disk

import "syscall"

// preferLargePages asks the system to read what it has not yet of a mapped file as large pages. It is a wish: systems
// and file systems that do not know them go on with small ones.
func preferLargePages(mapping []byte) { _ = syscall.Madvise(mapping, syscall.MADV_HUGEPAGE) }
