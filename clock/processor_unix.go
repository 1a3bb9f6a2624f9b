//go:build unix

package clock

import (
	"syscall"
	"time"
)

// Processor returns the time that this process has spent on processors, its own code and the system's
// on its behalf, all threads together; 0 where the system does not tell. Unlike Now it stands still while
// others have the processor, so that a benchmark on a busy machine can count by it.
func Processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
