//go:build unix

package clock

import (
	"syscall"
	"time"
)

// Processor returns the processor time of this process, in all threads, user and system together. It is 0 if the system
// does not report it. Unlike Now it stands still while other processes run, so a benchmark on a busy machine can use
// it.
func Processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
