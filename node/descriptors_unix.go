//go:build unix

package node

import (
	"math"
	"syscall"
)

// descriptors is how many files the process may have open. The runtime has raised that to the most that the
// system allows.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
