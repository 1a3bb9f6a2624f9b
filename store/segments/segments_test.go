package segments_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/internal/powercut"
	"freshet/internal/remains"
	"freshet/objects"
	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/repair"
	"freshet/store/retain"
	"freshet/store/segments"
	"freshet/store/transfer"
)

// flaky is an object store that may not answer.
type flaky struct {
	objects.Store
	down *atomic.Bool
}

var errDown = errors.New("connection refused")

func (f flaky) Put(ctx context.Context, name string, from io.ReaderAt, size int64) (objects.Sum, error) {
	if f.down.Load() {
		return objects.Sum{}, errDown
	}
	return f.Store.Put(ctx, name, from, size)
}

func (f flaky) ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	if f.down.Load() {
		return 0, errDown
	}
	return f.Store.ReadAt(ctx, name, p, offset)
}

func (f flaky) Size(ctx context.Context, name string) (int64, error) {
	if f.down.Load() {
		return 0, errDown
	}
	return f.Store.Size(ctx, name)
}

func (f flaky) List(ctx context.Context, prefix string) iter.Seq2[objects.Object, error] {
	if f.down.Load() {
		return func(yield func(objects.Object, error) bool) { yield(objects.Object{}, errDown) }
	}
	return f.Store.List(ctx, prefix)
}

func (f flaky) Remove(ctx context.Context, name string) error {
	if f.down.Load() {
		return errDown
	}
	return f.Store.Remove(ctx, name)
}

// setting is a directory on a disk. Its segments go into the folder "bucket" of the same disk.
type setting struct {
	disk vfs.FS
	down atomic.Bool
}

func (s *setting) segments(publish bool) *segments.Segments {
	folder, err := objects.Open(s.disk, "bucket")
	if err != nil {
		panic(err)
	}
	return segments.New(segments.Options{
		Store: flaky{folder, &s.down}, CacheBytes: 40 << 10, Publish: publish, Clock: clock.New(storetest.Begin, 1),
	})
}

func (s *setting) options(publish bool) store.Options {
	o := storetest.Options(s.disk)
	o.WARC.MaxBytes = 8 << 10
	o.Segments = s.segments(publish)
	return o
}

// open opens a directory until the test closes it.
func open(t *testing.T, dir string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

const secret = "quagmire-7713"

// crawl stores pages of two sites for forty minutes from a minute on. One of the sites has a secret.
func crawl(t *testing.T, s *store.Store, from int) {
	t.Helper()
	for minute := from; minute < from+40; minute++ {
		good := storetest.Parse(t, fmt.Sprintf("http://good.test/%d", minute%7))
		bad := storetest.Parse(t, fmt.Sprintf("http://bad.test/%d", minute%3))
		storetest.Commit(t, s, storetest.Answer(t, good, 2*minute, fmt.Sprint("good ", minute, strings.Repeat(" word", minute))),
			storetest.Answer(t, bad, 2*minute, fmt.Sprint(secret, " ", minute)))
	}
}

// readAll reads the last version of each page of the crawl, and returns how many there are.
func readAll(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	for _, site := range []string{"good", "bad"} {
		for i := range 7 {
			u := storetest.Parse(t, fmt.Sprintf("http://%s.test/%d", site, i))
			page, fp, err := s.PageOf(u)
			if errors.Is(err, store.ErrNotFound) || page.State == store.StatePurged {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Version(storetest.Home(u), fp, page.Versions)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.VersionBody(u, &v); err != nil {
				t.Errorf("%s: %v", u, err)
			}
			n++
		}
	}
	return n
}

func verify(t *testing.T, s *store.Store) {
	t.Helper()
	err := repair.Verify(context.Background(), s, func(p store.Problem) { t.Errorf("verify: %s", p) })
	if err != nil {
		t.Fatal(err)
	}
}

// local returns the closed WARC files that are in the directory itself.
func local(t *testing.T, disk vfs.FS, dir string) (names []string) {
	t.Helper()
	all, err := disk.List(dir + "/warc")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, ".warc.gz") {
			names = append(names, name)
		}
	}
	return names
}

func holdsSecret(t *testing.T, disk vfs.FS) (found []string) {
	t.Helper()
	for _, dir := range []string{"data", "bucket"} {
		in, err := remains.Find(disk, dir, secret)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, in...)
	}
	return found
}

