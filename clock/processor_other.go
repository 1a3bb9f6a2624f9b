//go:build !unix

package clock

import "time"

// Processor reports that it cannot tell.
func Processor() (used time.Duration, ok bool) { return 0, false }
