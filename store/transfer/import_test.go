package transfer_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/internal/powercut"
	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/store/transfer"
	"freshet/weburl"
)

// streamMagic begins a stream.
const streamMagic = "freshet partition 1\n"

// crawled returns a store with a random crawl, and the partition with the most records.
func crawled(t testing.TB, o store.Options) (*store.Store, *storetest.Workload, weburl.Partition) {
	t.Helper()
	s := storetest.Open(t, o)
	w := storetest.NewWorkload(t, 7, 40)
	w.Run(s, 150)
	var busiest weburl.Partition
	var records uint64
	for p := range weburl.Partition(storetest.Partitions) {
		c, err := s.Counters(p)
		if err != nil {
			t.Fatal(err)
		}
		if c.Records > records {
			busiest, records = p, c.Records
		}
	}
	return s, w, busiest
}

func export(t testing.TB, s *store.Store, p weburl.Partition) []byte {
	t.Helper()
	var stream bytes.Buffer
	if err := transfer.ExportPartition(s, p, &stream); err != nil {
		t.Fatal(err)
	}
	return stream.Bytes()
}

// TestTransfer moves a partition into another directory, under another crawl's name, and back: the
// rows are the same but for where captures lie, every body is there, and the crawl goes on.
func TestTransfer(t *testing.T) {
	s, w, p := crawled(t, storetest.Options(vfs.NewMem()))
	o := storetest.Options(vfs.NewMem())
	o.Crawl, o.WARC.Host = "other", "elsewhere"
	other := storetest.Open(t, o)
	got, err := transfer.ImportPartition(other, bytes.NewReader(export(t, s, p)))
	if err != nil || got != p {
		t.Fatalf("import: partition %d, %v: want %d", got, err, p)
	}
	storetest.Verify(t, other)
	compareBodies(t, s, other, p)

	back := storetest.Open(t, storetest.Options(vfs.NewMem()))
	if _, err := transfer.ImportPartition(back, bytes.NewReader(export(t, other, p))); err != nil {
		t.Fatal(err)
	}
	a, err1 := s.Counters(p)
	b, err2 := back.Counters(p)
	if diff := cmp.Diff(a, b); diff != "" || err1 != nil || err2 != nil {
		t.Errorf("totals (-here +moved twice): %v %v\n%s", err1, err2, diff)
	}
	w.Run(other, 30)
	storetest.Verify(t, other)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Verify(t, storetest.Open(t, o))
}

// TestTransferAfterSweep holds that a partition can be moved after its WARC files were rewritten: kept records name
// captures where they no longer are.
func TestTransferAfterSweep(t *testing.T) {
	s, w, p := crawled(t, storetest.Options(vfs.NewMem()))
	if err := s.Inside().EndFile(); err != nil {
		t.Fatal(err)
	}
	swept, err := retain.Sweep(t.Context(), s, retain.Keep{Versions: 1, Age: time.Minute}, storetest.Begin.AddDate(1, 0, 0))
	if err != nil || swept.Files == 0 {
		t.Fatalf("sweep: %+v, %v", swept, err)
	}
	other := storetest.Open(t, storetest.Options(vfs.NewMem()))
	if _, err := transfer.ImportPartition(other, bytes.NewReader(export(t, s, p))); err != nil {
		t.Fatal(err)
	}
	storetest.Verify(t, other)
	compareBodies(t, s, other, p)
	w.Run(other, 30)
	storetest.Verify(t, other)
}

func compareBodies(t *testing.T, s, other *store.Store, p weburl.Partition) {
	t.Helper()
	pages, bodies := 0, 0
	for page, err := range s.Pages(p) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		twin, err := other.Page(p, page.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(page.Page, twin, cmp.AllowUnexported(weburl.URL{})); diff != "" {
			t.Errorf("%s (-here +there):\n%s", page.URL, diff)
		}
		mine, err1 := s.Versions(p, page.Fingerprint)
		theirs, err2 := other.Versions(p, page.Fingerprint)
		if err := errors.Join(err1, err2); err != nil || len(mine) != len(theirs) {
			t.Fatalf("%d and %d versions, %v", len(mine), len(theirs), err)
		}
		for i := range mine {
			if mine[i].Capture.IsZero() {
				continue
			}
			a, err1 := s.Body(mine[i].Capture)
			b, err2 := other.Body(theirs[i].Capture)
			if diff := cmp.Diff(a, b); diff != "" || err1 != nil || err2 != nil {
				t.Errorf("%s version %d (-here +there): %v %v\n%s", page.URL, i+1, err1, err2, diff)
			}
			bodies++
		}
	}
	if pages == 0 || bodies == 0 {
		t.Errorf("%d pages, %d bodies: nothing was compared", pages, bodies)
	}
}

