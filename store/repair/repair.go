package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
)

// repairFolder is where a new database is written: an opening clears the folder.
const repairFolder = format.TempDir + "/db"

// tableKind ends the name of a table.
const tableKind = ".sst"

// Directory repairs a data directory so far that the store opens it with Options.Repairing. If it cannot read the whole
// database, it sets it aside and makes a new one from what it can read. It writes freshet.json again if that is lost.
// It calls report for what it did, and reports whether rows may be lost.
// A crash at any moment leaves a directory that the next call repairs.
func Directory(ctx context.Context, fsys vfs.FS, dir string, report func(store.Problem)) (lost bool, err error) {
	lock, err := store.Lock(fsys, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	db := fsys.PathJoin(dir, format.DatabaseDir)
	lost, err = resume(fsys, dir)
	if err != nil {
		return false, fmt.Errorf("repair: %w", err)
	}
	if fault := sound(fsys, db); fault != nil {
		lost = true
		report(store.Problem{Place: format.DatabaseDir, Text: fault.Error()})
		if err := replace(ctx, fsys, dir, report); err != nil {
			return lost, fmt.Errorf("repair: %w", err)
		}
	}
	wrote, err := mendFormat(fsys, dir)
	if wrote {
		report(store.Problem{Place: format.InfoFile, Text: "it could not be read, and is written again"})
	}
	return lost, err
}

// resume ends a replacement that was cut after the damaged database was set aside.
func resume(fsys vfs.FS, dir string) (bool, error) {
	db, whole := fsys.PathJoin(dir, format.DatabaseDir), fsys.PathJoin(dir, format.MendedDir)
	_, err := fsys.Stat(whole)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if _, err := fsys.Stat(db); !errors.Is(err, fs.ErrNotExist) {
		return true, errors.Join(err, fsys.RemoveAll(whole))
	}
	return true, errors.Join(fsys.Rename(whole, db), format.SyncDir(fsys, dir))
}

// replace makes a new database from what it can read of the damaged one, and puts it in its place.
func replace(ctx context.Context, fsys vfs.FS, dir string, report func(store.Problem)) error {
	db, part, whole := fsys.PathJoin(dir, format.DatabaseDir), fsys.PathJoin(dir, repairFolder), fsys.PathJoin(dir, format.MendedDir)
	if err := store.Room(fsys, dir, 2*store.SizeOf(fsys, db)); err != nil { // sorted, and written
		return err
	}
	if err := fsys.MkdirAll(fsys.PathDir(part), 0o700); err != nil {
		return err
	}
	err := gather(ctx, fsys, db, part, func(file, what string) { report(store.Problem{Place: file, Text: what}) })
	if err != nil {
		return err
	}
	aside := fsys.PathJoin(dir, format.AsideDir)
	if err := errors.Join(fsys.MkdirAll(aside, 0o700), fsys.Rename(part, whole), format.SyncDir(fsys, dir)); err != nil {
		return err
	}
	if _, err := fsys.Stat(db); err == nil {
		var to string
		for n := 0; ; n++ {
			to = fsys.PathJoin(aside, fmt.Sprintf("%s-%d", format.DatabaseDir, n))
			if _, err := fsys.Stat(to); errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if err := errors.Join(fsys.Rename(db, to), format.SyncDir(fsys, aside)); err != nil {
			return err
		}
		report(store.Problem{Place: format.DatabaseDir, Text: "what could be read is in a new one; the damaged one is set aside"})
	}
	return errors.Join(fsys.Rename(whole, db), format.SyncDir(fsys, dir))
}

// sound returns what is wrong with a database. A sound one opens, can be read completely, and has no stray tables.
func sound(fsys vfs.FS, dir string) (fault error) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Errorf("%v", r)
		}
	}()
	if _, err := fsys.Stat(dir); err != nil {
		return errors.New("it is not there")
	}
	o := &pebble.Options{FS: fsys, ReadOnly: true, Logger: quiet{}, EventListener: &pebble.EventListener{
		DataCorruption: func(pebble.DataCorruptionInfo) {}, BackgroundError: func(error) {},
	}, DisableTableStats: true}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return err
	}
	defer func() { fault = errors.Join(fault, db.Close()) }()
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if _, err := it.ValueAndErr(); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	levels, err := db.SSTables()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, level := range levels {
		for _, t := range level {
			known[fmt.Sprintf("%06d%s", uint64(t.FileNum), tableKind)] = true
		}
	}
	names, err := fsys.List(dir)
	for _, name := range names {
		switch {
		case !strings.HasSuffix(name, tableKind):
		case !known[name]:
			return fmt.Errorf("it does not know of its table %s", name)
		default:
			err = errors.Join(err, whole(fsys, fsys.PathJoin(dir, name)))
		}
	}
	return err
}

// whole checks every block of a table.
func whole(fsys vfs.FS, path string) (err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", fsys.PathBase(path), err), readable.Close())
	}
	if err := r.ValidateBlockChecksums(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", fsys.PathBase(path), err), r.Close())
	}
	return r.Close()
}
