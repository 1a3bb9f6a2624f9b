package transfer

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
)

// streams counts the tar snapshots of this process, to give their temporary copies unique names.
var streams atomic.Int64

// WriteSnapshot writes a Snapshot as a tar file. Meanwhile the copy is in the directory's temporary folder. If a
// purge finishes meanwhile, it interrupts the snapshot, and the error is store.ErrCut. Other errors are those of
// Snapshot and w.
func WriteSnapshot(ctx context.Context, s *store.Store, w io.Writer) (err error) {
	in := s.Inside()
	if err := format.MakeDir(in.FS, in.Path(format.TempDir)); err != nil {
		return err
	}
	copied := in.FS.PathJoin(in.Path(format.TempDir), fmt.Sprintf("snapshot-%d", streams.Add(1)))
	defer func() {
		err = errors.Join(err, in.FS.RemoveAll(copied))
	}()
	if err := Snapshot(ctx, s, copied); err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	err = addFolder(ctx, archive, in.FS, copied, "")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrCut, err)
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		return fmt.Errorf("store: write a snapshot: %w", err)
	}
	return nil
}

// addFolder adds all files of a folder to an archive, under names that begin with prefix.
func addFolder(ctx context.Context, archive *tar.Writer, fsys vfs.FS, dir, prefix string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		info, err := fsys.Stat(path)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if info.IsDir() {
			err = addFolder(ctx, archive, fsys, path, prefix+name+"/")
		} else {
			err = addFile(archive, fsys, path, prefix+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addFile(archive *tar.Writer, fsys vfs.FS, path, name string) (err error) {
	f, err := fsys.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o600, ModTime: info.ModTime()}
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}
