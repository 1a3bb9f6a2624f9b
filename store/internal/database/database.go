// Package database opens the key-value database of a data directory. It holds all of its tuning, and returns fatal
// conditions of the database as errors. It knows nothing about keys and values.
package database

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database's write buffers. It reserves them from its cache, which is larger by the usual two: one that is
// being written and one that is kept for reuse. If neither is flushed yet and a third is needed, cached blocks make
// room.
const (
	memTableBytes  = 4 << 20
	memTables      = 3
	usualMemTables = 2
)

const (
	// usualCacheBytes is the default size of the block cache. The operating system caches the files, so a block is
	// read in a few microseconds.
	usualCacheBytes = 1 << 20
	// SmallBytes is the largest size at which a database uses the filters of its last level. Up to that size it has
	// two levels: recent writes and the last level. In a larger one most filters do not fit the cache. To read a
	// filter of hundreds of kilobytes costs more than the two blocks that it could save. So the levels between have
	// no filters, and those of the last level, which has nearly all rows, are no longer used.
	SmallBytes = 64 << 20
)

// LeastFree is the free disk space in bytes that a writer needs: what the database's buffers may hold. On a full
// disk the database would try to write them again and again, and could not be interrupted.
const LeastFree = (memTables + 1) * memTableBytes

// Logs is more than how many log files the database keeps for reuse.
const Logs = 2 * memTables

// Options configure how a database is opened.
type Options struct {
	FS         vfs.FS
	CacheBytes int64 // of blocks; default 1 MiB
	ReadOnly   bool
	Log        *slog.Logger
	Flushed    func()                         // called after a table was written; may be nil
	Damaged    func(file string, cause error) // called for a file that cannot be read; may be nil
}

// Open opens the database in a folder. It creates a missing one.
func Open(dir string, o Options) (db *pebble.DB, err error) {
	defer returnFatal(&err)
	cache := pebble.NewCache(cmp.Or(o.CacheBytes, usualCacheBytes) + usualMemTables*memTableBytes)
	defer cache.Unref()
	p := &pebble.Options{
		FS:                          o.FS,
		Cache:                       cache,
		ReadOnly:                    o.ReadOnly,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTables,
		FormatMajorVersion:          pebble.FormatNewest,
		MaxOpenFiles:                500,
		L0CompactionThreshold:       16, // a file that spans all keys counts as two, and all of ours do
		L0StopWritesThreshold:       40,
		LBaseMaxBytes:               SmallBytes,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      logger{o.Log},
		EventListener:               &pebble.EventListener{},
	}
	last := len(p.Levels) - 1
	p.Levels[0].FilterPolicy, p.Levels[last].FilterPolicy = bloom.FilterPolicy(10), bloom.FilterPolicy(10)
	p.Levels[1].FilterPolicy = pebble.NoFilterPolicy // and of those below, as theirs is nil
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	if o.Flushed != nil {
		p.EventListener.FlushEnd = func(pebble.FlushInfo) { o.Flushed() }
	}
	if o.Damaged != nil {
		p.EventListener.DataCorruption = func(info pebble.DataCorruptionInfo) { o.Damaged(info.Path, info.Details) }
	}
	return pebble.Open(dir, p)
}

// Large reports whether a database stores more than SmallBytes.
func Large(db *pebble.DB) bool { return db.Metrics().Total().TablesSize > SmallBytes }

// Close closes a database.
func Close(db *pebble.DB) (err error) {
	defer returnFatal(&err)
	if err := db.Close(); err != nil {
		return fmt.Errorf("store: close database: %w", err)
	}
	return nil
}

// Commit commits and closes a batch. A fatal condition of the database is a panic (see logger), which Commit
// returns as an error. The caller must then not write again.
func Commit(batch *pebble.Batch, o *pebble.WriteOptions) (err error) {
	defer returnFatal(&err)
	if err := batch.Commit(o); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	return batch.Close()
}

// Set stores one value.
func Set(db *pebble.DB, key, value []byte, o *pebble.WriteOptions) error {
	batch := db.NewBatch()
	if err := batch.Set(key, value, nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return Commit(batch, o)
}

// Drop deletes the keys with from ≤ key < to, durably.
func Drop(db *pebble.DB, from, to []byte) error {
	batch := db.NewBatch()
	if err := batch.DeleteRange(from, to, nil); err != nil {
		return errors.Join(err, batch.Close())
	}
	return Commit(batch, pebble.Sync)
}

// Get calls use with the value at key and reports whether there is one. The value is valid only during the call.
func Get(db pebble.Reader, key []byte, use func([]byte) error) (bool, error) {
	raw, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = use(raw)
	return true, errors.Join(err, closer.Close())
}

// ErrStop ends a Scan early.
var ErrStop = errors.New("store: stop")

// Scan calls fn for the pairs with from ≤ key < to, in order, until fn returns an error. Key and value are valid
// only during the call. Scan returns fn's error, or nil for ErrStop.
func Scan(db pebble.Reader, from, to []byte, fn func(key, value []byte) error) error {
	return scan(db, from, to, (*pebble.Iterator).First, (*pebble.Iterator).Next, fn)
}

// ScanBack is Scan from the last pair to the first.
func ScanBack(db pebble.Reader, from, to []byte, fn func(key, value []byte) error) error {
	return scan(db, from, to, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, fn)
}

func scan(db pebble.Reader, from, to []byte, begin, step func(*pebble.Iterator) bool, fn func(key, value []byte) error) (err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := begin(it); ok; ok = step(it) {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := fn(it.Key(), value); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return it.Error()
}
