package trial

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the machine's disk. It survives the lives.
type disk struct {
	fs     *vfs.MemFS
	behind *vfs.MemFS // what a crash leaves of a disk that acknowledges syncs too early; nil: fs itself
}

func newDisk() disk { return disk{fs: vfs.NewCrashableMem()} }

// crash leaves what was synced.
func (d *disk) crash() {
	d.fs = cmp.Or(d.behind, d.fs).CrashClone(vfs.CrashCloneCfg{})
	d.behind = nil
}

// lag makes a crash lose what is written from now until the next lag.
func (d *disk) lag() { d.behind = d.fs.CrashClone(vfs.CrashCloneCfg{}) }

// holds returns the files of a folder that contain a text.
func (d *disk) holds(folder, text string) (files []string, err error) {
	names, err := d.fs.List(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := d.fs.Open(d.fs.PathJoin(folder, name))
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if bytes.Contains(raw, []byte(text)) {
			files = append(files, name)
		}
	}
	return files, nil
}
