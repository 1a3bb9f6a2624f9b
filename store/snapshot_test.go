package store

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
	"freshet/store/internal/database"
	"freshet/store/internal/format"
)

// TestSnapshot copies a directory while it is written to and swept, destroys it, and restores it twice:
// each time it is what it was, and goes on.
func TestSnapshot(t *testing.T) {
	disk := vfs.NewMem()
	o := testOptions(disk)
	o.WARC.MaxBytes = 16 << 10
	s := openTest(t, o)
	web := newRefreshed(t, 12)
	for range 60 {
		web.visit(s)
	}
	want := dump(t, s)
	ctx := context.Background()
	if err := s.Snapshot(ctx, "copy"); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(ctx, "copy"); err == nil {
		t.Error("a second snapshot in one folder: no error")
	}
	for range 30 {
		web.visit(s)
	}
	if _, err := s.Sweep(ctx, Keep{Versions: 1}, begin.Add(90*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.RemoveAll("data"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Restore(disk, "copy", "data"); err != nil {
			t.Fatal(err)
		}
		if err := Restore(disk, "copy", "data"); err == nil {
			t.Error("restored into a directory that is there: no error")
		}
		s := openTest(t, o)
		if diff := cmp.Diff(want, dump(t, s)); diff != "" {
			t.Errorf("state (-at the snapshot +restored):\n%s", diff)
		}
		verify(t, s)
		newWorkload(t, 9, 40).run(s, 20)
		verify(t, s)
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
	if err := Restore(disk, "copy", "data"); !errors.Is(err, ErrCorrupt) || Exists(disk, "data") {
		t.Errorf("restored from a snapshot that lacks a file: %v: want ErrCorrupt and no directory", err)
	}
}

// TestSnapshotOfOneMoment commits pages while the WARC files of a snapshot are copied, until one is closed and the
// next begun: the snapshot holds no byte of them.
func TestSnapshotOfOneMoment(t *testing.T) {
	disk := vfs.NewMem()
	meanwhile := func() {}
	o := testOptions(errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "copy.part/warc") && op.Kind == errorfs.OpCreate {
			meanwhile()
		}
		return nil
	})))
	o.WARC.MaxBytes = 16 << 10
	s := openTest(t, o)
	web := newRefreshed(t, 12)
	for range 20 {
		web.visit(s)
	}
	want, files := dump(t, s), warcSizes(t, disk, "data")
	meanwhile = func() {
		meanwhile = func() {}
		for range 60 {
			web.visit(s)
		}
	}
	if err := s.Snapshot(context.Background(), "copy"); err != nil {
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
	if err := Restore(disk, "copy", "restored"); err != nil {
		t.Fatal(err)
	}
	o.FS = disk
	r, err := Open("restored", o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, dump(t, r)); diff != "" {
		t.Errorf("state (-at the snapshot +restored):\n%s", diff)
	}
	verify(t, r)
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
	if found, err := vfs.Clone(vfs.Default, disk, fmt.Sprintf("testdata/format%d", from), "data", vfs.CloneSync); err != nil || !found {
		t.Fatalf("fixture: %v, %v", found, err)
	}
	if err := errors.Join(format.SyncDir(disk, "data"), format.SyncDir(disk, "/")); err != nil {
		t.Fatal(err)
	}
	return disk
}

// TestMigrate brings a kept directory of every earlier format to this one, cut before every change of
// the disk too: it is then of the old format or of the new, and whole.
func TestMigrate(t *testing.T) {
	for old := format.Oldest; old < format.KeyFormat; old++ {
		disk := oldDirectory(t, old)
		if _, err := Open("data", Options{FS: disk}); !errors.Is(err, ErrOutdated) {
			t.Fatalf("open of format %d: %v: want ErrOutdated", old, err)
		}
		watched := powercut.Watch(disk, 0)
		if from, err := Migrate(watched, "data"); err != nil || from != old {
			t.Fatalf("migrate from %d: %d, %v", old, from, err)
		}
		if from, err := Migrate(disk, "data"); err != nil || from != Format {
			t.Errorf("migrate again: from %d, %v", from, err)
		}
		checkMigrated(t, disk)
		cuts := watched.Take()
		t.Logf("%d cuts", len(cuts))
		for _, cut := range cuts {
			if _, err := Migrate(cut.Disk, "data"); err != nil {
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
	s := openTest(t, Options{FS: disk})
	verify(t, s)
	total, err := s.Total()
	if err != nil || total.Pages != 435 || total.Versions != 12 { // as the program of that format said
		t.Errorf("%d pages, %d versions, %v: want 435 and 12", total.Pages, total.Versions, err)
	}
	err = database.Scan(s.db, []byte{format.Oldest}, []byte{format.KeyFormat}, func(key, _ []byte) error {
		return fmt.Errorf("key %x is left of an older format", key)
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSameKeys opens a directory of a format that differs in values alone: to be read it is left as it is, and
// to be written it becomes one of this format, which an older program refuses.
func TestSameKeys(t *testing.T) {
	disk := vfs.NewMem()
	o := testOptions(disk)
	s := openTest(t, o)
	newWorkload(t, 3, 40).run(s, 20)
	want := dump(t, s)
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
	}{{true, format.KeyFormat}, {false, Format}} {
		o.ReadOnly = c.readOnly
		s := openTest(t, o)
		if diff := cmp.Diff(want, dump(t, s)); diff != "" {
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
	if err := openTest(t, testOptions(disk)).Close(); err != nil {
		t.Fatal(err)
	}
	if err := format.WriteFile(disk, "data/"+format.InfoFile, fmt.Appendf(nil, `{"format":%d,"partitions":4}`, Format+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("data", testOptions(disk)); !errors.Is(err, ErrFormat) {
		t.Errorf("open: %v: want ErrFormat", err)
	}
	if _, err := Migrate(disk, "data"); !errors.Is(err, ErrFormat) {
		t.Errorf("migrate: %v: want ErrFormat", err)
	}
}
