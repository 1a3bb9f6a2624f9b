package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"freshet/weburl"
)

// Writer writes a trace. It buffers at most 64 KiB, apart from a compressor's own buffer. The first error ends the
// writing, and Close returns it, so the caller can ignore errors until then. It is not for concurrent use.
type Writer struct {
	name    string
	binary  bool
	out     *bufio.Writer
	closers []io.Closer // in this order
	err     error
}

// Create begins a trace in a file, or goes on with the one that is there.
func Create(name string) (*Writer, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if strings.HasSuffix(name, ".u64") {
		if err := cutTorn(file); err != nil {
			return nil, errors.Join(fmt.Errorf("trace: %s: %w", name, err), file.Close())
		}
	}
	w := NewWriter(file, name)
	w.closers = append(w.closers, file)
	return w, nil
}

// cutTorn cuts off a torn fingerprint that a crash has left, because it would shift all later ones.
func cutTorn(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size()%8 == 0 {
		return err
	}
	return file.Truncate(info.Size() / 8 * 8)
}

// NewWriter writes a trace to out, in the form that name tells.
func NewWriter(out io.Writer, name string) *Writer {
	w := &Writer{name: name}
	base, ok := strings.CutSuffix(name, ".gz")
	if ok {
		packed := gzip.NewWriter(out)
		out, w.closers = packed, []io.Closer{packed}
	} else if base, ok = strings.CutSuffix(name, ".zst"); ok {
		packed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(err) // only for options that do not exist
		}
		out, w.closers = packed, []io.Closer{packed}
	}
	w.binary = strings.HasSuffix(base, ".u64")
	w.out = bufio.NewWriterSize(out, 1<<16)
	return w
}

// Add adds a request.
func (w *Writer) Add(u weburl.URL) {
	if w.err != nil {
		return
	}
	if w.binary {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(u.Fingerprint()))
		_, w.err = w.out.Write(word[:])
		return
	}
	_, w.err = w.out.WriteString(u.String())
	if w.err == nil {
		w.err = w.out.WriteByte('\n')
	}
}

// Close writes what is left, and returns the first error.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	for _, c := range w.closers {
		if err := c.Close(); w.err == nil {
			w.err = err
		}
	}
	if w.err != nil {
		return fmt.Errorf("trace: %s: %w", w.name, w.err)
	}
	return nil
}
