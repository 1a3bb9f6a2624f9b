// Package remains is for tests of take-downs. It searches all files of a folder for a text, plain and inside of
// compressed and framed data.
package remains

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Find returns the paths, under dir, of the files that contain any of the texts. It searches each file as it is,
// and what is inside: gzip members and zstd frames wherever they begin, all keys and values of the database's
// tables, deleted ones too, the records of its logs, and S2 blocks within CBOR.
func Find(fs vfs.FS, dir string, texts ...string) (found []string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			below, err := Find(fs, path, texts...)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
			continue
		}
		if !info.Mode().IsRegular() {
			continue
		}
		has, err := inFile(fs, path, search(texts))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if has {
			found = append(found, path)
		}
	}
	return found, nil
}

type search []string

func (s search) in(raw []byte) bool {
	for _, text := range s {
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}

func inFile(fs vfs.FS, path string, s search) (bool, error) {
	f, err := fs.Open(path)
	if err != nil {
		return false, err
	}
	raw, err := io.ReadAll(f)
	if err := f.Close(); err != nil {
		return false, err
	}
	if err != nil {
		return false, err
	}
	if s.in(raw) || s.inflated(raw) {
		return true, nil
	}
	name := fs.PathBase(path)
	switch number, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64); {
	case strings.HasSuffix(name, ".sst"):
		return s.inTable(fs, path)
	case strings.HasSuffix(name, ".log") && err == nil:
		return s.inLog(raw, number), nil
	}
	return false, nil
}

// inflated reports whether a text is in any member or frame of raw.
func (s search) inflated(raw []byte) bool {
	for _, begin := range [][]byte{{0x1f, 0x8b, 8}, {0x28, 0xb5, 0x2f, 0xfd}} {
		for at := 0; ; {
			next := bytes.Index(raw[at:], begin)
			if next < 0 {
				break
			}
			at += next + 1
			if s.in(inflate(raw[at-1:])) {
				return true
			}
		}
	}
	return false
}

// inflate returns as much of the first member or frame as can be read.
func inflate(raw []byte) (all []byte) {
	if raw[0] == 0x1f {
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil
		}
		r.Multistream(false)
		all, _ = io.ReadAll(r) // what comes before an error counts
		return all
	}
	r, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil
	}
	defer r.Close()
	all, _ = io.ReadAll(r)
	return all
}

// inTable reads every pair of a table, the deleted and the overwritten ones too.
func (s search) inTable(fs vfs.FS, path string) (bool, error) {
	f, err := fs.Open(path)
	if err != nil {
		return false, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return false, err
	}
	options := &pebble.Options{}
	options.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, options.MakeReaderOptions())
	if err != nil {
		return false, err
	}
	defer r.Close()
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return false, err
	}
	defer it.Close()
	for pair := it.First(); pair != nil; pair = it.Next() {
		value, _, err := pair.Value(nil)
		if err != nil {
			return false, err
		}
		if s.in(pair.K.UserKey) || s.in(value) || s.packed(value) {
			return true, nil
		}
	}
	return false, it.Error()
}

// inLog reads the records of a log of the database, up to its torn end.
func (s search) inLog(raw []byte, number uint64) bool {
	r := newLog(record.NewReader, raw, number)
	for {
		next, err := r.Next()
		if err != nil {
			return false
		}
		batch, err := io.ReadAll(next)
		if s.in(batch) {
			return true
		}
		if err != nil {
			return false
		}
		var b pebble.Batch
		if b.SetRepr(batch) != nil {
			continue
		}
		for pairs := b.Reader(); ; {
			_, _, value, ok, err := pairs.Next()
			if !ok || err != nil {
				break
			}
			if s.packed(value) {
				return true
			}
		}
	}
}

// newLog calls record.NewReader, of which the type of a file's number cannot be named here.
func newLog[N ~uint64](open func(io.Reader, N) *record.Reader, raw []byte, number uint64) *record.Reader {
	return open(bytes.NewReader(raw), N(number))
}

// packed reports whether a text is in an S2 block that a value holds, as it is or after a byte for its kind.
func (s search) packed(value []byte) bool {
	for _, from := range []int{0, 1} {
		var v any
		if len(value) > from && cbor.Unmarshal(value[from:], &v) == nil && s.walk(v) {
			return true
		}
	}
	return false
}

func (s search) walk(v any) bool {
	switch v := v.(type) {
	case []byte:
		if n, err := s2.DecodedLen(v); err != nil || n > 1000*len(v) {
			return false // bytes that are no block claim any length
		}
		inner, err := s2.Decode(nil, v)
		return err == nil && s.in(inner)
	case []any:
		if slices.ContainsFunc(v, s.walk) {
			return true
		}
	case map[any]any:
		for _, each := range v {
			if s.walk(each) {
				return true
			}
		}
	}
	return false
}
