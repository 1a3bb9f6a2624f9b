package repair_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/repair"
	"freshet/weburl"
)

// written returns the disk of a directory with forty visits in several WARC files, and how to open it.
func written(t *testing.T) (disk *vfs.MemFS, o store.Options) {
	t.Helper()
	disk = vfs.NewCrashableMem()
	o = storetest.Options(disk)
	o.WARC.MaxBytes = 4 << 10
	s := storetest.Open(t, o)
	for minute := range 40 {
		u := storetest.Parse(t, fmt.Sprintf("http://site%d.test/%d", minute%3, minute%10))
		f := storetest.Answer(t, u, minute, fmt.Sprintf("minute %d", minute))
		f.Record.(*store.Fetched).RetryAt = storetest.At(minute + 60)
		storetest.Commit(t, s, f)
	}
	if err := s.Close(); err != nil { // ends the last file
		t.Fatal(err)
	}
	return disk, o
}

// damaged returns the disk of a damaged directory. Its first WARC file has a changed byte in the middle of a capture.
// A row, a version, a queue entry and a total in its database are wrong. damaged also returns the URLs of two pages:
// the first has lost its row, the second a version.
func damaged(t *testing.T) (disk *vfs.MemFS, file string, urls [2]string) {
	t.Helper()
	disk, o := written(t)
	s := storetest.Open(t, o)
	paths, err := s.Files()
	if err != nil || len(paths) < 3 {
		t.Fatal(paths, err)
	}
	file = disk.PathBase(paths[0])
	first, second, third := storetest.Parse(t, "http://site0.test/0"), storetest.Parse(t, "http://site1.test/1"), storetest.Parse(t, "http://site2.test/2")
	version, err1 := s.Version(storetest.Home(first), first.Fingerprint(), 1)
	page, err2 := s.Page(storetest.Home(third), third.Fingerprint())
	f, err3 := disk.OpenReadWrite(paths[0], vfs.WriteCategoryUnspecified)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("xxxx"), version.Capture.Offset+version.Capture.Length/2)
	b := s.Inside().DB.NewBatch()
	err = errors.Join(err, f.Sync(), f.Close(),
		b.Delete(s.Inside().Keys.AppendPage(nil, storetest.Home(first), format.KeyPage, first.Fingerprint()), nil),
		b.Delete(s.Inside().Keys.AppendOfPage(nil, storetest.Home(second), format.KeyVersion, second.Fingerprint(), 2), nil),
		b.Delete(s.Inside().Keys.AppendEntry(nil, storetest.Home(third), page.Queue.KeyKind(), third.Site(), page.Key.Order, page.Key.Arrival), nil),
		b.Set(s.Inside().Keys.AppendKind(nil, storetest.Home(third), format.KeyCounters), []byte{0xff}, nil),
		b.Commit(pebble.Sync), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	return disk, file, [2]string{first.String(), second.String()}
}

// TestRepairCrash cuts a repair before every change of the disk. After each cut another repair finishes the work. Then
// verify finds nothing, the damaged parts lie aside, no page is lost, and the crawl goes on.
func TestRepairCrash(t *testing.T) {
	disk, file, urls := damaged(t)
	watched := powercut.Watch(disk, 0)
	s, err := store.Open("data", storetest.Options(watched))
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	if err := errors.Join(repair.Repair(context.Background(), s, false, func(store.Problem) { said++ }), s.Close()); err != nil || said < 5 {
		t.Fatalf("repair: %d things done, %v", said, err)
	}
	cuts := watched.Take()
	if len(cuts) < 30 {
		t.Errorf("%d cuts: want thirty at least", len(cuts))
	}
	t.Logf("%d cuts, %d things mended", len(cuts), said)
	for i, cut := range append(cuts, powercut.Cut{Disk: disk, Before: "the end"}) {
		if testing.Short() && i%7 != 0 {
			continue
		}
		s := storetest.Open(t, storetest.Options(cut.Disk))
		if err := errors.Join(repair.Repair(context.Background(), s, false, func(store.Problem) {}), s.Close()); err != nil {
			t.Fatalf("after cut %d, before %s: %v", i, cut.Before, err)
		}
		if _, err := cut.Disk.Stat("data/" + format.AsideDir + "/" + file); err != nil {
			t.Errorf("the damaged file is not aside: %v", err)
		}
		s = storetest.Open(t, storetest.Options(cut.Disk))
		storetest.Verify(t, s)
		for _, url := range urls {
			u := storetest.Parse(t, url)
			if page, _, err := s.PageOf(u); err != nil || page.Visits == 0 {
				t.Errorf("row of %s: %+v, %v", u, page, err)
			}
			storetest.Commit(t, s, storetest.Answer(t, u, 200, "again"))
		}
		storetest.Verify(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("after cut %d, before %s", i, cut.Before)
		}
	}
}

