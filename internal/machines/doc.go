//go:build linux

// Package machines is for trials of real processes. Each process has its own network, on a bridge with the others,
// and can be killed, stopped and cut off. It needs no privileges: everything is in the trial's own namespaces.
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

// Enter runs this program again with its own network and mounts, and waits for its end.
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
	runtime.LockOSThread() // the child gets a signal when the thread that started it ends
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func sleep(d time.Duration) { _ = clock.Real().Sleep(context.Background(), d) }
