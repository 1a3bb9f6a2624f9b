package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/segments"
)

// snapshotList is the content of snapshot.json.
type snapshotList struct {
	Format int              `json:"format"` // of the directory
	At     time.Time        `json:"at"`
	Files  []store.FileSize `json:"files"` // the WARC files, by name
	// Segments are the WARC files in an object store, which are not in the snapshot.
	Segments *segments.Manifest `json:"segments,omitempty"`
}

// Snapshot copies the directory, as it is at one moment during the call, to the new folder to. The folder appears
// whole or not at all. Writes are blocked only while the database's files are linked and its log is copied. The
// deletion of WARC files waits until the end. On the same file system Snapshot makes hard links and copies little
// but the open WARC file. The copy then takes the space of what the directory deletes later. It holds all crawls.
// It lacks their sets of seen URLs, which the next crawl rebuilds, and WARC files in an object store, which it
// shares with the directory. Neither Restore nor a later purge of the directory changes it.
func Snapshot(ctx context.Context, s *store.Store, to string) error {
	in := s.Inside()
	defer in.HoldFiles()()
	if _, err := in.FS.Stat(to); err == nil {
		return fmt.Errorf("store: snapshot: %s is there already: choose another folder", to)
	}
	temp := to + ".part"
	if err := in.FS.RemoveAll(temp); err != nil {
		return fmt.Errorf("store: snapshot: %w", err)
	}
	if err := snapshot(ctx, in, temp); err != nil {
		return errors.Join(fmt.Errorf("store: snapshot: %w", err), in.FS.RemoveAll(temp))
	}
	if err := in.FS.Rename(temp, to); err != nil {
		return fmt.Errorf("store: snapshot: %w", err)
	}
	return format.SyncDir(in.FS, in.FS.PathDir(to))
}

func snapshot(ctx context.Context, in store.Inside, to string) error {
	if err := in.FS.MkdirAll(in.FS.PathJoin(to, format.CapturesDir), 0o755); err != nil {
		return err
	}
	list := snapshotList{Format: store.Format, At: in.Clock.Now().UTC()}
	all, err := in.Checkpoint(in.FS.PathJoin(to, format.DatabaseDir))
	if err != nil {
		return err
	}
	list.Segments = in.Shares()
	for _, part := range all {
		if segment, moved := in.Moved(part.Name); moved {
			list.Segments.Segments = append(list.Segments.Segments, segment)
			continue
		}
		list.Files = append(list.Files, part)
		if err := errors.Join(ctx.Err(), snapshotWARC(in, part, in.FS.PathJoin(to, format.CapturesDir))); err != nil {
			return err
		}
	}
	if err := copySmall(in.FS, in.Path(), to); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := format.WriteFile(in.FS, in.FS.PathJoin(to, format.SnapshotFile), append(raw, '\n')); err != nil {
		return err
	}
	return errors.Join(format.SyncDir(in.FS, in.FS.PathJoin(to, format.CapturesDir)), format.SyncDir(in.FS, to))
}

// snapshotWARC links a closed file. Of an open one it copies the bytes that were there; the restored directory cuts
// off a torn end.
func snapshotWARC(in store.Inside, part store.FileSize, dir string) error {
	path, into := in.FS.PathJoin(in.Path(format.CapturesDir), part.Name), in.FS.PathJoin(dir, part.Name)
	closed, open := strings.CutSuffix(path, ".open")
	if !open {
		return vfs.LinkOrCopy(in.FS, path, into)
	}
	err := copyPrefix(in.FS, path, into, part.Bytes)
	if errors.Is(err, fs.ErrNotExist) { // it was closed meanwhile
		err = copyPrefix(in.FS, closed, into, part.Bytes)
	}
	return err
}

