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
		text = []byte("empty") // not a cursor, because "" would be a new beginning
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

// Backoff returns how long to wait after a failed delivery. failures is the number of failed attempts before it. The
// wait is a second, then doubles each time up to an hour; up to half of it is taken off at random.
func Backoff(failures int, rng *rand.Rand) time.Duration {
	longest := min(firstRetry<<min(failures, 12), longestWait)
	return longest/2 + time.Duration(rng.Int64N(int64(longest/2)+1))
}
