package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
)

// Migrate migrates the data directory at path from an older format to this program's, and returns the old format.
// It does not touch WARC files. After a crash the directory has the old format or the new one, whole; the next call
// starts an interrupted migration again. A migration that changes keys takes as much disk space as the database,
// until it ends, and the time to copy it.
//
// The errors are store.ErrLocked, store.ErrDiskFull before anything is written, store.ErrFormat for a newer directory,
// store.ErrCorrupt and those of the file system.
func Migrate(fsys vfs.FS, path string) (from int, err error) {
	if err := format.RefuseSnapshot(fsys, path); err != nil {
		return 0, err
	}
	lock, f, err := lockDirectory(fsys, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if f.Format >= format.KeyFormat {
		return f.Format, format.WriteInfo(fsys, path, format.Info{Format: store.Format, Partitions: f.Partitions})
	}
	if err := store.Room(fsys, path, store.SizeOf(fsys, fsys.PathJoin(path, format.DatabaseDir))); err != nil {
		return f.Format, err
	}
	db, err := database.Open(fsys.PathJoin(path, format.DatabaseDir), database.Options{FS: fsys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return f.Format, fmt.Errorf("store: migrate: open database: %w", err)
	}
	defer func() { err = errors.Join(err, database.Close(db)) }()
	if err := copyKeys(db, byte(f.Format)); err != nil {
		return f.Format, fmt.Errorf("store: migrate: %w", err)
	}
	if err := format.WriteInfo(fsys, path, format.Info{Format: store.Format, Partitions: f.Partitions}); err != nil {
		return f.Format, err
	}
	return f.Format, format.DropOlder(db)
}

// lockDirectory locks an existing directory of this format or an older one.
func lockDirectory(fsys vfs.FS, path string) (lock io.Closer, f format.Info, err error) {
	if !store.Exists(fsys, path) {
		return nil, f, fmt.Errorf("store: %s is not a data directory: %w", path, fs.ErrNotExist)
	}
	if lock, err = format.Lock(fsys, path); err != nil {
		return nil, f, err
	}
	if f, err = format.ReadInfo(fsys, path); err != nil && !errors.Is(err, store.ErrOutdated) {
		return nil, f, errors.Join(err, lock.Close())
	}
	return lock, f, nil
}

// copyBatch is how many bytes of keys and values are copied at once.
const copyBatch = 1 << 20

// copyKeys copies every key of an older format to the same key under KeyFormat, with the same value.
func copyKeys(db *pebble.DB, from byte) error {
	// left by an interrupted migration
	if err := database.Drop(db, []byte{format.KeyFormat}, []byte{format.KeyFormat + 1}); err != nil {
		return err
	}
	batch := db.NewBatch()
	err := database.Scan(db, []byte{from}, []byte{from + 1}, func(key, value []byte) error {
		copied := append([]byte{format.KeyFormat}, key[1:]...)
		if err := batch.Set(copied, value, nil); err != nil || batch.Len() < copyBatch {
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
