package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// forget removes from crawl.log and crawl.log.old what some URLs' answers contained: type, digest and annotations. The
// line of the request stays. The crawl keeps logging meanwhile.
func (l *crawlLog) forget(ctx context.Context, hit func(url string) bool) error {
	f := l.f
	old := logCopy{fs: f.fs, from: f.path + ".old", to: f.path + ".new", hit: hit}
	if err := old.run(ctx, old.rename); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl: %s: %w", old.from, err)
	}
	live := logCopy{fs: f.fs, from: f.path, to: f.path + ".new", hit: hit}
	l.mu.Lock()
	err := l.w.Flush()
	l.mu.Unlock()
	if err == nil {
		err = live.run(ctx, func() error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if err := errors.Join(l.w.Flush(), live.more(ctx)); err != nil || !live.found {
				return err
			}
			return errors.Join(f.file.Close(), live.rename(), f.open())
		})
	}
	if err != nil {
		return fmt.Errorf("crawl: %s: %w", f.path, err)
	}
	return nil
}

// logCopy is a copy that will replace a log.
type logCopy struct {
	fs       vfs.FS
	from, to string
	hit      func(url string) bool
	read     int64 // bytes of it, up to the end of a line
	out      vfs.File
	found    bool // a line had to be changed
}

// run copies the present lines and calls end, which may copy more and rename the copy.
func (c *logCopy) run(ctx context.Context, end func() error) (err error) {
	if _, err := c.fs.Stat(c.from); err != nil {
		return err
	}
	if c.out, err = c.fs.Create(c.to, "crawl log"); err != nil {
		return err
	}
	if err = c.more(ctx); err == nil {
		err = end()
	}
	err = errors.Join(err, c.out.Close())
	if removed := c.fs.Remove(c.to); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// rename replaces the log by the copy if a line has changed.
func (c *logCopy) rename() error {
	if !c.found {
		return nil
	}
	if err := errors.Join(c.out.Sync(), c.fs.Rename(c.to, c.from)); err != nil {
		return err
	}
	dir, err := c.fs.OpenDir(c.fs.PathDir(c.from))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// more copies the whole lines that have not been copied yet.
func (c *logCopy) more(ctx context.Context) (err error) {
	in, err := c.fs.Open(c.from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(in, c.read, info.Size()-c.read), 64<<10)
	out := bufio.NewWriterSize(c.out, 64<<10)
	for err == nil {
		var line string
		line, err = lines.ReadString('\n')
		if err != nil {
			break // a line that is being written, or nothing
		}
		c.read += int64(len(line))
		if line, err = c.line(line), ctx.Err(); err == nil {
			_, err = out.WriteString(line)
		}
	}
	if err != io.EOF {
		return err
	}
	return out.Flush()
}

// Places of fields in a line.
const (
	logURL         = 3
	logType        = 7
	logDigest      = 8
	logAnnotations = 10
	logFields      = 11
)

func (c *logCopy) line(line string) string {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(fields) != logFields || !c.hit(fields[logURL]) {
		return line
	}
	for _, i := range []int{logType, logDigest, logAnnotations} {
		c.found = c.found || fields[i] != "-"
		fields[i] = "-"
	}
	return strings.Join(fields, " ") + "\n"
}
