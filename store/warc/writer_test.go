package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
)

func options(change ...func(*Options)) Options {
	opt := Options{
		Host: "a-host.example", Now: func() time.Time { return at },
		Info: []Field{{"software", "freshet/1"}, {"robots", "obey"}},
	}
	for _, c := range change {
		c(&opt)
	}
	return opt
}

// pair returns the members, request and response, of the n-th of some captures. They compress to
// about as many bytes as the body has.
func pair(t testing.TB, n, body int) [][]byte {
	t.Helper()
	noise := make([]byte, body)
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	e := NewEncoder(FastLevel)
	var members [][]byte
	for _, r := range []*Record{
		{Type: Response, Date: at, TargetURI: fmt.Sprintf("http://a.example/%d", n), ContentType: TypeResponse, Block: append([]byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), noise...)},
		{Type: Request, Date: at, TargetURI: fmt.Sprintf("http://a.example/%d", n), ContentType: TypeRequest, Block: []byte("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")},
	} {
		m, err := e.AppendMember(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	return members
}

func newWriter(t testing.TB, fs vfs.FS, opt Options) *Writer {
	t.Helper()
	w, err := NewWriter(fs, "warc", opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func list(t testing.TB, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("warc")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestWriter(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			if name == "disk" {
				t.Chdir(t.TempDir())
			}
			const file = "freshet-20260304050607-00000-a_host.example.warc.gz"
			w := newWriter(t, fs, options())
			if got := list(t, fs); len(got) != 0 {
				t.Errorf("files %v before the first capture", got)
			}
			var pointers []Pointer
			var members [][]byte
			for n := range 3 {
				pair := pair(t, n, 100)
				members = append(members, pair...)
				var err error
				if pointers, err = w.Append(pointers, pair...); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{file + ".open"}, list(t, fs)); diff != "" || w.File() != file {
				t.Errorf("File() = %q, while open (-want +got):\n%s", w.File(), diff)
			}
			read := func(when string) {
				for i, p := range pointers {
					got, err := ReadMember(nil, fs, "warc", p)
					if p.File != file || err != nil || !bytes.Equal(got, members[i]) {
						t.Errorf("%s: ReadMember(%v): %v", when, p, err)
					}
				}
			}
			read("open")
			if err := errors.Join(w.Close(), w.Close()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{file}, list(t, fs)); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
			read("closed")
			r, err := Open(fs, fs.PathJoin("warc", file))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			info, err := r.Next()
			if err != nil || info.Type != Warcinfo || info.Filename != file {
				t.Fatalf("first record %+v, %v", info, err)
			}
			block, _ := io.ReadAll(r)
			want, _ := AppendFields(nil, []Field{
				{"software", "freshet/1"}, {"robots", "obey"}, {"format", "WARC File Format 1.1"},
				{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
			})
			if diff := cmp.Diff(string(want), string(block)); diff != "" {
				t.Errorf("warcinfo (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriterRotates(t *testing.T) {
	fs := vfs.NewMem()
	w := newWriter(t, fs, options(func(o *Options) { o.MaxBytes = 3000 }))
	var files []string
	for n, size := range []int{500, 500, 500, 5000, 10, 10} {
		p, err := w.Append(nil, pair(t, n, size)...)
		if err != nil {
			t.Fatal(err)
		}
		if p[0].File != p[1].File {
			t.Errorf("capture %d lies in two files: %v", n, p)
		}
		files = append(files, p[0].File[len("freshet-20260304050607-"):][:5])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"00000", "00000", "00001", "00002", "00003", "00003"}, files); diff != "" {
		t.Errorf("serials (-want +got):\n%s", diff)
	}
	for _, name := range list(t, fs) {
		if strings.HasSuffix(name, ".open") {
			t.Errorf("%s left open", name)
		}
		if keep, size, err := scan(fs, "warc/"+name, 0); keep == 0 || keep != size || err != nil {
			t.Errorf("%s: %d of %d bytes whole, %v", name, keep, size, err)
		}
	}
}

func TestWriterNamesNeverCollide(t *testing.T) {
	fs := vfs.NewMem()
	fs.MkdirAll("warc", 0o755)
	writeFile(t, fs, "warc/p-20260304050607-00000-a_host.example.warc.gz", nil)
	writeFile(t, fs, "warc/p-20260304050607-00001-a_host.example.warc.gz.open", nil)
	w := newWriter(t, fs, options(func(o *Options) { o.Prefix = "p" }))
	got, err := w.Append(nil, pair(t, 0, 10)...)
	if err != nil || got[0].File != "p-20260304050607-00002-a_host.example.warc.gz" {
		t.Errorf("Append = %v, %v", got, err)
	}
	w.Close()
}

func TestWriterRefusesBadInfo(t *testing.T) {
	w := newWriter(t, vfs.NewMem(), options(func(o *Options) { o.Info = []Field{{"operator", "a\nb"}} }))
	if _, err := w.Append(nil, pair(t, 0, 10)...); err == nil {
		t.Error("no error for a line break in the operator's name")
	}
	if err := w.Close(); err == nil {
		t.Error("Close does not tell of the failure")
	}
}

// full is a file system that has no space after some bytes.
func full(fs vfs.FS, when func(errorfs.Op) bool) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if when(op) {
			return syscall.ENOSPC
		}
		return nil
	}))
}

func TestWriterFails(t *testing.T) {
	tests := []struct {
		name string
		kind errorfs.OpKind
	}{
		{"create", errorfs.OpCreate},
		{"write", errorfs.OpFileWrite},
		{"sync", errorfs.OpFileSync},
		{"rename", errorfs.OpRename},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mem := vfs.NewMem()
			var failing bool
			fs := full(mem, func(op errorfs.Op) bool { return failing && op.Kind == tt.kind })
			w := newWriter(t, fs, options(func(o *Options) { o.MaxBytes = 2000 }))
			kept, err := w.Append(nil, pair(t, 0, 1000)...)
			if err := errors.Join(err, w.Sync()); err != nil {
				t.Fatal(err)
			}
			failing = true
			_, err = w.Append(nil, pair(t, 1, 1000)...) // in the next file
			if err = errors.Join(err, w.Sync()); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error %v, want ENOSPC", err)
			}
			failing = false
			if _, err := w.Append(nil, pair(t, 2, 10)...); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Append afterwards: %v, want ErrFailed for ENOSPC", err)
			}
			if err := w.Sync(); !errors.Is(err, ErrFailed) {
				t.Errorf("Sync afterwards: %v, want ErrFailed", err)
			}
			if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Close: %v, want ENOSPC", err)
			}
			if _, err := Recover(mem, "warc", w.Durable()); err != nil {
				t.Fatal(err)
			}
			for _, p := range kept {
				if _, err := ReadAt(mem, "warc", p); err != nil {
					t.Error(err)
				}
			}
			for _, name := range list(t, mem) {
				if strings.HasSuffix(name, ".open") {
					t.Errorf("%s left open", name)
				}
			}
		})
	}
}

