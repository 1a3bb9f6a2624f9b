package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/store/transfer"
)

// TestSnapshot copies a directory during writes and sweeps, destroys it, and restores it twice. Each time it is as
// before, and goes on.
func TestSnapshot(t *testing.T) {
	disk := vfs.NewMem()
	o := storetest.Options(disk)
	o.WARC.MaxBytes = 16 << 10
	s := storetest.Open(t, o)
	web := storetest.NewRefreshed(t, 12)
	for range 60 {
		web.Visit(s)
	}
	want := storetest.Dump(t, s)
	ctx := context.Background()
	if err := transfer.Snapshot(ctx, s, "copy"); err != nil {
		t.Fatal(err)
	}
	if err := transfer.Snapshot(ctx, s, "copy"); err == nil {
		t.Error("a second snapshot in one folder: no error")
	}
	for range 30 {
		web.Visit(s)
	}
	if _, err := retain.Sweep(ctx, s, retain.Keep{Versions: 1}, storetest.Begin.Add(90*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.RemoveAll("data"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := transfer.Restore(disk, "copy", "data"); err != nil {
			t.Fatal(err)
		}
		if err := transfer.Restore(disk, "copy", "data"); err == nil {
			t.Error("restored into a directory that is there: no error")
		}
		s := storetest.Open(t, o)
		if diff := cmp.Diff(want, storetest.Dump(t, s)); diff != "" {
			t.Errorf("state (-at the snapshot +restored):\n%s", diff)
		}
		storetest.Verify(t, s)
		storetest.NewWorkload(t, 9, 40).Run(s, 20)
		storetest.Verify(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := disk.RemoveAll("data"); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := disk.List("copy/warc")
	if err != nil || len(paths) < 2 {
		t.Fatalf("files of the snapshot: %q, %v", paths, err)
	}
	if err := disk.Remove("copy/warc/" + paths[0]); err != nil {
		t.Fatal(err)
	}
	if err := transfer.Restore(disk, "copy", "data"); !errors.Is(err, store.ErrCorrupt) || store.Exists(disk, "data") {
		t.Errorf("restored from a snapshot that lacks a file: %v: want ErrCorrupt and no directory", err)
	}
}

// TestSnapshotOfOneMoment commits pages while a snapshot copies WARC files, until the store closes a file and begins
// the next. The snapshot has no byte of those pages.
func TestSnapshotOfOneMoment(t *testing.T) {
	disk := vfs.NewMem()
	meanwhile := func() {}
	o := storetest.Options(errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "copy.part/warc") && op.Kind == errorfs.OpCreate {
			meanwhile()
		}
		return nil
	})))
	o.WARC.MaxBytes = 16 << 10
	s := storetest.Open(t, o)
	web := storetest.NewRefreshed(t, 12)
	for range 20 {
		web.Visit(s)
	}
	want, files := storetest.Dump(t, s), warcSizes(t, disk, "data")
	meanwhile = func() {
		meanwhile = func() {}
		for range 60 {
			web.Visit(s)
		}
	}
	if err := transfer.Snapshot(context.Background(), s, "copy"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if now := warcSizes(t, disk, "data"); len(now) <= len(files) {
		t.Fatalf("no file was begun meanwhile: %v, then %v", files, now)
	}
	if diff := cmp.Diff(files, warcSizes(t, disk, "copy")); diff != "" {
		t.Errorf("WARC files (-at the snapshot +in it):\n%s", diff)
	}
	if err := transfer.Restore(disk, "copy", "restored"); err != nil {
		t.Fatal(err)
	}
	o.FS = disk
	r, err := store.Open("restored", o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, storetest.Dump(t, r)); diff != "" {
		t.Errorf("state (-at the snapshot +restored):\n%s", diff)
	}
	storetest.Verify(t, r)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// warcSizes returns the bytes of a directory's WARC files.
func warcSizes(t *testing.T, disk vfs.FS, dir string) map[string]int64 {
	t.Helper()
	names, err := disk.List(disk.PathJoin(dir, format.CapturesDir))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, name := range names {
		info, err := disk.Stat(disk.PathJoin(dir, format.CapturesDir, name))
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = info.Size()
	}
	return sizes
}

// oldDirectory returns a disk with the directory that a program of an earlier format has left.
func oldDirectory(t testing.TB, from int) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	if found, err := vfs.Clone(vfs.Default, disk, fmt.Sprintf("../testdata/format%d", from), "data", vfs.CloneSync); err != nil || !found {
		t.Fatalf("fixture: %v, %v", found, err)
	}
	if err := errors.Join(format.SyncDir(disk, "data"), format.SyncDir(disk, "/")); err != nil {
		t.Fatal(err)
	}
	return disk
}

// TestMigrate brings a directory of every earlier format to this one, also with a cut before every change of the disk.
// After each cut the directory is of the old format or of the new, and whole.
func TestMigrate(t *testing.T) {
	for old := format.Oldest; old < format.KeyFormat; old++ {
		disk := oldDirectory(t, old)
		if _, err := store.Open("data", store.Options{FS: disk}); !errors.Is(err, store.ErrOutdated) {
			t.Fatalf("open of format %d: %v: want ErrOutdated", old, err)
		}
		watched := powercut.Watch(disk, 0)
		if from, err := transfer.Migrate(watched, "data"); err != nil || from != old {
			t.Fatalf("migrate from %d: %d, %v", old, from, err)
		}
		if from, err := transfer.Migrate(disk, "data"); err != nil || from != store.Format {
			t.Errorf("migrate again: from %d, %v", from, err)
		}
		checkMigrated(t, disk)
		cuts := watched.Take()
		t.Logf("%d cuts", len(cuts))
		for _, cut := range cuts {
			if _, err := transfer.Migrate(cut.Disk, "data"); err != nil {
				t.Fatalf("migrate after a cut before %s: %v", cut.Before, err)
			}
			checkMigrated(t, cut.Disk)
			if t.Failed() {
				t.Fatalf("after a cut before %s", cut.Before)
			}
		}
	}
}

func checkMigrated(t *testing.T, disk vfs.FS) {
	t.Helper()
	s := storetest.Open(t, store.Options{FS: disk})
	storetest.Verify(t, s)
	total, err := s.Total()
	if err != nil || total.Pages != 435 || total.Versions != 12 { // as the program of that format said
		t.Errorf("%d pages, %d versions, %v: want 435 and 12", total.Pages, total.Versions, err)
	}
	err = database.Scan(s.Inside().DB, []byte{format.Oldest}, []byte{format.KeyFormat}, func(key, _ []byte) error {
		return fmt.Errorf("key %x is left of an older format", key)
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSameKeys opens a directory with a format that differs only in values. A reader leaves it as it is. A writer
// brings it to this format, which an older program refuses.
func TestSameKeys(t *testing.T) {
	disk := vfs.NewMem()
	o := storetest.Options(disk)
	s := storetest.Open(t, o)
	storetest.NewWorkload(t, 3, 40).Run(s, 20)
	want := storetest.Dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	older := fmt.Appendf(nil, `{"format":%d,"partitions":%d}`, format.KeyFormat, s.Partitions())
	if err := format.WriteFile(disk, "data/"+format.InfoFile, older); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		readOnly bool
		format   int // once opened
	}{{true, format.KeyFormat}, {false, store.Format}} {
		o.ReadOnly = c.readOnly
		s := storetest.Open(t, o)
		if diff := cmp.Diff(want, storetest.Dump(t, s)); diff != "" {
			t.Errorf("read only %t: state (-written +read):\n%s", c.readOnly, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err := format.ReadInfo(disk, "data"); err != nil || f.Format != c.format {
			t.Errorf("read only %t: format %d, %v: want %d", c.readOnly, f.Format, err, c.format)
		}
	}
}

// TestNewerFormat holds that a directory of a newer format is refused by whatever opens it.
func TestNewerFormat(t *testing.T) {
	disk := vfs.NewMem()
	if err := storetest.Open(t, storetest.Options(disk)).Close(); err != nil {
		t.Fatal(err)
	}
	if err := format.WriteFile(disk, "data/"+format.InfoFile, fmt.Appendf(nil, `{"format":%d,"partitions":4}`, store.Format+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open("data", storetest.Options(disk)); !errors.Is(err, store.ErrFormat) {
		t.Errorf("open: %v: want ErrFormat", err)
	}
	if _, err := transfer.Migrate(disk, "data"); !errors.Is(err, store.ErrFormat) {
		t.Errorf("migrate: %v: want ErrFormat", err)
	}
}
