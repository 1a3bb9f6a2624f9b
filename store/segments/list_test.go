package segments

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
)

// TestShortLine has the disk be full in the middle of a line of the list. What is noted after that can be read.
func TestShortLine(t *testing.T) {
	disk := &fullDisk{FS: vfs.NewMem()}
	if err := format.MakeDir(disk, "data"); err != nil {
		t.Fatal(err)
	}
	l, err := readList(disk, "data")
	if err == nil {
		err = l.write()
	}
	if err != nil {
		t.Fatal(err)
	}
	disk.full = true
	if err := l.note(Segment{Name: "a.warc.gz"}, moved); !errors.Is(err, errFull) {
		t.Errorf("a note on a full disk: %v", err)
	}
	disk.full = false
	if err := l.note(Segment{Name: "b.warc.gz", SHA256: "abc"}, moved); err != nil {
		t.Fatal(err)
	}
	again, err := readList(disk, "data")
	if err != nil || again.damaged || again.moved["b.warc.gz"].SHA256 != "abc" || len(again.moved) != 1 {
		t.Errorf("read again: damaged %v, %v, %v", again.damaged, again.moved, err)
	}
}

var errFull = errors.New("no space left")

// fullDisk is a disk that can take only half of a write.
type fullDisk struct {
	vfs.FS
	full bool
}

func (d *fullDisk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, category, opts...)
	return fullFile{f, d}, err
}

type fullFile struct {
	vfs.File
	disk *fullDisk
}

func (f fullFile) WriteAt(p []byte, at int64) (int, error) {
	if !f.disk.full {
		return f.File.WriteAt(p, at)
	}
	n, err := f.File.WriteAt(p[:len(p)/2], at)
	return n, errors.Join(err, errFull)
}
