package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/cmd/freshet/command"
	"freshet/objects"
)

// bucketOf returns the bucket of an object's address, and the name of the object in it.
func bucketOf(address string) (objects.Store, string, error) {
	dir, name := path.Split(strings.TrimPrefix(address, objects.Scheme))
	if strings.Trim(dir, "/") == "" || name == "" {
		return nil, "", fmt.Errorf("%s: want s3://BUCKET/NAME", address)
	}
	s, err := objects.Open(vfs.Default, objects.Scheme+strings.TrimSuffix(dir, "/"))
	return s, name, err
}

// writeTo is command.WriteTo for names that may be addresses of objects. It writes an object when its content is
// complete.
func writeTo(ctx context.Context, name string, stdout io.Writer, write func(io.Writer) error) error {
	if !objects.IsBucket(name) {
		return command.WriteTo(name, stdout, write)
	}
	store, object, err := bucketOf(name)
	if err != nil {
		return command.Usage(err)
	}
	defer store.Close()
	return spool(write, func(f *os.File, size int64) error {
		_, err := store.Put(ctx, object, f, size)
		return err
	})
}

// spool calls write to fill a temporary file, and then use to read it.
func spool(write func(io.Writer) error, use func(f *os.File, size int64) error) error {
	f, err := os.CreateTemp("", "freshet-object-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer command.Unfinished(f.Name())()
	err = write(f)
	if err == nil {
		var size int64
		if size, err = f.Seek(0, io.SeekEnd); err == nil {
			err = use(f, size)
		}
	}
	return errors.Join(err, f.Close())
}

// uploadFiles is copyFiles for a bucket.
func uploadFiles(ctx context.Context, fsys vfs.FS, files []string, address string, served func(target string) (bool, error)) error {
	store, err := objects.Open(vfs.Default, address)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, file := range files {
		name := nameOfCopy(file)
		if served != nil || isOpen(file) {
			err = spool(func(w io.Writer) error { return copyServed(w, fsys, file, served) }, func(f *os.File, size int64) error {
				_, err := store.Put(ctx, name, f, size)
				return err
			})
		} else {
			err = uploadFile(ctx, fsys, file, store, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uploadFile uploads a file unchanged, unless there is an object with its name and size.
func uploadFile(ctx context.Context, fsys vfs.FS, file string, store objects.Store, name string) (err error) {
	f, err := fsys.Open(file, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := store.Size(ctx, name)
	if err == nil && there == info.Size() {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = store.Put(ctx, name, f, info.Size())
	return err
}

// snapshotName is the object that marks the objects beside it as a snapshot. It is written last.
const snapshotName = "snapshot.json"

// uploadSnapshot uploads the files of a snapshot, which it reads as a tar file.
func uploadSnapshot(ctx context.Context, in io.Reader, address string) error {
	store, err := objects.Open(vfs.Default, address)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.Size(ctx, snapshotName); err == nil {
		return fmt.Errorf("there is already a snapshot in %s: choose another address", address)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var list []byte
	archive := tar.NewReader(in)
	for {
		head, err := archive.Next()
		if err == io.EOF && list != nil {
			return store.Create(ctx, snapshotName, list)
		}
		if err != nil {
			return err
		}
		if head.Name == snapshotName {
			if list, err = io.ReadAll(io.LimitReader(archive, 1<<28)); err != nil {
				return err
			}
			continue
		}
		err = spool(func(w io.Writer) error { _, err := io.Copy(w, archive); return err }, func(f *os.File, size int64) error {
			_, err := store.Put(ctx, head.Name, f, size)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// downloadSnapshot downloads the objects of a snapshot to a new folder.
func downloadSnapshot(ctx context.Context, address, to string) error {
	store, err := objects.Open(vfs.Default, address)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.Size(ctx, snapshotName); err != nil {
		return fmt.Errorf("%s is not a snapshot: %w", address, err)
	}
	for o, err := range store.List(ctx, "") {
		if err != nil {
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(o.Name)) {
			return fmt.Errorf("%s: object %q: want the name of a file", address, o.Name)
		}
		file := filepath.Join(to, filepath.FromSlash(o.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		err := command.WriteFile(file, func(w io.Writer) error {
			_, err := io.Copy(w, objects.Reader(ctx, store, o.Name, o.Bytes))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