// Restore makes a data directory in the new folder to from a snapshot. The folder appears whole or not at all, and
// the snapshot is not changed. If the snapshot lacks a file, or has one of another size, the error is
// store.ErrCorrupt; for a newer format it is store.ErrFormat.
func Restore(fsys vfs.FS, snapshot, to string) error {
	list, err := readSnapshot(fsys, snapshot)
	if err != nil {
		return err
	}
	if names, err := fsys.List(to); err == nil && len(names) > 0 {
		return fmt.Errorf("store: restore: %s is not empty: choose a directory that does not exist yet", to)
	} else if err == nil {
		if err := fsys.Remove(to); err != nil {
			return fmt.Errorf("store: restore: %w", err)
		}
	}
	temp := to + ".part"
	if err := fsys.RemoveAll(temp); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	if err := restore(fsys, snapshot, temp, list); err != nil {
		return errors.Join(fmt.Errorf("store: restore: %w", err), fsys.RemoveAll(temp))
	}
	if err := fsys.Rename(temp, to); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	return format.SyncDir(fsys, fsys.PathDir(to))
}

func readSnapshot(fsys vfs.FS, snapshot string) (list snapshotList, err error) {
	name := fsys.PathJoin(snapshot, format.SnapshotFile)
	raw, err := format.ReadFile(fsys, name, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		return list, fmt.Errorf("store: restore: %s is not a snapshot: %w", snapshot, err)
	} else if err != nil {
		return list, fmt.Errorf("store: restore: %w", err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return list, fmt.Errorf("%w: %s: %w", store.ErrCorrupt, name, err)
	}
	if list.Format > store.Format {
		return list, fmt.Errorf("%w: %s: format %d: this program reads up to format %d", store.ErrFormat, name, list.Format, store.Format)
	}
	for _, part := range list.Files {
		path := fsys.PathJoin(snapshot, format.CapturesDir, part.Name)
		if part.Name != fsys.PathBase(part.Name) {
			return list, fmt.Errorf("%w: %s: file %q: want a name", store.ErrCorrupt, name, part.Name)
		}
		info, err := fsys.Stat(path)
		if err != nil {
			return list, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		if info.Size() != part.Bytes {
			return list, fmt.Errorf("%w: %s: %d bytes: want %d", store.ErrCorrupt, path, info.Size(), part.Bytes)
		}
	}
	return list, nil
}

func restore(fsys vfs.FS, snapshot, to string, list snapshotList) error {
	for _, dir := range []string{format.CapturesDir, format.DatabaseDir} {
		if err := fsys.MkdirAll(fsys.PathJoin(to, dir), 0o700); err != nil {
			return err
		}
	}
	// Nothing is linked: a directory that is written to shares no file with its snapshot.
	for _, part := range list.Files {
		from, into := fsys.PathJoin(snapshot, format.CapturesDir, part.Name), fsys.PathJoin(to, format.CapturesDir, part.Name)
		if err := copyPrefix(fsys, from, into, -1); err != nil {
			return err
		}
	}
	names, err := fsys.List(fsys.PathJoin(snapshot, format.DatabaseDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyPrefix(fsys, fsys.PathJoin(snapshot, format.DatabaseDir, name), fsys.PathJoin(to, format.DatabaseDir, name), -1); err != nil {
			return err
		}
	}
	if err := copySmall(fsys, snapshot, to); err != nil {
		return err
	}
	if list.Segments != nil {
		if err := list.Segments.Write(fsys, to); err != nil {
			return err
		}
	}
	return errors.Join(format.SyncDir(fsys, fsys.PathJoin(to, format.CapturesDir)), format.SyncDir(fsys, fsys.PathJoin(to, format.DatabaseDir)), format.SyncDir(fsys, to))
}

// copySmall copies the small files of the directory: its format and, if there are any, the orders.
func copySmall(fsys vfs.FS, from, to string) error {
	for _, name := range []string{format.OrdersFile, format.OrdersCopy} {
		err := copyPrefix(fsys, fsys.PathJoin(from, name), fsys.PathJoin(to, name), -1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return copyPrefix(fsys, fsys.PathJoin(from, format.InfoFile), fsys.PathJoin(to, format.InfoFile), -1)
}

// copyPrefix copies the first n bytes of a file to a new one, or all of them if n is negative. The content is
// durable; the name is not.
func copyPrefix(fsys vfs.FS, from, to string, n int64) (err error) {
	source, err := fsys.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := fsys.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	var in io.Reader = source
	if n >= 0 {
		in = io.LimitReader(source, n)
	}
	_, err = io.Copy(target, in)
	if err == nil {
		err = target.Sync()
	}
	return errors.Join(err, target.Close())
}
