package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/weburl"
)

// TestCrash cuts a crawl before every change of the disk. After each cut the directory opens and verifies clean. It
// has every acknowledged record. Its state is that of a prefix of each partition's records. The crawl goes on.
func TestCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o, log := storetest.Promising(disk)
	o.WARC.MaxBytes = 4 << 10 // so that files are changed
	s := storetest.Open(t, o)
	storetest.NewWorkload(t, 1, 40).Run(s, 40)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cuts := disk.Take()
	t.Logf("%d cuts", len(cuts))
	if len(cuts) < 100 {
		t.Errorf("%d cuts: want a hundred at least", len(cuts))
	}
	for i, cut := range cuts {
		if testing.Short() && i%7 != 0 {
			continue
		}
		if !storetest.CheckCut(t, (*log)[:cut.Promised], *log, cut.Disk) {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
	}
}

// fullDisk runs out of space after some writes. With a ballast it has space again after the removal of the ballast.
type fullDisk struct {
	disk    vfs.FS
	ballast bool

	mu   sync.Mutex
	left int // writes; negative: no limit
}

func (d *fullDisk) set(writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = writes
}

func (d *fullDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpFilePreallocate, errorfs.OpMkdirAll:
	default:
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left != 0 {
		d.left--
		return nil
	}
	if _, err := d.disk.Stat("data/" + format.BallastFile); err != nil && d.ballast {
		return nil
	}
	return syscall.ENOSPC
}

func (d *fullDisk) String() string { return "full disk" }

// TestDiskFull fills the disk at every write of a crawl in turn. The store reports it, refuses the records that
// follow, and closes. Nothing half-done is visible, and the store goes on when there is space again. If even the
// removal of the ballast gives no space, all this holds for every write after Open.
func TestDiskFull(t *testing.T) {
	const writes = 40
	for _, ballast := range []bool{true, false} {
		for n := range writes {
			t.Run(fmt.Sprintf("ballast=%v/write=%d", ballast, n), func(t *testing.T) {
				disk := vfs.NewMem()
				if s, err := store.Open("data", storetest.Options(disk)); err != nil || s.Close() != nil {
					t.Fatal(err)
				}
				full := &fullDisk{disk: disk, ballast: ballast, left: -1}
				if ballast {
					full.set(n)
				}
				var log []storetest.Applied
				o := storetest.Options(errorfs.Wrap(disk, full))
				o.OnRecord = func(p weburl.Partition, n uint64, raw []byte) {
					log = append(log, storetest.Applied{Partition: p, Number: n, Raw: bytes.Clone(raw)})
				}
				fill(t, o, full, n)

				s := storetest.Open(t, storetest.Options(disk))
				storetest.Verify(t, s)
				if s.Start().Clean {
					t.Error("a crawl that met a full disk ended with a clean stop")
				}
				if _, err := s.Counters(0); err != nil {
					t.Error(err)
				}
				for _, r := range log {
					if c, err := s.Counters(r.Partition); err != nil || c.Records < r.Number {
						t.Errorf("record %d of partition %d was acknowledged: %d are left, %v", r.Number, r.Partition, c.Records, err)
					}
				}
				storetest.NewWorkload(t, 2, 40).Run(s, 3)
			})
		}
	}
}

// fill crawls until the disk is full.
func fill(t *testing.T, o store.Options, full *fullDisk, n int) {
	t.Helper()
	s, err := store.Open("data", o)
	if err != nil {
		if !errors.Is(err, store.ErrDiskFull) {
			t.Errorf("open: %v: want ErrDiskFull", err)
		}
		return
	}
	if !full.ballast {
		full.set(n)
	}
	w := storetest.NewWorkload(t, 3, 40)
	for range 200 {
		if err = w.Step(s); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("crawl: %v: want ErrDiskFull", err)
	}
	if _, again := s.Apply(&store.Planned{}); !errors.Is(again, store.ErrDiskFull) {
		t.Errorf("write after a full disk: %v: want ErrDiskFull", again)
	}
	if _, err := s.Counters(0); err != nil {
		t.Errorf("read after a full disk: %v", err)
	}
	if err := s.Close(); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("close: %v: want ErrDiskFull", err)
	}
}
