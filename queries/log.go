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
	dayShare    = 8       // a day takes at most one in so many of Limits.Bytes
	recentBytes = 4 << 20 // of queries that may still be clicked, in memory
	longestText = 1 << 10 // bytes of the words of a query
)

// Shown is a page that a query has shown: in which version, and where, result page and position from 1.
type Shown struct {
	URL            string
	Page, Position int
	Version        uint32
}

// A Log is what people have searched and clicked in a crawl. All methods are safe for concurrent use.
type Log struct {
	fs     vfs.FS
	root   string // of the logs of all crawls of a data directory
	dir    string // of this one
	limits Limits
	logger *slog.Logger

	mu     sync.Mutex // one change of the files at a time; guards the rest
	file   string     // that was written last; its end is whole
	full   string     // the day that has taken its share
	recent []asked    // the oldest first
	bytes  int        // of them
}

// asked is a query that may still be clicked.
type asked struct {
	id      string
	file    string // that it is in
	shown   []Shown
	clicked []bool // which of these were
}

// size returns what a query takes in memory, roughly.
func (a *asked) size() int {
	bytes := 256
	for i := range a.shown {
		bytes += 64 + len(a.shown[i].URL)
	}
	return bytes
}

// New returns the log of a crawl, which lies under root beside those of other crawls. Nothing is made or read yet.
func New(fsys vfs.FS, root, crawl string, limits Limits, logger *slog.Logger) *Log {
	return &Log{fs: fsys, root: root, dir: fsys.PathJoin(root, crawl), limits: limits, logger: logger}
}

// Asked notes that words were searched and some pages shown. It returns the name by which Clicked knows the query;
// empty, if nothing was shown or it could not be noted.
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

// Clicked notes that a page was clicked which a query has shown, and reports whether it was noted: it is not if the
// query did not show it, if it was clicked before, or if the query is too long ago.
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

// note appends rows to a file, which only a query begins. What cannot be noted is left out, and said. The caller holds
// the lock.
func (l *Log) note(file string, now time.Time, begins bool, rows ...row) bool {
	err := l.append(file, now, begins, rows)
	switch {
	case err == nil:
		return true
	case errors.Is(err, errFull):
		if l.full != file {
			l.full = file
			l.logger.Warn("the log of queries has taken what a day may: the rest of the day is not noted", "file", file)
		}
	case !errors.Is(err, fs.ErrNotExist): // the day of a late click may have gone
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

// prepare makes ready to write to another file than before: room for it, its folder, an end that is whole.
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

// Sweep deletes what is too old or too much, of every crawl.
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
				continue // it has a share of its own
			}
			bytes += f.Bytes
			if now.Sub(f.Ends).Abs() > l.limits.Age || bytes > l.limits.Bytes-l.limits.Bytes/dayShare {
				err = errors.Join(err, l.fs.Remove(f.Path))
			}
		}
	}
	return err
}

// Files returns the files of the crawl, the oldest first, and how much of each is whole at present.
func (l *Log) Files() ([]File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return filesIn(l.fs, l.dir)
}

// Forget takes out of the logs of all crawls every query that has shown a URL which is hit, with its words and its
// clicks. It is done when no file has any of them; after an error the next call does the rest.
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

// plain makes a text one line of bounded length.
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
