//go:build !unix

package node

import "math"

// descriptors returns the limit on the process's open files. This system has none.
func descriptors() int { return math.MaxInt32 }
