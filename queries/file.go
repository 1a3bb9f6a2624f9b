package queries

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The name of a file is the day of its queries in UTC, such as 2026-01-31.csv. The rows of a query are consecutive,
// except for clicks. Every row is a line. The file is CSV, so freshet weights can read it.

// columns are those of a file, in order.
var columns = []string{"query", "time", "words", "url", "page", "position", "version", "event"}

// Indexes of columns that are read again.
const (
	queryColumn = 0
	urlColumn   = 3
)

// row is a row of a file.
type row struct {
	query string
	at    time.Time
	words string // of the first row of a query
	Shown
	click bool
}

const (
	day      = "2006-01-02"
	ending   = ".csv"
	replaces = ".new" // suffix of a copy that will replace a file
)

func fileOf(at time.Time) string { return at.UTC().Format(day) + ending }

// appendRows appends encoded rows, after a header if header is set.
func appendRows(to []byte, header bool, rows []row) []byte {
	out := bytes.NewBuffer(to)
	w := csv.NewWriter(out) // into memory, where nothing fails
	if header {
		_ = w.Write(columns)
	}
	for _, r := range rows {
		event := ""
		if r.click {
			event = "click"
		}
		_ = w.Write([]string{r.query, r.at.UTC().Format(time.RFC3339), plain(r.words), r.URL, strconv.Itoa(r.Page), strconv.Itoa(r.Position),
			strconv.FormatUint(uint64(r.Version), 10), event})
	}
	w.Flush()
	return out.Bytes()
}

// fieldsOf returns the fields of a line; nil if the line is invalid.
func fieldsOf(line string) []string {
	if !strings.HasSuffix(line, "\n") {
		return nil
	}
	r := csv.NewReader(strings.NewReader(line))
	r.FieldsPerRecord = len(columns)
	fields, err := r.Read()
	if err != nil {
		return nil
	}
	return fields
}

// File is a file of a log.
type File struct {
	Path  string
	Bytes int64
	Ends  time.Time // the day
}

// list returns the names in a folder, none if it is missing.
func list(fsys vfs.FS, dir string) ([]string, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// filesIn returns the files of a log, the oldest first. It deletes unfinished copies of a process that died.
func filesIn(fsys vfs.FS, dir string) (files []File, err error) {
	names, err := list(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		if strings.HasSuffix(name, ending+replaces) {
			if err := fsys.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		date, ok := strings.CutSuffix(name, ending)
		begins, parsing := time.Parse(day, date)
		if !ok || parsing != nil {
			continue
		}
		info, err := fsys.Stat(path)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path, info.Size(), begins.AddDate(0, 0, 1)})
	}
	return files, nil
}

// end is a file open for appending.
type end struct {
	file vfs.File
	at   int64
}

// openEnd opens a file for appending. It creates a missing one if mayMake is set.
func openEnd(fsys vfs.FS, path string, mayMake bool) (e end, err error) {
	if !mayMake {
		if _, err := fsys.Stat(path); err != nil {
			return e, err
		}
	}
	if e.file, err = fsys.OpenReadWrite(path, "query log"); err != nil {
		return e, err
	}
	info, err := e.file.Stat()
	if err != nil {
		return e, errors.Join(err, e.file.Close())
	}
	e.at = info.Size()
	return e, nil
}

// tornEnd reports whether the last line of a file is torn.
func tornEnd(fsys vfs.FS, path string) (torn bool, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
}

// forget deletes from a file the queries that showed a URL that is hit, and unreadable lines.
func forget(fsys vfs.FS, path string, hit func(url string) bool) error {
	gone, unread := map[string]bool{}, false
	err := eachLine(fsys, path, func(line string) error {
		switch fields := fieldsOf(line); {
		case fields == nil:
			unread = true
		case hit(fields[urlColumn]):
			gone[fields[queryColumn]] = true
		}
		return nil
	})
	if err != nil || len(gone) == 0 && !unread {
		return err
	}
	return rewrite(fsys, path, gone)
}

// rewrite writes a file again, without unreadable lines and without the given queries.
func rewrite(fsys vfs.FS, path string, gone map[string]bool) (err error) {
	to, err := fsys.Create(path+replaces, "query log")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 64<<10)
	err = eachLine(fsys, path, func(line string) error {
		fields := fieldsOf(line)
		if fields == nil || gone[fields[queryColumn]] {
			return nil
		}
		_, err := out.WriteString(line)
		return err
	})
	if err = errors.Join(err, out.Flush(), to.Sync(), to.Close()); err != nil {
		return errors.Join(err, fsys.Remove(path+replaces))
	}
	if err := fsys.Rename(path+replaces, path); err != nil {
		return err
	}
	dir, err := fsys.OpenDir(fsys.PathDir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// eachLine calls do for every line of a file, with its end.
func eachLine(fsys vfs.FS, path string, do func(line string) error) (err error) {
	f, err := fsys.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if err := do(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