// TestMove crawls while the object store answers, while it does not, and after. Files move there. A page is readable
// whenever its file is. The cache stays within its bound. No place has a page that was taken down.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &setting{disk: vfs.NewMem()}
		o := w.options(true)
		s := open(t, "data", o)
		crawl(t, s, 0)
		synctest.Wait()
		if names := local(t, w.disk, "data"); len(names) > 0 {
			t.Errorf("%q are still in the directory", names)
		}
		status := o.Segments.Status()
		if status.Moved < 5 || status.Waiting != 0 || status.Fault != nil {
			t.Errorf("after a crawl: %+v", status)
		}
		if n := readAll(t, s); n != 10 {
			t.Errorf("%d pages are read: want 10", n)
		}
		verify(t, s)

		w.down.Store(true)
		crawl(t, s, 40)
		time.Sleep(time.Minute)
		if status = o.Segments.Status(); status.Waiting < 5 || !errors.Is(status.Fault, errDown) {
			t.Errorf("while the store is down: %+v", status)
		}
		if _, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{Site: "http://bad.test"}); err == nil {
			t.Error("a purge is finished while the store is down")
		}
		w.down.Store(false)
		time.Sleep(10 * time.Minute)
		if status = o.Segments.Status(); status.Waiting != 0 || status.Fault != nil {
			t.Errorf("after the store was down: %+v", status)
		}
		if n := readAll(t, s); n != 7 {
			t.Errorf("%d pages are read: want 7", n)
		}
		if status = o.Segments.Status(); status.CacheBytes == 0 || status.CacheBytes > 40<<10 {
			t.Errorf("%d bytes in the cache: want some, at most %d", status.CacheBytes, 40<<10)
		}
		if cached := store.SizeOf(w.disk, "data/cache"); cached != status.CacheBytes {
			t.Errorf("%d bytes in the cache's folder: want %d", cached, status.CacheBytes)
		}
		if len(holdsSecret(t, w.disk)) == 0 {
			t.Error("the secret is not where it is looked for")
		}
		if _, err := retain.FinishPurges(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		if found := holdsSecret(t, w.disk); len(found) > 0 {
			t.Errorf("what was taken down is in %q", found)
		}
		if n := readAll(t, s); n != 7 {
			t.Errorf("%d pages are read: want 7", n)
		}
		verify(t, s)
		closeStore(t, s)

		s = open(t, "data", w.options(false))
		verify(t, s)
		closeStore(t, s)
		if _, err := store.Open("data", storetest.Options(w.disk)); err == nil || !strings.Contains(err.Error(), "bucket") {
			t.Errorf("opened without its segments: %v", err)
		}
	})
}

// TestFinish has an end wait for the uploads, or not.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &setting{disk: vfs.NewMem()}
		o := w.options(true)
		s := open(t, "data", o)
		w.down.Store(true)
		crawl(t, s, 0)
		synctest.Wait()
		w.down.Store(false)
		o.Segments.Finish(context.Background())
		closeStore(t, s)
		if names := local(t, w.disk, "data"); len(names) > 0 {
			t.Errorf("%q are still in the directory", names)
		}
	})
}

// TestRestore makes two directories from a snapshot and the object store alone. Such a directory reads, and changes
// nothing until it takes over the segments. Then the directory that had them before is refused.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := &setting{disk: vfs.NewMem()}
		s := open(t, "data", w.options(true))
		crawl(t, s, 0)
		synctest.Wait()
		if err := transfer.Snapshot(ctx, s, "snapshot"); err != nil {
			t.Fatal(err)
		}
		if names := local(t, w.disk, "snapshot"); len(names) > 0 {
			t.Errorf("the snapshot has %q, which are in the store", names)
		}
		closeStore(t, s)
		if err := w.disk.RemoveAll("data"); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"first", "second"} {
			if err := transfer.Restore(w.disk, "snapshot", dir); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, w.options(false))
			verify(t, s)
			if n := readAll(t, s); n != 10 {
				t.Errorf("%d pages are read: want 10", n)
			}
			if _, err := retain.Purge(ctx, s, storetest.Begin, store.Target{Site: "http://bad.test"}); !errors.Is(err, segments.ErrOther) {
				t.Errorf("a purge by a copy: %v", err)
			}
			closeStore(t, s)
			if _, err := store.Open(dir, w.options(true)); !errors.Is(err, segments.ErrOther) || !strings.Contains(err.Error(), "segments take") {
				t.Errorf("a crawl of a copy: %v", err)
			}
		}
		folder, err := objects.Open(w.disk, "bucket")
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"first", "second"} {
			if st, err := segments.Take(ctx, w.disk, dir, folder); err != nil || st.Moved < 5 {
				t.Fatalf("take: %+v, %v", st, err)
			}
			s = open(t, dir, w.options(true))
			crawl(t, s, map[string]int{"first": 40, "second": 80}[dir])
			synctest.Wait()
			verify(t, s)
			closeStore(t, s)
		}
		if _, err := store.Open("first", w.options(true)); !errors.Is(err, segments.ErrOther) {
			t.Errorf("a crawl of what was taken over: %v", err)
		}

		o := w.options(true) // what is taken over while it is open changes nothing more
		s = open(t, "second", o)
		if _, err := segments.Take(ctx, w.disk, "first", folder); err != nil {
			t.Fatal(err)
		}
		crawl(t, s, 120)
		synctest.Wait()
		if st := o.Segments.Status(); st.Waiting < 5 || !errors.Is(st.Fault, segments.ErrOther) {
			t.Errorf("taken over while open: %+v", st)
		}
		if n := readAll(t, s); n != 7 { // of the others the purge has begun
			t.Errorf("%d pages are read: want 7", n)
		}
		closeStore(t, s)
	})
}

