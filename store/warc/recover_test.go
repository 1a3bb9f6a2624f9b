package warc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
)

// TestRecoverCuts gives Recover a file cut after every byte.
func TestRecoverCuts(t *testing.T) {
	data, starts := file(t, "members")
	ends := append(starts[1:], int64(len(data)))
	systems := map[string]func(t *testing.T) (vfs.FS, string){
		"copy":     func(t *testing.T) (vfs.FS, string) { return vfs.NewMem(), "" },
		"truncate": func(t *testing.T) (vfs.FS, string) { return vfs.Default, t.TempDir() },
	}
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			for n := 0; n <= len(data); n += 7 {
				var want Recovered
				for _, end := range ends[1:] { // the first record is the warcinfo
					if end <= int64(n) {
						want = Recovered{File: "f.warc.gz", Bytes: end, Cut: int64(n) - end}
					}
				}
				if want.Bytes == 0 {
					want = Recovered{File: "f.warc.gz", Cut: int64(n), Removed: true}
				}
				fs, dir := system(t)
				writeFile(t, fs, fs.PathJoin(dir, "f.warc.gz.open"), data[:n])
				writeFile(t, fs, fs.PathJoin(dir, "other"), nil)
				got, err := Recover(fs, dir, Extent{})
				if diff := cmp.Diff([]Recovered{want}, got); diff != "" || err != nil {
					t.Fatalf("cut after %d bytes: %v (-want +got):\n%s", n, err, diff)
				}
				if again, err := Recover(fs, dir, Extent{}); len(again) != 0 || err != nil {
					t.Errorf("again: %v, %v", again, err)
				}
				if want.Removed {
					if names, _ := fs.List(dir); len(names) != 1 {
						t.Errorf("files %v are left of a file without captures", names)
					}
				} else if left := readFile(t, fs, fs.PathJoin(dir, "f.warc.gz")); !bytes.Equal(left, data[:want.Bytes]) {
					t.Errorf("cut after %d bytes: %d bytes are left, not the first %d", n, len(left), want.Bytes)
				}
			}
		})
	}
}

func TestRecoverCutsZeros(t *testing.T) {
	data, _ := file(t, "members")
	fs := vfs.NewMem()
	writeFile(t, fs, "f.warc.gz.open", append(bytes.Clone(data), make([]byte, 5000)...))
	got, err := Recover(fs, "", Extent{})
	want := []Recovered{{File: "f.warc.gz", Bytes: int64(len(data)), Cut: 5000}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestRecoverSpares holds that Recover keeps bytes unread if it knows them to be durable, and only in the file that
// they belong to.
func TestRecoverSpares(t *testing.T) {
	data, starts := file(t, "members")
	durable := starts[3]
	faulty := bytes.Clone(data)
	faulty[starts[2]+20] ^= 255
	tests := []struct {
		name  string
		data  []byte
		known Extent
		keep  int64
	}{
		{"nothing known", faulty, Extent{}, starts[2]},
		{"of another file", faulty, Extent{"g.warc.gz", durable}, starts[2]},
		{"faults before are kept", faulty, Extent{"f.warc.gz", durable}, int64(len(data))},
		{"a torn tail is cut", faulty[:len(data)-1], Extent{"f.warc.gz", durable}, starts[len(starts)-1]},
		{"nothing after it", data[:durable], Extent{"f.warc.gz", durable}, durable},
		{"zeros after it", append(bytes.Clone(data[:durable]), make([]byte, 100)...), Extent{"f.warc.gz", durable}, durable},
		{"a shorter file is read whole", faulty[:durable-1], Extent{"f.warc.gz", durable}, starts[2]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMem()
			writeFile(t, fs, "f.warc.gz.open", test.data)
			got, err := Recover(fs, "", test.known)
			want := []Recovered{{File: "f.warc.gz", Bytes: test.keep, Cut: int64(len(test.data)) - test.keep}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestRecoverFails holds that an error of the disk, at any operation, leaves files that the next
// Recover repairs without loss.
func TestRecoverFails(t *testing.T) {
	data, starts := file(t, "members")
	whole := starts[len(starts)-1]
	for n := range int32(60) {
		mem := vfs.NewMem()
		writeFile(t, mem, "f.warc.gz.open", data[:whole+5])
		_, err := Recover(errorfs.Wrap(mem, errorfs.OnIndex(n)), "", Extent{})
		if err == nil && n == 0 {
			t.Error("no error although listing fails")
		}
		if err != nil && !errors.Is(err, errorfs.ErrInjected) {
			t.Errorf("operation %d: %v", n, err)
		}
		if _, err := Recover(mem, "", Extent{}); err != nil {
			t.Fatal(err)
		}
		names, _ := mem.List("")
		if left := readFile(t, mem, "f.warc.gz"); !bytes.Equal(left, data[:whole]) || len(names) != 1 {
			t.Errorf("operation %d failed: %d of %d bytes in files %v", n, len(left), whole, names)
		}
	}
}