// TestImportRefuses holds that a stream that cannot be taken in whole leaves nothing.
func TestImportRefuses(t *testing.T) {
	s, _, p := crawled(t, storetest.Options(vfs.NewMem()))
	stream := export(t, s, p)
	changed := bytes.Clone(stream)
	changed[len(changed)-30] ^= 1
	tests := []struct {
		name   string
		stream []byte
		want   error
	}{
		{"nothing", nil, store.ErrCorrupt},
		{"another file", []byte("PK\x03\x04 a long enough beginning"), store.ErrCorrupt},
		{"a cut header", stream[:30], store.ErrCorrupt},
		{"a cut capture", stream[:len(stream)/5], store.ErrCorrupt},
		{"a missing end", stream[:len(stream)-21], store.ErrCorrupt},
		{"a cut end", stream[:len(stream)-1], store.ErrCorrupt},
		{"a changed byte", changed, store.ErrCorrupt},
		{"a length too large", append(bytes.Clone(stream[:len(streamMagic)]), 'H', 0xff, 0xff, 0xff, 0xff), store.ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			to := storetest.Open(t, storetest.Options(vfs.NewMem()))
			if _, err := transfer.ImportPartition(to, bytes.NewReader(test.stream)); !errors.Is(err, test.want) {
				t.Errorf("import: %v: want %v", err, test.want)
			}
			if lines := storetest.Dump(t, to); len(lines) > 0 {
				t.Errorf("%d keys were left", len(lines))
			}
			if _, err := transfer.ImportPartition(to, bytes.NewReader(stream)); err != nil {
				t.Errorf("whole stream after it: %v", err)
			}
			storetest.Verify(t, to)
		})
	}
	t.Run("into itself", func(t *testing.T) {
		if _, err := transfer.ImportPartition(s, bytes.NewReader(stream)); err == nil {
			t.Error("import into a partition that is not empty: no error")
		}
		storetest.Verify(t, s)
	})
	t.Run("another number of partitions", func(t *testing.T) {
		o := storetest.Options(vfs.NewMem())
		o.Partitions = 2 * storetest.Partitions
		if _, err := transfer.ImportPartition(storetest.Open(t, o), bytes.NewReader(stream)); err == nil {
			t.Error("import: no error")
		}
	})
}

// TestImportCrash cuts an import before every change of the disk: the partition is then empty, or
// whole.
func TestImportCrash(t *testing.T) {
	s, _, p := crawled(t, storetest.Options(vfs.NewMem()))
	stream := export(t, s, p)
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	to := storetest.Open(t, storetest.Options(disk))
	if _, err := transfer.ImportPartition(to, bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	whole := len(storetest.Dump(t, to))
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	cuts := disk.Take()
	empty := 0
	for _, cut := range cuts {
		after := storetest.Open(t, storetest.Options(cut.Disk))
		switch n := len(storetest.Dump(t, after)); n {
		case 0:
			empty++
		case whole:
		default:
			t.Errorf("cut before %s left %d keys of %d", cut.Before, n, whole)
		}
		storetest.Verify(t, after)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if empty == 0 || empty == len(cuts) {
		t.Errorf("%d of %d cuts left nothing: want some of each", empty, len(cuts))
	}
}

// FuzzImport holds that no stream makes an import panic or leave keys behind when it fails.
func FuzzImport(f *testing.F) {
	s, _, p := crawled(f, storetest.Options(vfs.NewMem()))
	stream := export(f, s, p)
	f.Add(stream[:200])
	f.Add([]byte(streamMagic))
	f.Add(append([]byte(streamMagic), 'H', 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, stream []byte) {
		to := storetest.Open(t, storetest.Options(vfs.NewMem()))
		if _, err := transfer.ImportPartition(to, bytes.NewReader(stream)); err != nil {
			if lines := storetest.Dump(t, to); len(lines) > 0 {
				t.Errorf("%v left %d keys", err, len(lines))
			}
		}
	})
}
