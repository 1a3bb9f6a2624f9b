//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"freshet/internal/machines"
)

// node is a machine on which a service manager keeps the program running.
type node struct {
	*machines.Machine
	dir   string      // of the trial
	disks int         // number of disks so far
	log   *os.File    // output of the program
	args  []string    // of the program
	wall  []byte      // contents of the file with its clock's step
	ends  []time.Time // times at which it ended, for any reason

	mu      sync.Mutex
	program string
	wanted  bool // the service manager keeps it running
	since   time.Time
}

func (t *trial) newNode(number int) (*node, error) {
	name := fmt.Sprint("n", number-nodeAddress)
	n := &node{dir: t.set.dir, program: t.programs[1]} // the earlier one, for an upgrade later
	if len(t.nodes) > 0 {
		n.program = t.nodes[0].runsProgram()
	}
	if err := t.mount(name, nodeDisk); err != nil {
		return nil, err
	}
	wall := filepath.Join(t.set.dir, name+".wall")
	if err := os.WriteFile(wall, make([]byte, 8), 0o600); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(wall, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if n.wall, err = unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	if n.log, err = os.Create(filepath.Join(t.set.dir, name+".log")); err != nil {
		return nil, err
	}
	n.args = []string{"serve", "--config", t.config(), "--data", n.data(name), "--node", name, "--listen", n.address(number)}
	n.Machine = &machines.Machine{
		Name: name, Number: number, Errors: n.log, Env: []string{wallFile + "=" + wall, "GOMAXPROCS=2"},
	}
	go n.keep()
	return n, nil
}

// nodeAddress is one less than the machine number of the first node.
const nodeAddress = 10

func (n *node) address(number int) string { return machines.Address(number) + ":8350" }
func (n *node) disk() string              { return filepath.Join(n.dir, "disk-"+n.Name) }
func (n *node) data(name string) string   { return filepath.Join(n.dir, "disk-"+name, "data") }

// keep starts the program whenever it is wanted and not running.
func (n *node) keep() {
	for ; ; sleep(100 * time.Millisecond) {
		n.mu.Lock()
		ended := n.Gone() != nil && !n.Runs()
		if ended && n.since.After(n.lastEnd()) {
			n.ends = append(n.ends, real.Now())
			fmt.Fprintf(n.log, "-- %s: %s has ended, exit code %d\n", now(), n.Name, n.Exit())
		}
		if n.wanted && !n.Runs() && real.Now().Sub(n.lastEnd()) > time.Second {
			n.Args = slices.Concat([]string{"-role", "node", "--", n.program}, n.args, n.segments())
			fmt.Fprintf(n.log, "-- %s: %s is started: %s\n", now(), n.Name, filepath.Base(n.program))
			n.since = real.Now()
			if err := n.Start(); err != nil {
				fmt.Fprintf(n.log, "-- it cannot be started: %v\n", err)
			}
		}
		n.mu.Unlock()
	}
}

func now() string { return real.Now().Format(clockTime) }

func (n *node) lastEnd() (last time.Time) {
	if len(n.ends) > 0 {
		last = n.ends[len(n.ends)-1]
	}
	return last
}

// endedIn reports whether the program ended between two times.
func (n *node) endedIn(from, to time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, end := range n.ends {
		if !end.Before(from) && !end.After(to) {
			return true
		}
	}
	return false
}

// segments returns the places to which the program moves its captures: one for each disk.
func (n *node) segments() []string {
	if os.Getenv(storeEndpoint) == "" {
		return nil
	}
	return []string{"--segments", fmt.Sprintf("s3://%s/%s-%d", bucket, n.Name, n.disks)}
}

// wipe deletes everything on the disk of a stopped node.
func (n *node) wipe() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disks++
	return os.RemoveAll(n.data(n.Name))
}

// up keeps the program running.
func (n *node) up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted = true
}

func (n *node) isUp() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wanted
}

// down ends the program with a signal, and does not let keep start it again.
func (n *node) down(with syscall.Signal) error {
	n.mu.Lock()
	n.wanted = false
	n.Signal(with)
	gone := n.Gone()
	n.mu.Unlock()
	if gone == nil {
		return nil
	}
	for from := real.Now(); real.Now().Sub(from) < longest; sleep(20 * time.Millisecond) {
		select {
		case <-gone:
			if n.endNoted() {
				return nil
			}
		default:
		}
	}
	n.Signal(syscall.SIGQUIT) // its stacks are in the log
	return fmt.Errorf("%s does not end within %v of signal %v", n.Name, longest, with)
}

func (n *node) endNoted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.Runs() && !n.since.After(n.lastEnd())
}

// signal sends the running program a signal.
func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Signal(s)
}

// step moves the program's wall clock.
func (n *node) step(d time.Duration) {
	binary.NativeEndian.PutUint64(n.wall, uint64(int64(d/time.Second)))
}

// upgrade sets the program that keep starts next.
func (n *node) upgrade(program string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.program = program
}

func (n *node) runsProgram() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.program
}

// command runs a command of the program on the node's directory, and returns its output.
func (n *node) command(args ...string) (string, error) {
	cmd := exec.Command(n.runsProgram(), append(args, "--data", n.data(n.Name))...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// mount makes the disk of a machine.
func (t *trial) mount(name string, megabytes int) error {
	dir := filepath.Join(t.set.dir, "disk-"+name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes))
}

// fill takes all space of a disk. free gives it back.
func fill(disk string) (free func() error, err error) {
	name := filepath.Join(disk, "filler")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for size := int64(256 << 20); size >= 4096; size /= 2 {
		for unix.Fallocate(int(f.Fd()), 0, end(f), size) == nil {
		}
	}
	return func() error { return os.Remove(name) }, nil
}

func end(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
