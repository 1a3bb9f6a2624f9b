package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// The database only marks keys as deleted. Their bytes stay in older tables and in log files that are kept for
// reuse.

// reusing is a file system that can be switched to delete old files instead of reusing them.
type reusing struct {
	vfs.FS
	afresh atomic.Bool
}

// ReuseForWrite implements vfs.FS.
func (r *reusing) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !r.afresh.Load() {
		return r.FS.ReuseForWrite(oldname, newname, category)
	}
	if err := r.FS.Remove(oldname); err != nil {
		return nil, err
	}
	return r.FS.Create(newname, category)
}

// Unwrap implements vfs.FS.
func (r *reusing) Unwrap() vfs.FS { return r.FS }

// Scrub removes the bytes of take-downs in some partitions, of all crawls, from the database's files. It
// replaces the tables and every log file that is kept for reuse, and the old files are gone when it returns. It
// waits for readers of the old state.
func (in Inside) Scrub(ctx context.Context, places []weburl.Partition) error {
	// A table that was written while a snapshot was open may still have deleted values. Snapshots from here on do
	// not see them. Scrubbed deletes them all again, and the compaction below carries those deletions to every
	// table that has the keys.
	in.files.Lock()
	in.files.Unlock() //nolint:staticcheck // every reader with a snapshot is done
	names, err := in.everyCrawl()
	if err != nil {
		return err
	}
	for _, crawl := range names {
		for _, p := range places {
			if _, err := in.applyTo(crawl, &Scrubbed{Partition: p}); err != nil {
				return err
			}
		}
	}
	if err := in.replaceLogs(); err != nil {
		return err
	}
	from := []byte{format.Oldest}
	for _, crawl := range names {
		for p := range in.dir.partitions {
			_, to := format.NewKeyspace(crawl).PartitionSpan(weburl.Partition(p))
			if err := in.db.Compact(ctx, from, to, false); err != nil {
				return err
			}
			from = to
		}
	}
	if err := in.db.Compact(ctx, from, []byte{format.KeyFormat + 1}, false); err != nil {
		return err
	}
	for {
		m := in.db.Metrics()
		if m.Table.ObsoleteCount == 0 && m.Table.ZombieCount == 0 {
			return nil
		}
		if err := in.Clock.Sleep(ctx, in.Clock.Span(10*time.Millisecond)); err != nil {
			return err
		}
	}
}

// replaceLogs replaces more log files than the database keeps for reuse.
func (s *Store) replaceLogs() error {
	s.logs.afresh.Store(true)
	defer s.logs.afresh.Store(false)
	for range database.Logs {
		if err := s.put(scrubKey(), true, pebble.Sync); err != nil { // an empty log would not be replaced
			return err
		}
		if err := s.db.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// scrubKey is outside of every crawl. Its value has no meaning.
func scrubKey() []byte { return format.Outside("scrub") }
