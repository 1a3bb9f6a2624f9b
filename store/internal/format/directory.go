package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// Names in a data directory.
const (
	InfoFile      = "freshet.json"
	LockFile      = "LOCK"
	BallastFile   = "ballast"
	HighwaterFile = "highwater"
	OrdersFile    = "orders"
	OrdersCopy    = "orders.copy"
	DatabaseDir   = "db"
	MendedDir     = "db.mended" // the new database of a repair, before it replaces the old one
	CapturesDir   = "warc"
	SegmentsFile  = "segments" // lists the captures that are in an object store
	CacheDir      = "cache"    // their recently read parts
	// IndexDir holds the full-text indexes of the crawls. They are derived from the rest, and rebuilt if they are
	// missing.
	IndexDir = "index"
	// AsideDir holds what a repair could not use: damaged WARC files as they were, and rows, a JSON object a line.
	AsideDir = "aside"
	// TempDir holds files that are made for export, such as a snapshot that is written to standard output. Only the
	// process with the directory's lock uses it. So whatever is in it at an opening is left over from a process
	// that died.
	TempDir = "tmp"
	// SnapshotFile describes a snapshot. A folder with this file is a snapshot.
	SnapshotFile = "snapshot.json"
)

// RefuseSnapshot returns an error if dir is a snapshot. Whatever opens a directory for writing calls it: a snapshot
// that is written to can no longer be restored.
func RefuseSnapshot(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(fsys.PathJoin(dir, SnapshotFile)); err != nil {
		return nil
	}
	return fmt.Errorf("store: %s is a snapshot: make a data directory of it with freshet restore --data OTHER %[1]s", dir)
}

// Lock keeps other processes out of a data directory. It returns ErrLocked if one uses it, and errors of the file
// system that say where the lock lies: a disk may be read-only, or without locks.
func Lock(fsys vfs.FS, dir string) (io.Closer, error) {
	lock, err := fsys.Lock(fsys.PathJoin(dir, LockFile))
	if _, ok := errors.AsType[*fs.PathError](err); ok || errors.Is(err, syscall.ENOLCK) {
		return nil, fmt.Errorf("store: lock %s: %w", dir, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, dir, err)
	}
	return lock, nil
}

// Unwritten is a file system for reading only. On a disk that nobody can write to, it locks nothing.
type Unwritten struct{ vfs.FS }

// Lock locks a file, unless the disk is read-only.
func (u Unwritten) Lock(name string) (io.Closer, error) {
	lock, err := u.FS.Lock(name)
	if errors.Is(err, syscall.EROFS) {
		return io.NopCloser(nil), nil
	}
	return lock, err
}

// Formats of the data directory. Every key begins with the format in which keys were last rewritten (KeyFormat). So
// keys of two formats can exist side by side during a migration.
//
//	1  the first
//	2  versions may begin after the first (Page.Pruned), captures may move (Relocated), sites may be
//	   purged: what a program of format 1 would take for damage
//	3  links may be compressed: what a program of format 2 would take for damage. The keys are those of 2,
//	   so that a directory of format 2 is opened as it is, and is of format 3 once it may be written to
//	4  pages may have crashed and have strikes (Struck), hosts may lie in another partition than their name says:
//	   what a program of format 3 would take for damage. Opened as 3 is
//	5  partitions may have different owners (Arrived, Parted, Taken): a program of format 4 takes that for damage,
//	   and forget links that are on their way. Opened as 4 is
//	6  WARC files may be in an object store: a program of format 5 would take them for lost. Opened as 5 is
//	7  operators may set the pace of sites (Paced): what a program of format 6 would take for damage. Opened as 6 is
const (
	Current = 7 // of the data directories that this program makes
	Oldest  = 1 // that can be migrated
)

// Info is the content of freshet.json.
type Info struct {
	Format     int `json:"format"`
	Partitions int `json:"partitions"`
}

// ReadInfo reads the freshet.json of a directory. The errors are ErrFormat, ErrCorrupt, and ErrOutdated for a
// directory with keys of an older format. With ErrOutdated it also returns the content.
func ReadInfo(fsys vfs.FS, dir string) (f Info, err error) {
	name := fsys.PathJoin(dir, InfoFile)
	raw, err := ReadFile(fsys, name, 1<<16)
	if err != nil {
		return f, fmt.Errorf("store: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	switch {
	case f.Format > Current:
		return f, fmt.Errorf("%w: %s: format %d: this program reads up to format %d", ErrFormat, name, f.Format, Current)
	case f.Format < Oldest || f.Partitions < 1 || f.Partitions > weburl.MaxPartitions:
		return f, fmt.Errorf("%w: %s: format %d, %d partitions: want format %d, 1 to %d partitions", ErrCorrupt, name, f.Format, f.Partitions, Current, weburl.MaxPartitions)
	case f.Format < KeyFormat:
		return f, fmt.Errorf("%w: %s: format %d: this program has %d; freshet migrate brings it there", ErrOutdated, name, f.Format, Current)
	}
	return f, nil
}

// WriteInfo writes the freshet.json of a directory atomically.
func WriteInfo(fsys vfs.FS, dir string, f Info) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	name := fsys.PathJoin(dir, InfoFile)
	if err := WriteFile(fsys, name+".new", append(raw, '\n')); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := fsys.Rename(name+".new", name); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return SyncDir(fsys, dir)
}

// MakeDir makes the directory at path, and its parents, durable in their parent.
func MakeDir(fsys vfs.FS, path string) error {
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
	return SyncDir(fsys, parent)
}

// SyncDir makes the names in a folder durable.
func SyncDir(fsys vfs.FS, path string) error {
	dir, err := fsys.OpenDir(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("store: sync %s: %w", path, err)
	}
	return nil
}

// ReadFile returns the content of a file. The file must not be longer than limit bytes.
func ReadFile(fsys vfs.FS, name string, limit int64) (_ []byte, err error) {
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

// WriteFile creates a file with the given content. The content is durable; the name is not.
func WriteFile(fsys vfs.FS, name string, content []byte) (err error) {
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