// TestWriterSalvages holds that on a real disk a failed writer closes its file at its last durable
// capture.
func TestWriterSalvages(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(vfs.Default, dir, options())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := w.Append(nil, pair(t, 0, 1000)...)
	if err := errors.Join(err, w.Sync()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(nil, pair(t, 1, 1000)...); err != nil {
		t.Fatal(err)
	}
	w.file = &halfWrite{w.file}
	if err := w.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Sync: %v, want ENOSPC", err)
	}
	w.Close()
	path := vfs.Default.PathJoin(dir, kept[0].File)
	info, err := vfs.Default.Stat(path)
	if last := kept[len(kept)-1]; err != nil || info.Size() != last.Offset+last.Length {
		t.Errorf("file %v, %v; want it to end with the capture at %v", info, err, last)
	}
}

// halfWrite is a file with space for half of each write.
type halfWrite struct{ vfs.File }

func (f *halfWrite) Write(p []byte) (int, error) {
	n, _ := f.File.Write(p[:len(p)/2])
	return n, syscall.ENOSPC
}

func (f *halfWrite) Truncate(size int64) error { return f.File.(truncater).Truncate(size) }

// TestWriterCrash cuts the disk after every operation. Recover makes readable whatever Sync confirmed, and leaves
// nothing else open.
func TestWriterCrash(t *testing.T) {
	disk := vfs.NewCrashableMem()
	random := rand.New(rand.NewPCG(1, 1))
	var synced []Pointer
	var durable [2]Extent // at the last sync; and nothing told
	crashes := 0
	crash := func() {
		for _, percent := range []int{0, 50, 100} {
			crashes++
			after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: random})
			if _, err := after.Stat("warc"); err != nil {
				continue
			}
			if _, err := Recover(after, "warc", durable[crashes%2]); err != nil {
				t.Fatal(err)
			}
			for _, p := range synced {
				if _, err := ReadAt(after, "warc", p); err != nil {
					t.Errorf("%d%% of what was not synced kept: %v", percent, err)
				}
			}
			for _, name := range list(t, after) {
				keep, size, err := scan(after, "warc/"+name, 0)
				if strings.HasSuffix(name, ".open") || keep != size || keep == 0 || err != nil {
					t.Errorf("%s: %d of %d bytes whole, %v", name, keep, size, err)
				}
			}
		}
	}
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			crash()
		}
		return nil
	}))
	disk.MkdirAll("warc", 0o755)
	w := newWriter(t, fs, options(func(o *Options) { o.MaxBytes = 4000 }))
	var group []Pointer
	for n := range 12 {
		var err error
		if group, err = w.Append(group, pair(t, n, 700)...); err != nil {
			t.Fatal(err)
		}
		if n%2 == 1 {
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			synced, group = append(synced, group...), nil
			durable[0] = w.Durable()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	crash()
	t.Logf("%d crashes", crashes)
	if len(synced) != 24 || crashes < 60 {
		t.Errorf("%d members synced, %d crashes: the test tests too little", len(synced), crashes)
	}
}
