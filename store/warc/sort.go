package warc

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sorter sorts lines by their bytes in bounded memory: full buffers go, sorted, to runs in temporary
// files; fanIn runs of one level are merged to one of the next.
type sorter struct {
	fs    vfs.FS
	dir   string
	limit int // bytes of text and lines

	text  []byte   // of the lines in memory
	lines [][2]int // each one's place in text
	runs  []run    // levels fall from first to last
	files int      // made so far
}

type run struct {
	path  string
	level int
}

const (
	fanIn     = 64
	lineBytes = 16 // a line's cost beside its text
)

func newSorter(opt IndexOptions) *sorter {
	limit := opt.BufferBytes
	if limit <= 0 {
		limit = 64 << 20
	}
	return &sorter{fs: opt.FS, dir: opt.Temp, limit: limit}
}

// add adds a line, which has no newline in it.
func (s *sorter) add(line []byte) error {
	if len(s.lines) > 0 && len(s.text)+len(line)+lineBytes*(len(s.lines)+1) > s.limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	start := len(s.text)
	s.text = append(s.text, line...)
	s.lines = append(s.lines, [2]int{start, len(s.text)})
	return nil
}

func (s *sorter) sort() {
	slices.SortFunc(s.lines, func(a, b [2]int) int {
		return bytes.Compare(s.text[a[0]:a[1]], s.text[b[0]:b[1]])
	})
}

// spill moves the lines in memory to a run.
func (s *sorter) spill() error {
	if err := s.newRun(0, s.writeLines); err != nil {
		return err
	}
	for {
		level := s.runs[len(s.runs)-1].level
		first := slices.IndexFunc(s.runs, func(r run) bool { return r.level == level })
		if len(s.runs)-first < fanIn {
			return nil
		}
		if err := s.mergeRuns(first, level+1); err != nil {
			return err
		}
	}
}

func (s *sorter) writeLines(w io.Writer) error {
	s.sort()
	for _, at := range s.lines {
		if _, err := w.Write(s.text[at[0]:at[1]]); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	s.text, s.lines = s.text[:0], s.lines[:0]
	return nil
}

// newRun makes a run of what fill writes.
func (s *sorter) newRun(level int, fill func(io.Writer) error) error {
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("warc: index: %w", err)
	}
	path := s.fs.PathJoin(s.dir, fmt.Sprintf("cdxj-%06d.run", s.files))
	s.files++
	f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("warc: index: %w", err)
	}
	s.runs = append(s.runs, run{path, level})
	w := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(fill(w), w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("warc: index: %w", err)
	}
	return nil
}

// mergeRuns replaces the runs from first on by one.
func (s *sorter) mergeRuns(first, level int) error {
	old := slices.Clone(s.runs[first:])
	if err := s.newRun(level, func(w io.Writer) error { return s.merge(w, old) }); err != nil {
		return err
	}
	s.runs = append(s.runs[:first], s.runs[len(s.runs)-1])
	return s.remove(old)
}

// writeTo writes all lines, sorted, each with a newline.
func (s *sorter) writeTo(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if len(s.runs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
		if err := s.merge(out, s.runs); err != nil {
			return err
		}
	} else if err := s.writeLines(out); err != nil {
		return err
	}
	return out.Flush()
}

// close removes the temporary files.
func (s *sorter) close() error {
	err := s.remove(s.runs)
	s.runs = nil
	return err
}

func (s *sorter) remove(runs []run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, s.fs.Remove(r.path))
	}
	return errors.Join(errs...)
}

// cursor is a run being merged; line is its next one, with its newline.
type cursor struct {
	line []byte
	in   *bufio.Reader
}

// next reads the next line; io.EOF at the end.
func (c *cursor) next() error {
	c.line = c.line[:0]
	for {
		part, err := c.in.ReadSlice('\n')
		c.line = append(c.line, part...)
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// cursors is a heap, the smallest line first.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return bytes.Compare(c[i].line, c[j].line) < 0 }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)        { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

func (s *sorter) merge(w io.Writer, runs []run) error {
	var open cursors
	for _, r := range runs {
		f, err := s.fs.Open(r.path, vfs.SequentialReadsOption)
		if err != nil {
			return err
		}
		defer f.Close()
		c := &cursor{in: bufio.NewReaderSize(f, 32<<10)}
		if err := c.next(); err != nil {
			return err // no run is empty
		}
		open = append(open, c)
	}
	heap.Init(&open)
	for len(open) > 0 {
		if _, err := w.Write(open[0].line); err != nil {
			return err
		}
		switch err := open[0].next(); err {
		case nil:
			heap.Fix(&open, 0)
		case io.EOF:
			heap.Pop(&open)
		default:
			return err
		}
	}
	return nil
}
