package feed

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// longestKept bounds a file that holds a text, in bytes.
const longestKept = 1 << 20

// ReadKept returns the text that a file of WriteKept holds, such as a cursor, "" if there is none.
func ReadKept(fsys vfs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, longestKept))
	if len(text) == 0 {
		text = []byte("empty") // which is not a cursor, where none would be a new beginning
	}
	return string(text), errors.Join(err, f.Close())
}

// WriteKept puts a text into a file, whole or not at all, and durably.
func WriteKept(fsys vfs.FS, name, text string) error {
	temp := name + ".new"
	f, err := fsys.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
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

const (
	firstRetry  = time.Second
	longestWait = time.Hour // between attempts
)

// Backoff returns how long to wait when an attempt to hand something on has failed after so many that did before: a
// second, then twice as long each time, up to an hour, of which between half and all is waited.
func Backoff(failures int, rng *rand.Rand) time.Duration {
	longest := min(firstRetry<<min(failures, 12), longestWait)
	return longest/2 + time.Duration(rng.Int64N(int64(longest/2)+1))
}
