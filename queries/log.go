package queries

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Limits bound what a Log keeps.
type Limits struct {
	Age   time.Duration // of a day that has ended
	Bytes int64         // of all files of a crawl
}

const (
	dayShare    = 8       // a day gets at most this fraction of Limits.Bytes
	recentBytes = 4 << 20 // of queries that may still be clicked, in memory
	longestText = 1 << 10 // bytes of the words of a query
)

// Shown is a page that a query showed: its version, result page and position, from 1.
type Shown struct {
	URL            string
	Page, Position int
	Version        uint32
}

// A Log is the log of searches and clicks of a crawl. All methods are safe for concurrent use.
type Log struct {
	fs     vfs.FS
	root   string // of the logs of all crawls of a data directory
	dir    string // of this one
	limits Limits
	logger *slog.Logger

	mu     sync.Mutex // one change of the files at a time; guards the rest
	file   string     // the last one written; it has no torn line
	full   string     // the day that has used up its share
	recent []asked    // the oldest first
	bytes  int        // of them
}

// asked is a query that may still be clicked.
type asked struct {
	id      string
	file    string // that it is in
	shown   []Shown
	clicked []bool // which of these were clicked
}

// size returns roughly the memory that a query takes.
func (a *asked) size() int {
	bytes := 256
	for i := range a.shown {
		bytes += 64 + len(a.shown[i].URL)
	}
	return bytes
}

// New returns the log of a crawl. It is under root, beside those of other crawls. New does not create or read
// anything.
func New(fsys vfs.FS, root, crawl string, limits Limits, logger *slog.Logger) *Log {
	return &Log{fs: fsys, root: root, dir: fsys.PathJoin(root, crawl), limits: limits, logger: logger}
}

// Asked logs a search for words that showed some pages. It returns the name of the query for Clicked. The name is
// empty if nothing was shown or the search could not be logged.
func (l *Log) Asked(now time.Time, words string, shown []Shown) (id string) {
	if len(shown) == 0 {
		return ""
	}
	rows := make([]row, len(shown))
	id = rand.Text()
	for i, s := range shown {
		rows[i] = row{query: id, at: now, Shown: s}
	}
	rows[0].words = words
	l.mu.Lock()
	defer l.mu.Unlock()
	a := asked{id, l.fs.PathJoin(l.dir, fileOf(now)), slices.Clone(shown), make([]bool, len(shown))}
	if !l.note(a.file, now, true, rows...) {
		return ""
	}
	l.recent = append(l.recent, a)
	for l.bytes += a.size(); l.bytes > recentBytes; l.recent = l.recent[1:] {
		l.bytes -= l.recent[0].size()
	}
	return id
}

// Clicked logs a click on a page that a query showed, and reports whether it did. It does not if the query did not
// show the page, if the page was clicked before, or if the query is too old.
func (l *Log) Clicked(now time.Time, id, url string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.recent, func(a asked) bool { return a.id == id })
	if i < 0 {
		return false
	}
	a := &l.recent[i]
	j := slices.IndexFunc(a.shown, func(s Shown) bool { return s.URL == url })
	if j < 0 || a.clicked[j] {
		return false
	}
	a.clicked[j] = l.note(a.file, now, false, row{query: id, at: now, Shown: a.shown[j], click: true})
	return a.clicked[j]
}

// note appends rows to a file. Only a query begins a new file. Rows that cannot be written are dropped, with a log
// line. The caller holds the lock.
func (l *Log) note(file string, now time.Time, begins bool, rows ...row) bool {
	err := l.append(file, now, begins, rows)
	switch {
	case err == nil:
		return true
	case errors.Is(err, errFull):
		if l.full != file {
			l.full = file
			l.logger.Warn("the query log of this day is full: further queries of the day are not logged", "file", file)
		}
	case !errors.Is(err, fs.ErrNotExist): // the file of a late click may be deleted
		l.logger.Warn("a query is not noted", "file", file, "error", err)
	}
	return false
}

var errFull = errors.New("queries: the day is full")

func (l *Log) append(file string, now time.Time, begins bool, rows []row) (err error) {
	if l.file != file {
		if err := l.prepare(file, now, begins); err != nil {
			return err
		}
		l.file = file
	}
	to, err := openEnd(l.fs, file, begins)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.file.Close()) }()
	text := appendRows(nil, to.at == 0, rows)
	if to.at+int64(len(text)) > l.limits.Bytes/dayShare {
		return errFull
	}
	if _, err = to.file.WriteAt(text, to.at); err != nil {
		l.file = "" // its end may be torn
	}
	return err
}

// prepare prepares another file for writing: it makes room and the folder, and cuts off a torn line.
func (l *Log) prepare(file string, now time.Time, begins bool) error {
	if err := l.sweep(now); err != nil {
		return err
	}
	if begins {
		if err := l.fs.MkdirAll(l.dir, 0o700); err != nil {
			return err
		}
	}
	torn, err := tornEnd(l.fs, file)
	if begins && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if torn && err == nil {
		err = rewrite(l.fs, file, nil)
	}
	return err
}

// Sweep deletes files of every crawl that are too old or exceed the limits.
func (l *Log) Sweep(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sweep(now)
}

func (l *Log) sweep(now time.Time) error {
	crawls, err := list(l.fs, l.root)
	for _, crawl := range crawls {
		dir := l.fs.PathJoin(l.root, crawl)
		files, listing := filesIn(l.fs, dir)
		err = errors.Join(err, listing)
		var bytes int64
		for _, f := range slices.Backward(files) {
			if f.Path == l.fs.PathJoin(dir, fileOf(now)) {
				continue // it has its own share
			}
			bytes += f.Bytes
			if now.Sub(f.Ends).Abs() > l.limits.Age || bytes > l.limits.Bytes-l.limits.Bytes/dayShare {
				err = errors.Join(err, l.fs.Remove(f.Path))
			}
		}
	}
	return err
}

// Files returns the files of the crawl, the oldest first, each with the length of its complete lines.
func (l *Log) Files() ([]File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return filesIn(l.fs, l.dir)
}

// Forget deletes from the logs of all crawls every query that showed a URL that is hit, with its words and its
// clicks. After an error the next call does the rest.
func (l *Log) Forget(ctx context.Context, hit func(url string) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = ""
	l.recent = slices.DeleteFunc(l.recent, func(a asked) bool {
		goes := slices.ContainsFunc(a.shown, func(s Shown) bool { return hit(s.URL) })
		if goes {
			l.bytes -= a.size()
		}
		return goes
	})
	crawls, err := list(l.fs, l.root)
	if err != nil {
		return err
	}
	for _, crawl := range crawls {
		files, err := filesIn(l.fs, l.fs.PathJoin(l.root, crawl))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := errors.Join(ctx.Err(), forget(l.fs, f.Path, hit)); err != nil {
				return fmt.Errorf("queries: %s: %w", f.Path, err)
			}
		}
	}
	return nil
}

// plain turns a text into one line of bounded length.
func plain(text string) string {
	if len(text) > longestText {
		text = text[:longestText]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
