package store

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"freshet/internal/powercut"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// promising returns options for a store on a disk, and where the records will be that the store has shown: so many
// are promised.
func promising(disk *powercut.Disk) (Options, *[]captured) {
	var log []captured
	o := testOptions(disk)
	o.OnRecord = func(p weburl.Partition, n uint64, raw []byte) {
		log = append(log, captured{p, n, bytes.Clone(raw)})
		disk.Promise(len(log))
	}
	return o, &log
}

// TestCrash cuts a crawl before every change of the disk. After each cut the directory opens and
// verifies clean; every record that was acknowledged is there; the state is what a prefix of each
// partition's records makes; and the crawl goes on.
func TestCrash(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o, log := promising(disk)
	o.WARC.MaxBytes = 4 << 10 // so that files are changed
	s := openTest(t, o)
	newWorkload(t, 1, 40).run(s, 40)
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
		if !checkCut(t, *log, cut) {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
	}
}

func checkCut(t *testing.T, log []captured, cut powercut.Cut) bool {
	s, err := Open("data", testOptions(cut.Disk))
	if err != nil {
		t.Error(err)
		return false
	}
	defer s.Close()
	verify(t, s)
	kept := map[weburl.Partition]uint64{}
	for p := range weburl.Partition(testPartitions) {
		counters, err := s.Counters(p)
		if err != nil {
			t.Error(err)
		}
		kept[p] = counters.Records
	}
	for _, r := range log[:cut.Promised] {
		if r.n > kept[r.p] {
			t.Errorf("record %d of partition %d was acknowledged: the cut left %d", r.n, r.p, kept[r.p])
		}
	}
	if diff := cmp.Diff(replayed(t, log, kept), dump(t, s)); diff != "" {
		t.Errorf("state (-replayed +after the crash):\n%s", diff)
	}
	newWorkload(t, 2, 40).run(s, 3)
	verify(t, s)
	return !t.Failed()
}

// replayed returns the state that each partition's first records make.
func replayed(t *testing.T, log []captured, kept map[weburl.Partition]uint64) []string {
	t.Helper()
	s := openTest(t, testOptions(vfs.NewMem()))
	defer s.Close()
	for _, r := range log {
		if r.n > kept[r.p] {
			continue
		}
		if err := s.Replay(r.p, r.n, r.raw); err != nil {
			t.Error(err)
		}
	}
	return dump(t, s)
}

// fullDisk has no space left after some writes; with a ballast it has some again once that is
// removed.
type fullDisk struct {
	disk    vfs.FS
	ballast bool

	mu   sync.Mutex
	left int // writes; negative: without end
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

// TestDiskFull fills the disk at every write of a crawl in turn. The store says so, refuses what
// follows, closes, and goes on where there is space again; nothing half-done is visible. Where even
// dropping the ballast gives no space, that holds for every write after Open.
func TestDiskFull(t *testing.T) {
	const writes = 40
	for _, ballast := range []bool{true, false} {
		for n := range writes {
			t.Run(fmt.Sprintf("ballast=%v/write=%d", ballast, n), func(t *testing.T) {
				disk := vfs.NewMem()
				if s, err := Open("data", testOptions(disk)); err != nil || s.Close() != nil {
					t.Fatal(err)
				}
				full := &fullDisk{disk: disk, ballast: ballast, left: -1}
				if ballast {
					full.set(n)
				}
				var log []captured
				o := testOptions(errorfs.Wrap(disk, full))
				o.OnRecord = func(p weburl.Partition, n uint64, raw []byte) {
					log = append(log, captured{p, n, bytes.Clone(raw)})
				}
				fill(t, o, full, n)

				s := openTest(t, testOptions(disk))
				verify(t, s)
				if s.Start().Clean {
					t.Error("a crawl that met a full disk ended with a clean stop")
				}
				if _, err := s.Counters(0); err != nil {
					t.Error(err)
				}
				for _, r := range log {
					if c, err := s.Counters(r.p); err != nil || c.Records < r.n {
						t.Errorf("record %d of partition %d was acknowledged: %d are left, %v", r.n, r.p, c.Records, err)
					}
				}
				newWorkload(t, 2, 40).run(s, 3)
			})
		}
	}
}

// fill crawls until the disk is full.
func fill(t *testing.T, o Options, full *fullDisk, n int) {
	t.Helper()
	s, err := Open("data", o)
	if err != nil {
		if !errors.Is(err, ErrDiskFull) {
			t.Errorf("open: %v: want ErrDiskFull", err)
		}
		return
	}
	if !full.ballast {
		full.set(n)
	}
	w := newWorkload(t, 3, 40)
	for range 200 {
		if err = w.step(s); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("crawl: %v: want ErrDiskFull", err)
	}
	if _, again := s.Apply(&Planned{}); !errors.Is(again, ErrDiskFull) {
		t.Errorf("write after a full disk: %v: want ErrDiskFull", again)
	}
	if _, err := s.Counters(0); err != nil {
		t.Errorf("read after a full disk: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("close: %v: want ErrDiskFull", err)
	}
}
