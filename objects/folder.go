package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// folder is a Store in a folder of a file system.
type folder struct {
	fs   vfs.FS
	path string
}

// partSuffix ends the names of files that are being written.
const partSuffix = ".part"

func (f *folder) String() string { return f.path }

func (f *folder) Close() {}

func (f *folder) file(name string) string { return f.fs.PathJoin(f.path, name) }

// Put implements Store. It writes an interrupted part again.
func (f *folder) Put(ctx context.Context, name string, from io.ReaderAt, size int64) (sum Sum, err error) {
	file := f.file(name)
	dir := f.fs.PathDir(file)
	if err := f.makeDir(dir); err != nil {
		return sum, err
	}
	h := sha256.New()
	source := io.TeeReader(&stopping{ctx, io.NewSectionReader(from, 0, size)}, h)
	if err := f.write(file+partSuffix, source); err != nil {
		return sum, err
	}
	sum = Sum(h.Sum(nil))
	info, err := f.fs.Stat(file + partSuffix)
	if err != nil {
		return sum, err
	}
	found, err := sumOf(ctx, f, name+partSuffix, info.Size())
	if err != nil {
		return sum, err
	}
	if info.Size() != size || found != sum {
		return sum, fmt.Errorf("%s: what was written is not what is there", file)
	}
	return sum, errors.Join(f.fs.Rename(file+partSuffix, file), f.syncDir(dir))
}

// stopping is a reader that ends with its context.
type stopping struct {
	ctx context.Context // of one Put
	in  io.Reader
}

// Read implements io.Reader.
func (s *stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.in.Read(p)
}

func (f *folder) write(file string, content io.Reader) error {
	out, err := f.fs.Create(file, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// makeDir makes a folder and its parents, durably.
func (f *folder) makeDir(dir string) error {
	if _, err := f.fs.Stat(dir); err == nil {
		return nil
	}
	parent := f.fs.PathDir(dir)
	if parent != dir && parent != "." {
		if err := f.makeDir(parent); err != nil {
			return err
		}
	}
	if err := f.fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return f.syncDir(parent)
}

func (f *folder) syncDir(dir string) error {
	d, err := f.fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Create implements Store.
func (f *folder) Create(ctx context.Context, name string, content []byte) error {
	if _, err := f.fs.Stat(f.file(name)); err == nil {
		return fmt.Errorf("%s: %w", f.file(name), fs.ErrExist)
	}
	_, err := f.Put(ctx, name, bytes.NewReader(content), int64(len(content)))
	return err
}

// ReadAt implements Store.
func (f *folder) ReadAt(_ context.Context, name string, p []byte, offset int64) (n int, err error) {
	in, err := f.fs.Open(f.file(name), vfs.RandomReadsOption)
	if err != nil {
		return 0, err
	}
	n, err = in.ReadAt(p, offset)
	if e := in.Close(); e != nil {
		err = e
	}
	return n, err
}

// Size implements Store.
func (f *folder) Size(_ context.Context, name string) (int64, error) {
	info, err := f.fs.Stat(f.file(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// List implements Store.
func (f *folder) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { f.list(ctx, "", prefix, yield) }
}

// list calls yield for what a folder below has, and reports whether to go on.
func (f *folder) list(ctx context.Context, dir, prefix string, yield func(Object, error) bool) bool {
	names, err := f.fs.List(f.file(dir))
	if errors.Is(err, fs.ErrNotExist) && dir == "" {
		return true
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return yield(Object{}, err)
	}
	slices.Sort(names)
	for _, base := range names {
		name := path.Join(dir, base)
		info, err := f.fs.Stat(f.file(name))
		switch {
		case errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(base, partSuffix):
			continue
		case err != nil:
			return yield(Object{}, err)
		case info.IsDir():
			if !f.list(ctx, name, prefix, yield) {
				return false
			}
		case strings.HasPrefix(name, prefix) && !yield(Object{name, info.Size()}, nil):
			return false
		}
	}
	return true
}

// Remove implements Store.
func (f *folder) Remove(_ context.Context, name string) error {
	file := f.file(name)
	for _, one := range []string{file, file + partSuffix} {
		if err := f.fs.Remove(one); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err := f.syncDir(f.fs.PathDir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
