package warc

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DefaultMaxBytes is the size at which a file is closed.
const DefaultMaxBytes = 1 << 30

// ErrFailed matches the errors of a Writer after a failed write or sync. They wrap the cause.
var ErrFailed = errors.New("warc: writer has failed")

// Options of a Writer.
type Options struct {
	Prefix   string // first part of file names; default "freshet"
	Host     string // last part of file names; default "localhost"
	MaxBytes int64  // a capture that would take a file past it goes to the next; default DefaultMaxBytes
	// what warcinfo records say: software, operator, robots, …; format and conformsTo are added
	Info  []Field
	Level int              // gzip level of the warcinfo record; default FastLevel
	Now   func() time.Time // for file names and the warcinfo record's date; needed
}

// Writer appends members to the WARC files of a directory. What is appended is durable after the
// next Sync. It is not safe for concurrent use; what is durable can be read by anyone.
type Writer struct {
	fs     vfs.FS
	dir    string
	opt    Options
	serial int

	file    vfs.File // nil: none open
	name    string   // of file, without the suffix
	written int64    // bytes in the file
	synced  int64    // … of them durable
	buffer  []byte   // what comes after them
	err     error    // what failed
}

// flushBytes is how much a Writer gathers before it writes.
const flushBytes = 256 << 10

// NewWriter returns a writer to directory dir, which it makes if there is none. It opens no file
// before the first Append. It panics if opt.Now is nil.
func NewWriter(fs vfs.FS, dir string, opt Options) (*Writer, error) {
	if opt.Now == nil {
		panic("warc: NewWriter: no Options.Now")
	}
	if opt.Prefix == "" {
		opt.Prefix = "freshet"
	}
	if opt.Host == "" {
		opt.Host = "localhost"
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	if opt.Level == 0 {
		opt.Level = FastLevel
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("warc: new writer: %w", err)
	}
	return &Writer{fs: fs, dir: dir, opt: opt}, nil
}

// Append adds the members of one capture, which stay together in one file, and appends where each
// lies to dst. A capture longer than MaxBytes gets a file of its own. The members are copied.
//
// After an error nothing since the last Sync counts, and every later Append and Sync gives
// ErrFailed; Close still ends the file at its last whole capture where that can be done.
func (w *Writer) Append(dst []Pointer, members ...[]byte) ([]Pointer, error) {
	if w.err != nil {
		return dst, w.failed()
	}
	var size int64
	for _, m := range members {
		size += int64(len(m))
	}
	if w.file != nil && w.offset()+size > w.opt.MaxBytes {
		if err := w.end(); err != nil {
			return dst, w.fail(err)
		}
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return dst, w.fail(err)
		}
	}
	for _, m := range members {
		dst = append(dst, Pointer{w.name, w.offset(), int64(len(m))})
		w.buffer = append(w.buffer, m...)
	}
	if len(w.buffer) >= flushBytes {
		if err := w.flush(); err != nil {
			return dst[:len(dst)-len(members)], w.fail(err)
		}
	}
	return dst, nil
}

// Sync makes durable what has been appended.
func (w *Writer) Sync() error {
	if w.err != nil {
		return w.failed()
	}
	if err := w.sync(); err != nil {
		return w.fail(err)
	}
	return nil
}

// Close makes durable what has been appended and ends the open file, whose name loses its suffix. If an Append has
// failed, it cuts the file after its last whole capture and returns that failure. If the file system cannot cut, the
// file stays as it is, for Recover. A second Close does nothing. An Append after a successful Close begins a new file.
func (w *Writer) Close() error {
	switch {
	case w.file == nil:
		return w.err
	case w.err != nil:
		w.salvage()
		return w.err
	}
	if err := w.end(); err != nil {
		return w.fail(err)
	}
	return nil
}

// Extent is the beginning of a file.
type Extent struct {
	File  string // without the suffix of an open file
	Bytes int64
}

// Durable returns how much of the file that is being written is on disk, in whole captures; zero if none is.
// Who keeps it spares Recover the reading of as much.
func (w *Writer) Durable() Extent {
	if w.file == nil || w.synced == 0 {
		return Extent{}
	}
	return Extent{w.name, w.synced}
}

// File returns the name, without the suffix, of the file that is being written; empty if none is.
func (w *Writer) File() string { return w.name }

func (w *Writer) offset() int64 { return w.written + int64(len(w.buffer)) }

// begin opens a new file and puts its warcinfo record in front.
func (w *Writer) begin() error {
	now := w.opt.Now()
	if err := w.pickName(now); err != nil {
		return err
	}
	info, err := w.info(now)
	if err != nil {
		return err
	}
	w.file, err = w.fs.Create(w.fs.PathJoin(w.dir, w.name+openSuffix), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w.written, w.synced = 0, 0
	w.buffer = append(w.buffer[:0], info...)
	return syncDir(w.fs, w.dir)
}

// pickName chooses the first name from the current serial on that no file has, open or closed.
func (w *Writer) pickName(now time.Time) error {
	for ; ; w.serial++ {
		w.name = fmt.Sprintf("%s-%s-%05d-%s.warc.gz", clean(w.opt.Prefix), now.UTC().Format("20060102150405"), w.serial, clean(w.opt.Host))
		taken := false
		for _, name := range []string{w.name, w.name + openSuffix} {
			_, err := w.fs.Stat(w.fs.PathJoin(w.dir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			taken = taken || err == nil
		}
		if !taken {
			w.serial++
			return nil
		}
	}
}

// clean makes s fit for a part of a file name.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

func (w *Writer) info(now time.Time) ([]byte, error) {
	fields := append(slices.Clip(w.opt.Info),
		Field{"format", "WARC File Format 1.1"},
		Field{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"})
	block, err := AppendFields(nil, fields)
	if err != nil {
		return nil, err
	}
	return NewEncoder(w.opt.Level).AppendMember(nil, &Record{Type: Warcinfo, Date: now, Filename: w.name, ContentType: TypeFields, Block: block})
}

func (w *Writer) flush() error {
	if len(w.buffer) == 0 {
		return nil
	}
	if _, err := w.file.Write(w.buffer); err != nil {
		return err
	}
	w.written += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return nil
}

func (w *Writer) sync() error {
	if w.file == nil || w.synced == w.offset() {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.synced = w.written
	return nil
}

// end closes the open file and takes the suffix off its name.
func (w *Writer) end() error {
	if err := w.sync(); err != nil {
		return err
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return err
	}
	return w.rename()
}

func (w *Writer) rename() error {
	name := w.fs.PathJoin(w.dir, w.name)
	if err := w.fs.Rename(name+openSuffix, name); err != nil {
		return err
	}
	if err := syncDir(w.fs, w.dir); err != nil {
		return err
	}
	w.name = ""
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("warc: write %s: %w", w.name, err)
	return w.err
}

func (w *Writer) failed() error { return fmt.Errorf("%w: %w", ErrFailed, w.err) }

// salvage ends a file that a write has failed on at its last durable byte.
func (w *Writer) salvage() {
	t, ok := w.file.(truncater)
	whole := ok && w.synced > 0 && t.Truncate(w.synced) == nil && w.file.Sync() == nil
	if err := w.file.Close(); err == nil && whole {
		_ = w.rename() // if not, Recover will
	}
	w.file = nil
}

// truncater is the method of real files that vfs.File lacks.
type truncater interface{ Truncate(size int64) error }

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
