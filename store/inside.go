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

// Inside is the store as the rooms below it work with it: store/retain, store/repair and store/transfer. A test
// of the house holds that nobody else asks for it.
type Inside struct {
	*Store
	DB    *pebble.DB // the rows of all crawls; no row of a crawl is written but by ApplyTo, Commit and an Intake
	Keys  format.Keyspace
	Crawl string // the name of the crawl that is open, whose keys those are
	FS    vfs.FS
	Clock *clock.Clock
}

// Inside returns what the rooms below the store work with.
func (s *Store) Inside() Inside {
	return Inside{Store: s, DB: s.db, Keys: s.keys, Crawl: s.options.Crawl, FS: s.fs, Clock: s.options.Clock}
}

// Path returns the path of a name in the directory.
func (in Inside) Path(names ...string) string {
	return in.fs.PathJoin(append([]string{in.dir.path}, names...)...)
}

// Alone waits until no purge, sweep or repair is under way, and keeps others from beginning until release is called.
// It comes before HoldFiles.
func (in Inside) Alone() (release func()) {
	in.keeping.Lock()
	return in.keeping.Unlock
}

// HoldFiles keeps all WARC files from being deleted until release is called.
func (in Inside) HoldFiles() (release func()) {
	in.files.RLock()
	return in.files.RUnlock
}

// OpenFile opens a WARC file by a path of Files, also if the file was being written then and has been ended
// since.
func (in Inside) OpenFile(path string) (*warc.Reader, error) {
	r, err := warc.Open(in.fs, path)
	if ended, was := strings.CutSuffix(path, ".open"); was && errors.Is(err, fs.ErrNotExist) {
		return warc.Open(in.fs, ended)
	}
	return r, err
}

// NewFiles returns a writer of WARC files beside the crawl's own. Their names end in the host's name and suffix.
func (in Inside) NewFiles(suffix string) (*warc.Writer, error) { return in.newWARC(suffix) }

// EndFile ends the WARC file being written, so that it can be rewritten.
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

// Replaced deletes a WARC file whose captures were copied. Readers that hold a pointer into it are led to the copies,
// which are given by their offset in the file.
func (in Inside) Replaced(file string, copies map[int64]warc.Pointer) error {
	in.moved.set(file, copies)
	in.files.Lock()
	defer in.files.Unlock()
	if err := in.fs.Remove(in.Path(format.CapturesDir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return format.SyncDir(in.fs, in.Path(format.CapturesDir))
}

// FileSize is a file and how many bytes of it there are.
type FileSize struct {
	Name  string `json:"name"`
	Bytes int64  `json:"size_bytes"`
}

// Checkpoint copies the database into a new folder, and returns the WARC files as they are then: nothing is committed
// in between, so that they hold what the rows point at, and no capture that is newer.
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

// ApplyTo is Apply for any crawl of the directory. Only the records of the crawl that is open are shown to
// OnRecord.
func (in Inside) ApplyTo(crawl string, records ...Record) error {
	_, err := in.applyTo(crawl, records...)
	return err
}

// Commit makes rows durable that no record has made, and forgets the decoded ones. It closes the batch.
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
	RolledBack uint64    // records that were on disk once and are missing
	Heights    error     // why the file could not be read that tells their numbers
	Orders     []Problem // of the files of what was ordered
}

// Damage returns what was found wrong when the directory was opened.
func (in Inside) Damage() Damage { return Damage{in.rolledBack, in.unreadable, in.orders.faults} }

// Height returns the number that a partition's records have come to, also those that were lost.
func (in Inside) Height(p weburl.Partition) uint64 { return in.highwater.height(in.options.Crawl, p) }

// NoteHeights notes durably what numbers all partitions' records have come to.
func (in Inside) NoteHeights() error { return in.highwater.write() }

// OnPurge tells whoever has files in the directory what is being purged.
func (in Inside) OnPurge(ctx context.Context, hit func(url string) bool) error {
	if in.options.OnPurge == nil {
		return nil
	}
	return in.options.OnPurge(ctx, hit)
}

// Begun returns the purges that are not finished, of all crawls.
func (in Inside) Begun() ([]Purging, error) { return in.begun() }

// BeginAgain has the next end of all purges take p off the disk again.
func (in Inside) BeginAgain(p Purging) error { return in.put(p.key(), &p, pebble.Sync) }

// End says that nothing of a purge is on the disk any more.
func (in Inside) End(p Purging) error {
	batch := in.db.NewBatch()
	if err := batch.Delete(p.key(), nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return in.Commit(batch)
}

// Member appends a capture to dst, as it lies in its file.
func (in Inside) Member(dst []byte, at warc.Pointer) ([]byte, error) {
	dst, err := warc.ReadMember(dst, in.fs, in.Path(format.CapturesDir), at)
	if err != nil {
		return dst, captureError(err)
	}
	return dst, nil
}
