//go:build unix

package store

import (
	"os"
	"syscall"
)

// hollow reports whether a file takes up less than a ballast does. What has no blocks to count is taken for full.
func hollow(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks*512 < ballastBytes
}
