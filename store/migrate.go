package store

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Formats of the data directory. Every key begins with the format in which keys were last written anew
// (keyFormat), so that those of two lie side by side while one is made of the other.
//
//	1  the first
//	2  versions may begin after the first (Page.Pruned), captures may move (Relocated), sites may be
//	   purged: what a program of format 1 would take for damage
//	3  links may be compressed: what a program of format 2 would take for damage. The keys are those of 2,
//	   so that a directory of format 2 is opened as it is, and is of format 3 once it may be written to
//	4  pages may have crashed and have strikes (Struck), hosts may lie in another partition than their name says:
//	   what a program of format 3 would take for damage. Opened as 3 is
const (
	Format       = 4 // of the data directories that this program makes
	oldestFormat = 1 // that Migrate reads
)

// Migrate brings the data directory at path, which an older program has left, to this program's format,
// and returns the format that it had. WARC files are not touched. A crash at any moment leaves the old
// format or the new one, whole; a migration that was cut is begun anew by the next call. It takes about
// as much space as the database has, until it ends, and time to copy it; nothing if the keys stay as they are.
//
// The errors are ErrLocked, ErrDiskFull before anything is written, ErrFormat for a newer directory, ErrCorrupt and those of the file system.
func Migrate(fsys vfs.FS, path string) (from int, err error) {
	d, f, err := lockDirectory(fsys, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.lock.Close()) }()
	if f.Format >= keyFormat {
		return f.Format, d.writeFormat(format{Format, f.Partitions})
	}
	if err := Room(fsys, path, SizeOf(fsys, d.join(dbDir))); err != nil {
		return f.Format, err
	}
	db, err := pebble.Open(d.join(dbDir), &pebble.Options{FS: fsys, FormatMajorVersion: pebble.FormatNewest, Logger: dbLogger{slog.New(slog.DiscardHandler)}})
	if err != nil {
		return f.Format, fmt.Errorf("store: migrate: open database: %w", err)
	}
	defer func() { err = errors.Join(err, closeDB(db)) }()
	if err := copyKeys(db, byte(f.Format)); err != nil {
		return f.Format, fmt.Errorf("store: migrate: %w", err)
	}
	if err := d.writeFormat(format{Format, f.Partitions}); err != nil {
		return f.Format, err
	}
	return f.Format, dropOlder(db)
}

// lockDirectory locks an existing directory of this format or an older one.
func lockDirectory(fsys vfs.FS, path string) (d *directory, f format, err error) {
	d = &directory{fs: fsys, path: path}
	if _, err := fsys.Stat(d.join(formatFile)); err != nil {
		return nil, f, fmt.Errorf("store: %s is no data directory: %w", path, err)
	}
	if d.lock, err = fsys.Lock(d.join(lockFile)); err != nil {
		return nil, f, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	if f, err = readFormat(fsys, d.join(formatFile)); err != nil && !errors.Is(err, ErrOutdated) {
		return nil, f, errors.Join(err, d.lock.Close())
	}
	return d, f, nil
}

// copyKeys puts every key of an older format beside it under keyFormat; the values are the same.
func copyKeys(db *pebble.DB, from byte) error {
	if err := dropRange(db, []byte{keyFormat}, []byte{keyFormat + 1}); err != nil { // of one that was cut
		return err
	}
	batch := db.NewBatch()
	err := scan(db, []byte{from}, []byte{from + 1}, func(key, value []byte) error {
		copied := append([]byte{keyFormat}, key[1:]...)
		if err := batch.Set(copied, value, nil); err != nil || batch.Len() < importBatch {
			return err
		}
		full := batch
		batch = db.NewBatch()
		return commit(full, pebble.NoSync)
	})
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	return commit(batch, pebble.Sync)
}

// dropOlder deletes the keys of older formats, if there are any.
func dropOlder(db *pebble.DB) error {
	from, to := []byte{oldestFormat}, []byte{keyFormat}
	err := scan(db, from, to, func(_, _ []byte) error { return errStop })
	if !errors.Is(err, errStop) {
		return err
	}
	return dropRange(db, from, to)
}

func dropRange(db *pebble.DB, from, to []byte) error {
	batch := db.NewBatch()
	if err := batch.DeleteRange(from, to, nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return commit(batch, pebble.Sync)
}
