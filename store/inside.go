package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/clock"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// Inside is the store as store/retain, store/repair and store/transfer use it. A house test checks that no other
// package does.
type Inside struct {
	*Store
	DB    *pebble.DB // the rows of all crawls; only ApplyTo, Commit and an Intake write rows of a crawl
	Keys  format.Keyspace
	Crawl string // the name of the open crawl, which the keys are of
	FS    vfs.FS
	Clock *clock.Clock
}

// Inside returns the store for the packages below it.
func (s *Store) Inside() Inside {
	return Inside{Store: s, DB: s.db, Keys: s.keys, Crawl: s.options.Crawl, FS: s.fs, Clock: s.options.Clock}
}

// Path returns the path of a name in the directory.
func (in Inside) Path(names ...string) string {
	return in.fs.PathJoin(append([]string{in.dir.path}, names...)...)
}

// Alone waits until no purge, sweep or repair is running, and blocks others until release is called. Call it before
// HoldFiles.
func (in Inside) Alone() (release func()) {
	in.keeping.Lock()
	return in.keeping.Unlock
}

// HoldFiles prevents the deletion of WARC files until release is called.
func (in Inside) HoldFiles() (release func()) {
	in.files.RLock()
	return in.files.RUnlock
}

// OpenFile opens a WARC file by a path from Files. The file may have been ended and renamed since.
func (in Inside) OpenFile(path string) (*warc.Reader, error) {
	r, err := warc.Open(in.fs, path)
	if ended, was := strings.CutSuffix(path, ".open"); was && errors.Is(err, fs.ErrNotExist) {
		return warc.Open(in.fs, ended)
	}
	return r, err
}

// NewFiles returns a second writer of WARC files. Their names end in the host's name and suffix.
func (in Inside) NewFiles(suffix string) (*warc.Writer, error) { return in.newWARC(suffix) }

// EndFile ends the WARC file that is being written, so that it can be rewritten.
func (in Inside) EndFile() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.writable(); err != nil {
		return err
	}
	if err := in.warc.Close(); err != nil {
		return in.fail(fmt.Errorf("store: end captures: %w", err))
	}
	return nil
}

// Replaced deletes a WARC file whose captures were copied. copies maps their offsets in the file to the copies.
// Readers that still have a pointer into the file get the copy.
func (in Inside) Replaced(file string, copies map[int64]warc.Pointer) error {
	in.moved.set(file, copies)
	in.files.Lock()
	defer in.files.Unlock()
	if err := in.fs.Remove(in.Path(format.CapturesDir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return format.SyncDir(in.fs, in.Path(format.CapturesDir))
}

// FileSize is a file and its size in bytes.
type FileSize struct {
	Name  string `json:"name"`
	Bytes int64  `json:"size_bytes"`
}

// Checkpoint copies the database into a new folder, and returns the WARC files with their sizes at that moment.
// Nothing is committed in between, so the files hold exactly the captures of the rows.
func (in Inside) Checkpoint(to string) (files []FileSize, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.db.Checkpoint(to, pebble.WithFlushedWAL()); err != nil {
		return nil, err
	}
	paths, err := in.Files()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		info, err := in.fs.Stat(path)
		if err != nil {
			return nil, err
		}
		files = append(files, FileSize{in.fs.PathBase(path), info.Size()})
	}
	return files, nil
}

// ApplyTo is Apply for any crawl of the directory. Only records of the open crawl are passed to OnRecord.
func (in Inside) ApplyTo(crawl string, records ...Record) error {
	_, err := in.applyTo(crawl, records...)
	return err
}

// Commit makes rows durable that come from no record, and drops the decoded rows. It closes the batch.
func (in Inside) Commit(batch *pebble.Batch) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.writable(); err != nil {
		return errors.Join(err, batch.Close())
	}
	if err := database.Commit(batch, pebble.Sync); err != nil {
		return in.fail(err)
	}
	in.renew()
	return nil
}

// Damage is what was found wrong when the directory was opened.
type Damage struct {
	RolledBack uint64    // records that were on disk and are missing
	Heights    error     // why the high-water file could not be read
	Orders     []Problem // of the files of orders
}

// Damage returns what was found wrong when the directory was opened.
func (in Inside) Damage() Damage { return Damage{in.rolledBack, in.unreadable, in.orders.faults} }

// Height returns the highest record number that a partition ever had, lost records included.
func (in Inside) Height(p weburl.Partition) uint64 { return in.highwater.height(in.options.Crawl, p) }

// NoteHeights stores the heights of all partitions durably.
func (in Inside) NoteHeights() error { return in.highwater.write() }

// OnPurge calls Options.OnPurge, so that files that are not the store's are purged too.
func (in Inside) OnPurge(ctx context.Context, hit func(url string) bool) error {
	if in.options.OnPurge == nil {
		return nil
	}
	return in.options.OnPurge(ctx, hit)
}

// Begun returns the purges that are not finished, of all crawls.
func (in Inside) Begun() ([]Purging, error) { return in.begun() }

// BegunIn is Begun for a snapshot of the database.
func (in Inside) BegunIn(db pebble.Reader) ([]Purging, error) { return begunIn(db) }

// BeginAgain makes the next FinishPurges delete the bytes of p again.
func (in Inside) BeginAgain(p Purging) error { return in.put(p.key(), &p, pebble.Sync) }

// End declares that no byte of what a purge takes down is left on disk.
func (in Inside) End(p Purging) error {
	batch := in.db.NewBatch()
	if err := batch.Delete(p.key(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return in.Commit(batch)
}

// Member appends a capture to dst, as it is in its file.
func (in Inside) Member(dst []byte, at warc.Pointer) ([]byte, error) {
	dst, err := warc.ReadMember(dst, in.fs, in.Path(format.CapturesDir), at)
	if err != nil {
		return dst, captureError(err)
	}
	return dst, nil
}
