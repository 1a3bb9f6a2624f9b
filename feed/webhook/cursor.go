package webhook

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// longestCursor bounds a file that holds a cursor, in bytes.
const longestCursor = 1 << 20

// readCursor returns the text of the cursor that a file holds, "" if there is none.
func readCursor(fsys vfs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, longestCursor))
	if len(text) == 0 {
		text = []byte("empty") // which is no cursor, where none would be a new beginning
	}
	return string(text), errors.Join(err, f.Close())
}

// writeCursor puts a cursor into a file, whole or not at all, and durably.
func writeCursor(fsys vfs.FS, name, cursor string) error {
	temp := name + ".new"
	f, err := fsys.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(cursor))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		return err
	}
	dir, err := fsys.OpenDir(fsys.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