// TestOther holds that one address belongs to one directory. The first use of an address needs the object store. A
// first start that is refused leaves no data directory.
func TestOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &setting{disk: vfs.NewMem()}
		closeStore(t, open(t, "data", w.options(true)))
		if _, err := store.Open("other", w.options(true)); !errors.Is(err, segments.ErrOther) || !strings.Contains(err.Error(), "--segments") {
			t.Errorf("another directory: %v", err)
		}
		w.down.Store(true)
		if _, err := store.Open("third", w.options(true)); !errors.Is(err, errDown) {
			t.Errorf("a first use while the store is down: %v", err)
		}
		for _, refused := range []string{"other", "third"} {
			if store.Exists(w.disk, refused) {
				t.Errorf("%s is left as a data directory, without a database", refused)
			}
		}
		closeStore(t, open(t, "data", w.options(true)))
	})
}

// TestDamage has verify name lost, cut, changed and strange objects. A repair forgets their content.
func TestDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := &setting{disk: vfs.NewMem()}
		s := open(t, "data", w.options(true))
		crawl(t, s, 0)
		synctest.Wait()
		closeStore(t, s)
		names := local(t, w.disk, "bucket")
		for i, damage := range []func(path string, raw []byte) error{
			func(path string, _ []byte) error { return w.disk.Remove(path) },
			func(path string, raw []byte) error { return write(w.disk, path, raw[:len(raw)-100]) },
			func(path string, raw []byte) error { raw[len(raw)/2] ^= 1; return write(w.disk, path, raw) },
			func(path string, raw []byte) error { return write(w.disk, "bucket/warc/stranger.warc.gz", raw) },
		} {
			path := "bucket/warc/" + names[i]
			raw, err := read(w.disk, path)
			if err == nil {
				err = damage(path, raw)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s = open(t, "data", w.options(true))
		var places []string
		if err := repair.Verify(ctx, s, func(p store.Problem) { places = append(places, p.Place) }); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(names[:3:3], "warc/stranger.warc.gz") {
			if !strings.Contains(strings.Join(places, " "), name) {
				t.Errorf("%s is not named", name)
			}
		}
		if err := w.disk.Remove("bucket/warc/stranger.warc.gz"); err != nil {
			t.Fatal(err)
		}
		if err := repair.Repair(ctx, s, false, func(store.Problem) {}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		s = open(t, "data", w.options(true))
		verify(t, s)
		closeStore(t, s)
	})
}

// TestNotMounted holds that a missing object is lost if the store has the others' marker. If the store has nothing, as
// when its disk is not mounted, no page is lost.
func TestNotMounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &setting{disk: vfs.NewMem()}
		o := w.options(true)
		s := open(t, "data", o)
		crawl(t, s, 0)
		synctest.Wait()
		u := storetest.Parse(t, "http://good.test/0")
		page, fp, err := s.PageOf(u)
		if err != nil {
			t.Fatal(err)
		}
		version, err := s.Version(storetest.Home(u), fp, page.Versions)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.disk.RemoveAll("data/cache"), w.disk.Remove("bucket/warc/"+version.Capture.File)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.VersionBody(u, &version); !store.IsLost(err) {
			t.Errorf("one object is gone: %v", err)
		}
		if err := w.disk.Rename("bucket", "elsewhere"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.VersionBody(u, &version); err == nil || store.IsLost(err) {
			t.Errorf("the store has nothing: %v", err)
		}
		if err := w.disk.Rename("elsewhere", "bucket"); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	})
}

func read(disk vfs.FS, path string) ([]byte, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	return raw, errors.Join(err, f.Close())
}

func write(disk vfs.FS, path string, raw []byte) error {
	f, err := disk.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	return errors.Join(err, f.Close())
}

// TestCrash cuts the power before changes of the disk while files are moved, rewritten and removed. After each cut all
// pages are there, the store has nothing that nobody knows of, and the purge is finished by whoever comes next.
func TestCrash(t *testing.T) {
	var cuts []powercut.Cut
	synctest.Test(t, func(t *testing.T) {
		disk := powercut.Watch(vfs.NewCrashableMem(), 50)
		w := &setting{disk: disk}
		s := open(t, "data", w.options(true))
		disk.Take()
		crawl(t, s, 0)
		synctest.Wait()
		if _, err := retain.Purge(context.Background(), s, storetest.Begin, store.Target{Site: "http://bad.test"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cuts = disk.Take()
		closeStore(t, s)
	})
	t.Logf("%d cuts", len(cuts))
	step := max(1, len(cuts)/60)
	for i := 0; i < len(cuts); i += step {
		synctest.Test(t, func(t *testing.T) {
			w := &setting{disk: cuts[i].Disk}
			s := open(t, "data", w.options(true))
			readAll(t, s)
			if _, err := retain.FinishPurges(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			verify(t, s)
			purged, _, err := s.PageOf(storetest.Parse(t, "http://bad.test/1"))
			closeStore(t, s)
			if err != nil || purged.State != store.StatePurged {
				return
			}
			if found := holdsSecret(t, w.disk); len(found) > 0 {
				t.Errorf("what was taken down is in %q", found)
			}
		})
		if t.Failed() {
			t.Fatalf("cut %d, before %s", i, cuts[i].Before)
		}
	}
}
