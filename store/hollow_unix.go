//go:build unix

package store

import (
	"os"
	"syscall"
)

// hollow reports whether a file takes less disk space than a ballast. If the blocks cannot be counted, the file
// counts as full.
func hollow(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks*512 < ballastBytes
}
