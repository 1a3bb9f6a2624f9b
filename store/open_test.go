package store_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
	"freshet/store/warc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStart(t *testing.T) {
	disk := vfs.NewCrashableMem()
	u := storetest.Parse(t, "http://page.test/")
	s := storetest.Open(t, storetest.Options(disk))
	if start := s.Start(); !start.Fresh || !start.Clean || !start.LastAlive.IsZero() {
		t.Errorf("new directory: %+v", start)
	}
	if err := s.Heartbeat(storetest.Begin); err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, s, storetest.Answer(t, u, 1, "one"))

	crashed := storetest.Open(t, storetest.Options(disk.CrashClone(vfs.CrashCloneCfg{})))
	if start := crashed.Start(); start.Fresh || start.Clean || !start.LastAlive.Equal(storetest.Begin) || len(start.Truncated) > 0 {
		t.Errorf("after a crash: %+v", start)
	}
	storetest.Verify(t, crashed)
	if err := crashed.Close(); err != nil {
		t.Fatal(err)
	}

	s.Settle()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := s.Apply(&store.Gated{Host: "x"}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	s = storetest.Open(t, storetest.Options(disk))
	if start := s.Start(); start.Fresh || !start.Clean || !start.LastAlive.Equal(storetest.Begin) {
		t.Errorf("after a clean stop: %+v", start)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := storetest.Options(disk)
	o.Crawl = "other"
	if start := storetest.Open(t, o).Start(); !start.Fresh {
		t.Errorf("another crawl of the directory: %+v", start)
	}
}

// TestTornCapture holds that the tail of a capture that was cut is dropped, and said.
func TestTornCapture(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, storetest.Options(disk))
	u := storetest.Parse(t, "http://page.test/")
	storetest.Commit(t, s, storetest.Answer(t, u, 1, "one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	paths, err := s.Files()
	if err != nil || len(paths) != 1 {
		t.Fatalf("files %v, %v", paths, err)
	}
	f, err := disk.OpenReadWrite(paths[0], vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\x1f\x8b\x08torn"), size.Size()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), disk.Rename(paths[0], paths[0]+".open")); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, storetest.Options(disk))
	if got := s.Start().Truncated; len(got) != 1 || "data/warc/"+got[0] != paths[0] {
		t.Errorf("truncated %v: want %s", got, paths[0])
	}
	storetest.Verify(t, s)
}

func TestOpenRefuses(t *testing.T) {
	t.Run("a newer format", func(t *testing.T) {
		disk := vfs.NewMem()
		if err := errors.Join(disk.MkdirAll("data", 0o755), format.WriteFile(disk, "data/freshet.json", fmt.Appendf(nil, `{"format":%d,"partitions":4}`, store.Format+1))); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open("data", storetest.Options(disk)); !errors.Is(err, store.ErrFormat) {
			t.Errorf("open: %v: want ErrFormat", err)
		}
	})
	t.Run("a broken format file", func(t *testing.T) {
		for _, text := range []string{"", "{", `{"format":1}`, `{"format":1,"partitions":70000}`, `{"format":0,"partitions":4}`} {
			disk := vfs.NewMem()
			if err := errors.Join(disk.MkdirAll("data", 0o755), format.WriteFile(disk, "data/freshet.json", []byte(text))); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open("data", storetest.Options(disk)); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("open with %q: %v: want ErrCorrupt", text, err)
			}
		}
	})
	t.Run("a directory in use", func(t *testing.T) {
		disk := vfs.NewMem()
		storetest.Open(t, storetest.Options(disk))
		if _, err := store.Open("data", storetest.Options(disk)); !errors.Is(err, store.ErrLocked) {
			t.Errorf("open: %v: want ErrLocked", err)
		}
	})
	t.Run("read-only where there is none", func(t *testing.T) {
		o := storetest.Options(vfs.NewMem())
		o.ReadOnly = true
		if _, err := store.Open("data", o); err == nil {
			t.Error("open: no error")
		}
	})
	t.Run("wrong options", func(t *testing.T) {
		if _, err := store.Open("data", store.Options{Crawl: "A/b", Partitions: -1, CacheBytes: -1}); err == nil {
			t.Error("open: no error")
		}
	})
}

func TestReadOnly(t *testing.T) {
	disk := vfs.NewMem()
	s := storetest.Open(t, storetest.Options(disk))
	u := storetest.Parse(t, "http://page.test/")
	storetest.Commit(t, s, storetest.Answer(t, u, 1, "one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := storetest.Options(disk)
	o.ReadOnly, o.Partitions = true, 9
	s = storetest.Open(t, o)
	if s.Partitions() != storetest.Partitions {
		t.Errorf("%d partitions: want the directory's %d", s.Partitions(), storetest.Partitions)
	}
	if _, err := s.Apply(&store.Gated{Host: "x"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("write: %v: want ErrReadOnly", err)
	}
	if err := s.Heartbeat(storetest.Begin); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("heartbeat: %v: want ErrReadOnly", err)
	}
	if page, _, err := s.PageOf(u); err != nil || page.Versions != 1 {
		t.Errorf("page %+v, %v", page, err)
	}
	storetest.Verify(t, s)
}

// TestReadOnlyDisk opens a directory of a disk that refuses to be written to, after a clean stop and after a crash. The
// crash leaves rows in the log that no table has.
func TestReadOnlyDisk(t *testing.T) {
	refuse := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileClose || op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		return &fs.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
	})
	u := storetest.Parse(t, "http://page.test/")
	disk := vfs.NewCrashableMem()
	s := storetest.Open(t, storetest.Options(disk))
	storetest.Commit(t, s, storetest.Answer(t, u, 1, "one"))
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]*vfs.MemFS{"after a clean stop": disk, "after a crash": crashed} {
		t.Run(name, func(t *testing.T) {
			o := storetest.Options(errorfs.Wrap(left, refuse))
			if _, err := store.Open("data", o); !errors.Is(err, syscall.EROFS) || errors.Is(err, store.ErrLocked) {
				t.Errorf("open to write: %v: want that the disk is read-only", err)
			}
			o.ReadOnly = true
			if page, _, err := storetest.Open(t, o).PageOf(u); err != nil || page.Versions != 1 {
				t.Errorf("page %+v, %v", page, err)
			}
		})
	}
}

// TestRealFiles opens a directory of the machine's file system, twice.
func TestRealFiles(t *testing.T) {
	o := storetest.Options(nil)
	u := storetest.Parse(t, "http://page.test/")
	dir := t.TempDir() + "/a/b"
	for i := range 2 {
		s, err := store.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(dir, o); !errors.Is(err, store.ErrLocked) {
			t.Errorf("second open: %v: want ErrLocked", err)
		}
		storetest.Commit(t, s, storetest.Answer(t, u, i, fmt.Sprint("content ", i)))
		storetest.Verify(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBody(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("hello, content")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	block := "HTTP/1.1 203 Fine\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", packed.Len(), packed.Bytes())
	u := storetest.Parse(t, "http://page.test/")
	member, err := warc.NewEncoder(warc.FastLevel).AppendMember(nil, &warc.Record{
		Type: warc.Response, Date: storetest.Begin, TargetURI: u.String(), ContentType: warc.TypeResponse, Block: []byte(block),
	})
	if err != nil {
		t.Fatal(err)
	}
	f := store.Fetch{Record: &store.Fetched{URL: u, At: storetest.At(0), Outcome: store.OutcomeStored, Status: 203, BodyDigest: warc.DigestOf(packed.Bytes())}, Members: [][]byte{member}}
	storetest.Commit(t, s, f)
	version, err := s.Version(storetest.Home(u), u.Fingerprint(), 1)
	if err != nil {
		t.Fatal(err)
	}
	body, err := s.Body(version.Capture)
	if err != nil {
		t.Fatal(err)
	}
	if body.Status != 203 || !bytes.Equal(body.Payload, packed.Bytes()) || !body.At.Equal(storetest.Begin) {
		t.Errorf("body %+v", body)
	}
	if _, err := s.Body(store.Pointer{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("body of nothing: %v: want ErrNotFound", err)
	}
	if _, err := s.Body(store.Pointer{File: version.Capture.File, Offset: 1, Length: 9}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("body of a wrong place: %v: want ErrCorrupt", err)
	}
	storetest.Verify(t, s)
}
