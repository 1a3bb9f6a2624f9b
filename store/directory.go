package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"freshet/store/internal/format"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// InFlightPrefix and the name of a crawl are the name of a file. In it the crawl notes the pages that it is
// processing.
const InFlightPrefix = "inflight-"

// Format is the format of the data directories that this program makes.
const Format = format.Current

// ballastBytes is the disk space reserved for a clean stop when the disk is full.
const ballastBytes = 16 << 20

// directory is a locked data directory.
type directory struct {
	fs         vfs.FS
	path       string
	lock       io.Closer
	partitions int
	fresh      bool // made by openDirectory
}

// Exists reports whether there is a data directory at path.
func Exists(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(fsys.PathJoin(path, format.InfoFile))
	return err == nil
}

// PartitionsAt returns how many partitions the data directory at path has. It returns the argument otherwise if
// there is no directory.
func PartitionsAt(fsys vfs.FS, path string, otherwise int) (int, error) {
	if !Exists(fsys, path) {
		return otherwise, nil
	}
	f, err := format.ReadInfo(fsys, path)
	return f.Partitions, err
}

// Lock keeps other processes out of a data directory that is not opened. It returns ErrLocked if one uses it. It
// refuses a snapshot, and leaves it as it is.
func Lock(fsys vfs.FS, path string) (io.Closer, error) {
	if err := format.RefuseSnapshot(fsys, path); err != nil {
		return nil, err
	}
	return format.Lock(fsys, path)
}

// openDirectory locks the data directory at path and reads its format. If make is set, it creates a missing
// directory with the given number of partitions, and raises the format of an older one with compatible keys.
func openDirectory(fsys vfs.FS, path string, partitions int, make bool) (_ *directory, err error) {
	d := &directory{fs: fsys, path: path}
	if make {
		if err := format.RefuseSnapshot(fsys, path); err != nil {
			return nil, err
		}
		if err := format.MakeDir(fsys, path); err != nil {
			return nil, err
		}
		keepPrivate(fsys, path)
		if err := Room(fsys, path, d.ballastToLay()); err != nil {
			return nil, err
		}
	} else if _, err := fsys.Stat(d.join(format.InfoFile)); err != nil {
		return nil, fmt.Errorf("store: %s is not a data directory: %w", path, err)
	}
	if d.lock, err = format.Lock(fsys, path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.lock.Close())
		}
	}()
	f, err := format.ReadInfo(fsys, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.has(format.DatabaseDir): // FORMAT is written before the database
		err = fmt.Errorf("%w: %s: %s is lost", ErrCorrupt, path, format.InfoFile)
	case errors.Is(err, fs.ErrNotExist):
		d.fresh = true
		f = format.Info{Format: Format, Partitions: partitions}
		err = format.WriteInfo(fsys, path, f)
	case err == nil && f.Format < Format && make: // older programs cannot read what is written from now on
		f.Format = Format
		err = format.WriteInfo(fsys, path, f)
	}
	if err != nil {
		return nil, err
	}
	d.partitions = f.Partitions
	return d, nil
}

// unmake takes back a directory that openDirectory made, if it has no database yet. Otherwise the database would seem
// to be lost.
func (d *directory) unmake() error {
	if !d.fresh || d.has(format.DatabaseDir) {
		return nil
	}
	return d.fs.Remove(d.join(format.InfoFile))
}

func (d *directory) has(name string) bool {
	_, err := d.fs.Stat(d.join(name))
	return err == nil
}

func (d *directory) join(name string) string { return d.fs.PathJoin(d.path, name) }

// ballastToLay is how many bytes layBallast will take up.
func (d *directory) ballastToLay() int64 {
	if info, err := d.fs.Stat(d.join(format.BallastFile)); err == nil && !hollow(info) {
		return 0
	}
	return ballastBytes
}

// layBallast takes disk space that dropBallast frees. An existing ballast may be a sparse copy, with a length but
// no blocks; layBallast fills it. The error is ErrDiskFull if there is no room.
func (d *directory) layBallast() error {
	if d.ballastToLay() == 0 {
		return nil
	}
	f, err := d.fs.OpenReadWrite(d.join(format.BallastFile), vfs.WriteCategoryUnspecified)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.fs.Create(d.join(format.BallastFile), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	err = errors.Join(f.Preallocate(0, ballastBytes), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("store: %w", err), d.dropBallast())
	}
	return nil
}

func (d *directory) dropBallast() error {
	err := d.fs.Remove(d.join(format.BallastFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
