package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// Names in a data directory.
const (
	formatFile  = "freshet.json"
	lockFile    = "LOCK"
	ballastFile = "ballast"
	dbDir       = "db"
	warcDir     = "warc"
)

// InFlightPrefix begins the name of the file in which a crawl notes the pages that are being processed; the name of
// the crawl ends it.
const InFlightPrefix = "inflight-"

// ballastBytes is the disk space held back for a clean end when the disk is full.
const ballastBytes = 16 << 20

// directory is a locked data directory.
type directory struct {
	fs         vfs.FS
	path       string
	lock       io.Closer
	partitions int
	fresh      bool // made by openDirectory
}

// format is the content of freshet.json.
type format struct {
	Format     int `json:"format"`
	Partitions int `json:"partitions"`
}

// Exists reports whether there is a data directory at path.
func Exists(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(fsys.PathJoin(path, formatFile))
	return err == nil
}

// openDirectory locks the data directory at path and reads its format. Where make is set it makes one of the
// given number of partitions if there is none, and raises the format of one whose keys are this program's.
func openDirectory(fsys vfs.FS, path string, partitions int, make bool) (_ *directory, err error) {
	d := &directory{fs: fsys, path: path}
	if make {
		if err := makeDir(fsys, path); err != nil {
			return nil, err
		}
		keepPrivate(fsys, path)
		if err := Room(fsys, path, d.ballastToLay()); err != nil {
			return nil, err
		}
	} else if _, err := fsys.Stat(d.join(formatFile)); err != nil {
		return nil, fmt.Errorf("store: %s is no data directory: %w", path, err)
	}
	if d.lock, err = fsys.Lock(d.join(lockFile)); errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("store: lock %s: %w", path, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.lock.Close())
		}
	}()
	f, err := readFormat(fsys, d.join(formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.has(dbDir): // it is written before the database is made
		err = fmt.Errorf("%w: %s: %s is lost", ErrCorrupt, path, formatFile)
	case errors.Is(err, fs.ErrNotExist):
		d.fresh = true
		f = format{Format, partitions}
		err = d.writeFormat(f)
	case err == nil && f.Format < Format && make: // an older program cannot read what is written from here on
		f.Format = Format
		err = d.writeFormat(f)
	}
	if err != nil {
		return nil, err
	}
	d.partitions = f.Partitions
	return d, nil
}

// readFormat reads a freshet.json. The errors are ErrFormat, ErrCorrupt and, of a directory whose keys are not
// this program's, ErrOutdated: then what it says is returned too.
func readFormat(fsys vfs.FS, name string) (f format, err error) {
	raw, err := readFile(fsys, name, 1<<16)
	if err != nil {
		return f, fmt.Errorf("store: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	switch {
	case f.Format > Format:
		return f, fmt.Errorf("%w: %s: format %d: this program knows up to %d", ErrFormat, name, f.Format, Format)
	case f.Format < oldestFormat || f.Partitions < 1 || f.Partitions > weburl.MaxPartitions:
		return f, fmt.Errorf("%w: %s: format %d, %d partitions: want format %d, 1 to %d partitions", ErrCorrupt, name, f.Format, f.Partitions, Format, weburl.MaxPartitions)
	case f.Format < keyFormat:
		return f, fmt.Errorf("%w: %s: format %d: this program has %d; freshet migrate brings it there", ErrOutdated, name, f.Format, Format)
	}
	return f, nil
}

func (d *directory) has(name string) bool {
	_, err := d.fs.Stat(d.join(name))
	return err == nil
}

func (d *directory) join(name string) string { return d.fs.PathJoin(d.path, name) }

// writeFormat writes freshet.json so that it is there whole or not at all.
func (d *directory) writeFormat(f format) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	temp := d.join(formatFile + ".new")
	if err := writeFile(d.fs, temp, append(raw, '\n')); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := d.fs.Rename(temp, d.join(formatFile)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return syncDir(d.fs, d.path)
}

// ballastToLay is how many bytes layBallast will take up.
func (d *directory) ballastToLay() int64 {
	if info, err := d.fs.Stat(d.join(ballastFile)); err == nil && !hollow(info) {
		return 0
	}
	return ballastBytes
}

// layBallast takes up space that dropBallast gives back. A ballast that is there may be a copy, which has a length
// and no blocks: it gets them. The error is ErrDiskFull if there is no room for it.
func (d *directory) layBallast() error {
	if d.ballastToLay() == 0 {
		return nil
	}
	f, err := d.fs.OpenReadWrite(d.join(ballastFile), vfs.WriteCategoryUnspecified)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.fs.Create(d.join(ballastFile), vfs.WriteCategoryUnspecified)
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
	err := d.fs.Remove(d.join(ballastFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeDir makes the directory at path, and its parents, durable in their parent.
func makeDir(fsys vfs.FS, path string) error {
	if _, err := fsys.Stat(path); err == nil {
		return nil
	}
	if err := fsys.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	parent := fsys.PathDir(path)
	if parent == path || parent == "." {
		parent = "."
	}
	return syncDir(fsys, parent)
}

func syncDir(fsys vfs.FS, path string) error {
	dir, err := fsys.OpenDir(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("store: sync %s: %w", path, err)
	}
	return nil
}

// readFile returns the content of a file, which must not be longer than limit bytes.
func readFile(fsys vfs.FS, name string, limit int64) (_ []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%w: %s: longer than %d bytes", ErrCorrupt, name, limit)
	}
	return raw, err
}

func writeFile(fsys vfs.FS, name string, content []byte) (err error) {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
