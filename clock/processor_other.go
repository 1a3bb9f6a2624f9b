//go:build !unix

package clock

import "time"

// Processor returns 0, because the system does not report processor time.
func Processor() time.Duration { return 0 }
