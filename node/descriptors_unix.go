//go:build unix

package node

import (
	"math"
	"syscall"
)

// descriptors returns the limit on the process's open files. The runtime has raised it to the system's maximum.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // signed on some systems
}
