package crawl

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// crawlLog writes crawl.log: one line a fetch, fields parted by single spaces, "-" for none:
//
//	time status bytes url depth rel via type digest duration_ms annotations
//
// It is a convenience for people and their tools, not a source of truth: it is buffered, flushed each
// second, and a crash may lose its last lines. Safe for concurrent use.
type crawlLog struct {
	mu sync.Mutex
	w  *bufio.Writer
	c  io.Closer
}

func newCrawlLog(w io.WriteCloser) *crawlLog {
	return &crawlLog{w: bufio.NewWriterSize(w, 64<<10), c: w}
}

// logLine is one fetch.
type logLine struct {
	at          time.Time
	status      string // HTTP status, or the outcome that stands for one
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

// field makes s one field: no spaces, no control characters, "-" for none.
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

func (l *crawlLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Flush()
}

func (l *crawlLog) close() {
	l.flush()
	l.c.Close()
}
