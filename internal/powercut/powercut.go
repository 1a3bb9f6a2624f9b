// Package powercut is for tests that cut the power before every change of a disk. What is left must be consistent.
package powercut

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Disk is a file system in memory. It keeps what a power cut before each of its changes would have left. It is safe
// for concurrent use.
type Disk struct {
	vfs.FS // of the program under test

	memory *vfs.MemFS
	config vfs.CrashCloneCfg

	mu       sync.Mutex
	promised int
	cuts     []Cut
}

// Cut is what a power cut leaves.
type Cut struct {
	Disk     *vfs.MemFS
	Before   string // the change that was not made, for messages
	Promised int    // the last Promise
}

// Watch returns a disk over memory, a file system of vfs.NewCrashableMem. That percentage of unsynced blocks
// survives a cut, the same ones in every run.
func Watch(memory *vfs.MemFS, percent int) *Disk {
	d := &Disk{memory: memory, config: vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, uint64(percent)))}}
	d.FS = errorfs.Wrap(memory, errorfs.InjectorFunc(d.before))
	return d
}

func (d *Disk) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpLock {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cuts = append(d.cuts, Cut{d.memory.CrashClone(d.config), fmt.Sprintf("op %d on %s", op.Kind, op.Path), d.promised})
	}
	return nil
}

// Promise notes that the program has promised durability up to n, a count of the test, after any later cut.
func (d *Disk) Promise(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.promised = n
}

// Take returns the cuts since the last Take, in order.
func (d *Disk) Take() []Cut {
	d.mu.Lock()
	defer d.mu.Unlock()
	cuts := d.cuts
	d.cuts = nil
	return cuts
}
