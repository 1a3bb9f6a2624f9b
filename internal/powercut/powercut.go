// Package powercut is for tests that cut the power before every change of a disk: whatever is left must be whole.
package powercut

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Disk is a file system in memory that keeps what a power cut before each of its changes would have left. Its methods
// may be called by any number of goroutines.
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

// Watch returns a disk with what is in memory, which vfs.NewCrashableMem has made. That much percent of the blocks that
// were not synced outlast a cut, the same in every run.
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

// Promise notes how much the program has promised to be there after any later cut, by a count of the test's.
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
