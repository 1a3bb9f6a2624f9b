//go:build linux

// Package machines is for trials of real processes: each has a network of its own, on a bridge with the others, and can
// be killed, stopped and cut off. No privilege is needed: all of it is in namespaces of the trial's own.
package machines

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"freshet/clock"
)

// Enter runs this program again, in a network and with mounts of its own, and waits until it has ended.
func Enter(args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // the child is told when the thread ends that started it
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func sleep(d time.Duration) { _ = clock.Real().Sleep(context.Background(), d) }
