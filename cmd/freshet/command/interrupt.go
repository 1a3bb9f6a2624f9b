package command

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// unfinished are the files and folders that an interrupt removes.
var unfinished = struct {
	sync.Mutex
	paths   map[string]bool
	signals chan os.Signal // nil: nothing is unfinished
}{paths: map[string]bool{}}

// Unfinished has a file or folder removed if SIGINT or SIGTERM comes before done is called. The process then ends with
// ExitInterrupted. Use it where an end at any time loses nothing else.
func Unfinished(path string) (done func()) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.paths[path] = true
	if unfinished.signals == nil {
		signals := make(chan os.Signal, 1)
		unfinished.signals = signals
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		go func() {
			if _, interrupted := <-signals; interrupted {
				removeUnfinished()
			}
		}()
	}
	return func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.paths, path)
		if len(unfinished.paths) == 0 && unfinished.signals != nil {
			signal.Stop(unfinished.signals)
			close(unfinished.signals)
			unfinished.signals = nil
		}
	}
}

// TempFolder makes a temporary folder, whose name begins with prefix. remove removes it, and so does an interrupt.
func TempFolder(prefix string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", nil, err
	}
	done := Unfinished(dir)
	return dir, func() {
		_ = os.RemoveAll(dir) // the system removes what is left
		done()
	}, nil
}

// removeUnfinished removes what is unfinished, and ends the process.
func removeUnfinished() {
	unfinished.Lock() // until the end, so that nothing more is begun
	for path := range unfinished.paths {
		_ = os.RemoveAll(path) // nothing helps
	}
	fmt.Fprintln(os.Stderr, "freshet: interrupted: what was unfinished is removed; run the same command again")
	os.Exit(ExitInterrupted)
}
