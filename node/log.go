package node

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crawlLog writes crawl.log: one line per fetch, fields separated by single spaces, "-" for none:
//
//	time status bytes url depth rel via type digest duration_ms annotations
//
// It is a convenience for people and their tools, not a source of truth. It is buffered and flushed each second, so a
// crash may lose its last lines. It is safe for concurrent use.
type crawlLog struct {
	mu sync.Mutex
	w  *bufio.Writer
	f  *appending
}

// maxLog is the maximum size of crawl.log, in bytes. A full log becomes crawl.log.old, in place of the previous one.
const maxLog = 1 << 30

// openLog opens crawl.log in dir for appending.
func openLog(fs vfs.FS, dir string) (*crawlLog, error) {
	f := &appending{fs: fs, path: fs.PathJoin(dir, "crawl.log")}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("crawl: open the log: %w", err)
	}
	return &crawlLog{w: bufio.NewWriterSize(f, 64<<10), f: f}, nil
}

// appending writes to the end of a file, for which vfs.FS has only an offset.
type appending struct {
	fs   vfs.FS
	path string
	file vfs.File
	end  int64
}

func (a *appending) open() error {
	file, err := a.fs.OpenReadWrite(a.path, "crawl log")
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	a.file, a.end = file, info.Size()
	return nil
}

// Write implements io.Writer.
func (a *appending) Write(p []byte) (int, error) {
	if a.end > maxLog {
		if err := errors.Join(a.file.Close(), a.fs.Rename(a.path, a.path+".old"), a.open()); err != nil {
			return 0, err
		}
	}
	n, err := a.file.WriteAt(p, a.end)
	a.end += int64(n)
	return n, err
}

// logLine is one fetch.
type logLine struct {
	at          time.Time
	status      string // HTTP status, or the outcome if there is none
	bytes       int64
	url         string
	depth       int
	rel         string
	via         string
	contentType string
	digest      string
	took        time.Duration
	annotations []string
}

func (l *crawlLog) write(line logLine) {
	contentType, _, _ := strings.Cut(line.contentType, ";")
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "%s %s %d %s %d %s %s %s %s %d %s\n",
		line.at.UTC().Format("2006-01-02T15:04:05.000Z"), field(line.status), line.bytes, field(line.url), line.depth,
		field(line.rel), field(line.via), field(contentType), field(line.digest), line.took.Milliseconds(),
		field(strings.Join(line.annotations, ",")))
}

// field returns s as one field: without spaces and control characters, "-" if it is empty.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}

// flush writes the buffer. If that fails, the crawl continues without the log.
func (l *crawlLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.w.Flush()
}

func (l *crawlLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.w.Flush(), l.f.file.Close())
}
