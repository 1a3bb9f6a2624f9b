package store

import (
	"errors"
	"fmt"
	"log/slog"

	"freshet/store/internal/database"
	"freshet/store/internal/format"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
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
	if f.Format >= format.KeyFormat {
		return f.Format, format.WriteInfo(fsys, path, format.Info{Format: Format, Partitions: f.Partitions})
	}
	if err := Room(fsys, path, SizeOf(fsys, d.join(format.DatabaseDir))); err != nil {
		return f.Format, err
	}
	db, err := database.Open(d.join(format.DatabaseDir), database.Options{FS: fsys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return f.Format, fmt.Errorf("store: migrate: open database: %w", err)
	}
	defer func() { err = errors.Join(err, database.Close(db)) }()
	if err := copyKeys(db, byte(f.Format)); err != nil {
		return f.Format, fmt.Errorf("store: migrate: %w", err)
	}
	if err := format.WriteInfo(fsys, path, format.Info{Format: Format, Partitions: f.Partitions}); err != nil {
		return f.Format, err
	}
	return f.Format, dropOlder(db)
}

// lockDirectory locks an existing directory of this format or an older one.
func lockDirectory(fsys vfs.FS, path string) (d *directory, f format.Info, err error) {
	d = &directory{fs: fsys, path: path}
	if _, err := fsys.Stat(d.join(format.InfoFile)); err != nil {
		return nil, f, fmt.Errorf("store: %s is no data directory: %w", path, err)
	}
	if d.lock, err = fsys.Lock(d.join(format.LockFile)); err != nil {
		return nil, f, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	if f, err = format.ReadInfo(fsys, path); err != nil && !errors.Is(err, ErrOutdated) {
		return nil, f, errors.Join(err, d.lock.Close())
	}
	return d, f, nil
}

// copyKeys puts every key of an older format beside it under keyFormat; the values are the same.
func copyKeys(db *pebble.DB, from byte) error {
	if err := database.Drop(db, []byte{format.KeyFormat}, []byte{format.KeyFormat + 1}); err != nil { // of one that was cut
		return err
	}
	batch := db.NewBatch()
	err := database.Scan(db, []byte{from}, []byte{from + 1}, func(key, value []byte) error {
		copied := append([]byte{format.KeyFormat}, key[1:]...)
		if err := batch.Set(copied, value, nil); err != nil || batch.Len() < importBatch {
			return err
		}
		full := batch
		batch = db.NewBatch()
		return database.Commit(full, pebble.NoSync)
	})
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	return database.Commit(batch, pebble.Sync)
}

// dropOlder deletes the keys of older formats, if there are any.
func dropOlder(db *pebble.DB) error {
	from, to := []byte{format.Oldest}, []byte{format.KeyFormat}
	found := false
	err := database.Scan(db, from, to, func(_, _ []byte) error { found = true; return database.ErrStop })
	if err != nil || !found {
		return err
	}
	return database.Drop(db, from, to)
}
