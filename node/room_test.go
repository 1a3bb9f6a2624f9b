package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/importer"
	"freshet/store"
	"freshet/store/retain"
	"freshet/store/transfer"
)

// fullAt is a disk. Once set, it takes no more writes.
type fullAt struct{ atomic.Bool }

func (f *fullAt) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpFilePreallocate, errorfs.OpMkdirAll:
		if f.Load() {
			return syscall.ENOSPC
		}
	}
	return nil
}

func (f *fullAt) String() string { return "full disk" }

// TestFullDiskIsToldOf has every command that writes meet a full disk, before it begins and in its midst: it ends with
// ErrDiskFull, and works when there is space.
func TestFullDiskIsToldOf(t *testing.T) {
	web := newTestWeb(t, 2, 5)
	const page = "http://h0.test/1"
	inStore := func(do func(*store.Store) error) func(Options, func()) error {
		return func(o Options, begun func()) error {
			s, err := store.Open(o.Dir, store.Options{FS: o.FS, Partitions: 4})
			if err != nil {
				return err
			}
			begun()
			return errors.Join(do(s), s.Close())
		}
	}
	for name, command := range map[string]func(o Options, begun func()) error{
		"crawl": func(o Options, begun func()) error {
			e, err := Open(o)
			if err != nil {
				return err
			}
			begun()
			_, err = e.Run(t.Context(), t.Context())
			return errors.Join(err, e.Close())
		},
		"repair": func(o Options, begun func()) error {
			begun()
			return importer.Repair(t.Context(), o.Dir, store.Options{FS: o.FS, Partitions: 4}, func(store.Problem) {})
		},
		"migrate": func(o Options, begun func()) error {
			begun()
			_, err := transfer.Migrate(o.FS, "old")
			return err
		},
		"purge": inStore(func(s *store.Store) error {
			_, err := retain.Purge(t.Context(), s, time.Unix(1.9e9, 0), store.Target{URL: mustParse(t, page)})
			return err
		}),
		"records": inStore(func(s *store.Store) error { // as an import writes them
			return s.Heartbeat(time.Unix(1.9e9, 0))
		}),
	} {
		for _, when := range []string{"before", "within"} {
			t.Run(fmt.Sprint(name, " ", when), func(t *testing.T) {
				disk, full := vfs.NewMem(), new(fullAt)
				if found, err := vfs.Clone(vfs.Default, disk, "../store/testdata/format1", "old", vfs.CloneSync); err != nil || !found {
					t.Fatal(found, err)
				}
				o := web.options(t, disk, "data")
				o.MaxPages = 3
				run(t, o)
				o.FS, o.MaxPages = errorfs.Wrap(disk, full), 0
				begun := func() { full.Store(true) }
				if when == "before" {
					disk.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: 1 << 40})
					begun()
				}
				if err := command(o, begun); !errors.Is(err, store.ErrDiskFull) {
					t.Fatalf("on a full disk: %v: want ErrDiskFull", err)
				}
				full.Store(false)
				disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40})
				if err := command(o, func() {}); err != nil {
					t.Errorf("with space: %v", err)
				}
			})
		}
	}
}