// badSectors is a disk that cannot read one file.
type badSectors struct{ file string }

// MaybeError implements errorfs.Injector.
func (b *badSectors) MaybeError(op errorfs.Op) error {
	if read := op.Kind == errorfs.OpFileReadAt || op.Kind == errorfs.OpFileRead; read && b.file != "" && strings.HasSuffix(op.Path, b.file) {
		return &fs.PathError{Op: "read", Path: op.Path, Err: syscall.EIO}
	}
	return nil
}

// String implements errorfs.Injector.
func (b *badSectors) String() string { return b.file }

// TestBadSectors holds that a WARC file that the disk cannot read counts as damaged: verify names it, and what else it
// finds, and repair moves the file aside, so that verify finds nothing afterwards.
func TestBadSectors(t *testing.T) {
	var bad badSectors
	disk, o := written(t)
	o.FS = errorfs.Wrap(disk, &bad)
	s := storetest.Open(t, o)
	paths, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	file := disk.PathBase(paths[0])
	bad.file = file
	named, found := false, 0
	verify := func() error {
		return repair.Verify(t.Context(), s, func(p store.Problem) {
			named = named || p.Place == file
			found++
		})
	}
	if err := verify(); err != nil || !named || found < 5 {
		t.Errorf("verify finds %d faults, the file among them: %v, error %v", found, named, err)
	}
	if err := repair.Repair(t.Context(), s, false, func(store.Problem) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Stat("data/" + format.AsideDir + "/" + file); err != nil {
		t.Errorf("the file is not aside: %v", err)
	}
	storetest.Verify(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRepairOfRow holds that a page whose row is rebuilt from its captures is not served if it was withdrawn, says as
// before which uses of it are disallowed, is visited again, and is in the change log, also if its entry was lost too.
func TestRepairOfRow(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, storetest.Options(disk))
	keys, b := s.Inside().Keys, s.Inside().DB.NewBatch()
	states := map[string]store.State{"row": store.StateLive, "both": store.StateLive, "entry": store.StateLive, "withdrawn": store.StateWithdrawn}
	page := func(name string) (weburl.URL, store.Page) {
		u := storetest.Parse(t, "http://site.test/"+name)
		row, _, err := s.PageOf(u)
		if err != nil {
			t.Fatal(err)
		}
		return u, row
	}
	for name := range states {
		f := storetest.Answer(t, storetest.Parse(t, "http://site.test/"+name), 1, name)
		f.Record.(*store.Fetched).SiteSignals, f.Record.(*store.Fetched).PageSignals = "of the site", "of the page"
		storetest.Commit(t, s, f)
		u, _ := page(name)
		p := storetest.Home(u)
		if name == "withdrawn" {
			if _, err := s.Apply(&store.Withdrawn{Partition: p, Fingerprint: u.Fingerprint(), At: storetest.At(2), Reason: "robots"}); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if name != "entry" {
			err = b.Delete(keys.AppendPage(nil, p, format.KeyPage, u.Fingerprint()), nil)
		}
		if _, row := page(name); name == "entry" || name == "both" {
			err = errors.Join(err, b.Delete(keys.AppendNumber(nil, p, format.KeyChange, row.LastChange), nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Commit(pebble.Sync), repair.Repair(t.Context(), s, false, func(store.Problem) {}), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, storetest.Options(disk))
	storetest.Verify(t, s)
	var home weburl.Partition
	for name, want := range states {
		u, row := page(name)
		if home = storetest.Home(u); row.State != want || row.SiteSignals != "of the site" || row.PageSignals != "of the page" {
			t.Errorf("%s: %v with signals %q and %q: want %v", name, row.State, row.SiteSignals, row.PageSignals, want)
		}
		if name != "entry" && row.Queue != store.DueQueue {
			t.Errorf("%s: in the %v queue: want it due", name, row.Queue)
		}
		if name == "both" {
			storetest.Commit(t, s, storetest.Answer(t, u, 3, name))
		}
	}
	changes, err := s.Changes(home, 0, 9)
	if err != nil || len(changes) != len(states) {
		t.Errorf("%d pages in the change log, %v: want %d", len(changes), err, len(states))
	}
	storetest.Verify(t, s)
}
