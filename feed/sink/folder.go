package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"freshet/clock"
)

// A file of a folder is complete after this many bytes or this time.
const (
	fileBytes = 64 << 20
	fileTime  = time.Hour
	opened    = ".open" // the suffix of a file that is not complete
)

// folder is a folder of files with lines of JSON.
type folder struct {
	dir   string
	clock *clock.Clock
	file  *os.File // nil: none is open
	began time.Time
	size  int64
}

// NewFolder returns a folder as a target, and makes the folder if there is none. Its files have one change per line,
// as JSON, in the order of the change log. A change that comes twice after a crash has the same position. A file is
// named by the time of its beginning: changes-20260131T120000.000Z.jsonl. The suffix ".open" follows until it is
// complete: after 64 MiB, an hour, or a stop. NewFolder completes files that were left open, and cuts a torn last
// line.
func NewFolder(dir string, c *clock.Clock) (Target, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "changes-*.jsonl"+opened))
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	slices.Sort(left)
	for _, name := range left {
		if err := complete(name); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
	}
	return &folder{dir: dir, clock: c}, nil
}

// complete cuts a torn line off a file that was left open, and gives the file its name. It removes a file without a
// whole line.
func complete(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	whole, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if whole == 0 {
		return os.Remove(name)
	}
	if err := os.Rename(name, strings.TrimSuffix(name, opened)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder makes the names of a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// wholeLines returns the end of the last whole line.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	part := make([]byte, 64<<10)
	for err == nil && end > 0 {
		from := max(0, end-int64(len(part)))
		if _, err = f.ReadAt(part[:end-from], from); err != nil {
			break
		}
		if last := bytes.LastIndexByte(part[:end-from], '\n'); last >= 0 {
			return from + int64(last) + 1, nil
		}
		end = from
	}
	return 0, err
}

// Put implements Target. The documents are on disk when it returns.
func (f *folder) Put(_ context.Context, documents []Document) ([]Refusal, error) {
	if err := f.rotate(); err != nil || len(documents) == 0 {
		return nil, err
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	out.SetEscapeHTML(false)
	for _, d := range documents {
		if err := out.Encode(change{d.Kind, d.Position, d}); err != nil {
			return nil, err
		}
	}
	return nil, f.write(lines.Bytes())
}

// Clear writes a line of kind resynchronise.
func (f *folder) Clear(context.Context) error {
	line, err := json.Marshal(change{Kind: kindResynchronise, Document: Document{Time: f.clock.Now().UTC()}})
	if err != nil {
		return err
	}
	return f.write(append(line, '\n'))
}

// rotate completes a file that is large or old.
func (f *folder) rotate() error {
	if f.file != nil && (f.size > fileBytes || f.clock.Now().Sub(f.began) > fileTime) {
		return f.Close()
	}
	return nil
}

// write appends whole lines to the open file. After an error it completes the file without them. If somebody has
// removed the file or the folder, it makes another.
func (f *folder) write(lines []byte) error {
	if f.file != nil && f.removed() {
		if err := f.Close(); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
	}
	if f.file == nil {
		now := f.clock.Now()
		if err := os.MkdirAll(f.dir, 0o755); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		name := filepath.Join(f.dir, "changes-"+now.UTC().Format("20060102T150405.000000Z")+".jsonl"+opened)
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		if err := syncFolder(f.dir); err != nil {
			return fmt.Errorf("sink: %w", errors.Join(err, file.Close()))
		}
		f.file, f.began, f.size = file, now, 0
	}
	_, err := f.file.Write(lines)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("sink: %w", errors.Join(err, f.Close()))
	}
	f.size += int64(len(lines))
	return nil
}

// removed reports whether the open file is no longer in the folder: what is written to it then is lost.
func (f *folder) removed() bool {
	open, err := f.file.Stat()
	if err != nil {
		return false // a write reports it
	}
	there, err := os.Stat(f.file.Name())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(open, there)
}

// Close completes the file that is open, unless somebody has removed it.
func (f *folder) Close() error {
	if f.file == nil {
		return nil
	}
	name, removed := f.file.Name(), f.removed()
	err := f.file.Close()
	if f.file = nil; removed {
		return err
	}
	return errors.Join(err, complete(name))
}
