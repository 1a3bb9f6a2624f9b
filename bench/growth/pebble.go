package growth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/seen"
	"freshet/weburl"
)

// rival is a set of fingerprints in a Pebble database. It gets the memory that the URL-seen test may use: two bytes
// a known URL. That covers its memtables and its block cache, which also holds filters and indexes.
type rival struct {
	dir   string
	known uint64               // how many are
	fresh []weburl.Fingerprint // of a batch
	key   [8]byte
	db    *pebble.DB
}

const (
	memtable  = 16 << 20
	tableURLs = 4 << 20 // of a loaded table
)

func (r *rival) options(known uint64) *pebble.Options {
	o := &pebble.Options{
		CacheSize: 2*int64(known) + 2*memtable, MemTableSize: memtable,
		FormatMajorVersion: pebble.FormatNewest, Comparer: wholeKeys(), Logger: quiet{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// open opens the database with the memory for that many URLs.
func (r *rival) open(known uint64) (err error) {
	r.db, err = pebble.Open(filepath.Join(r.dir, "pebble"), r.options(known))
	return err
}

// close closes the database and frees its memory.
func (r *rival) close() error {
	db := r.db
	r.db = nil
	return db.Close()
}

// grow adds URLs until that many are known: it loads the new ones as sorted tables and compacts all into one level.
func (r *rival) grow(ctx context.Context, known uint64) error {
	fingerprints := make([]weburl.Fingerprint, 0, known-r.known)
	for ; r.known < known; r.known++ {
		if r.known%chunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		fingerprints = append(fingerprints, madeUp(r.known).Fingerprint)
	}
	slices.Sort(fingerprints)
	format := r.db.TableFormat()
	var names []string
	for keys := range slices.Chunk(slices.Compact(fingerprints), tableURLs) {
		name := filepath.Join(r.dir, fmt.Sprintf("load-%d.sst", len(names)))
		if err := r.writeTable(name, format, keys); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		names = append(names, name)
	}
	if err := r.db.Ingest(ctx, names); err != nil {
		return err
	}
	return r.db.Compact(ctx, []byte{}, slices.Repeat([]byte{255}, 9), true)
}

func (r *rival) writeTable(name string, format sstable.TableFormat, keys []weburl.Fingerprint) error {
	file, err := vfs.Default.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	o := r.options(0)
	o.EnsureDefaults()
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), o.MakeWriterOptions(6, format))
	for _, fp := range keys {
		if err := w.Set(r.set(fp), nil); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

func (r *rival) set(fp weburl.Fingerprint) []byte {
	for i := range r.key {
		r.key[i] = byte(fp >> (56 - 8*i))
	}
	return r.key[:]
}

// batches returns a function that asks decide in batches of that many URLs, behind the cache of the URL-seen test.
// With one entry there is no cache.
func batches(entries, urls int, decide func([]weburl.Fingerprint) error) func([]weburl.Link) error {
	recent := seen.NewSetClock(entries)
	batch := make([]weburl.Fingerprint, 0, urls)
	return func(links []weburl.Link) error {
		for i := range links {
			if _, hit := recent.Touch(links[i].Fingerprint); !hit {
				batch = append(batch, links[i].Fingerprint)
			}
			if len(batch) == urls || i == len(links)-1 {
				if err := decide(batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
		return nil
	}
}

// sorted looks a batch up in order by one iterator.
func (r *rival) sorted(batch []weburl.Fingerprint) error {
	slices.Sort(batch)
	it, err := r.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return err
	}
	r.fresh = r.fresh[:0]
	for _, fp := range slices.Compact(batch) {
		if !it.SeekPrefixGE(r.set(fp)) {
			r.fresh = append(r.fresh, fp)
		}
	}
	return errors.Join(it.Error(), it.Close(), r.insert())
}

// get looks a batch up one by one.
func (r *rival) get(batch []weburl.Fingerprint) error {
	r.fresh = r.fresh[:0]
	for _, fp := range batch {
		_, closer, err := r.db.Get(r.set(fp))
		switch {
		case errors.Is(err, pebble.ErrNotFound):
			r.fresh = append(r.fresh, fp)
		case err != nil:
			return err
		default:
			if err := closer.Close(); err != nil {
				return err
			}
		}
	}
	return r.insert()
}

// insert makes the new ones of a batch known and durable.
func (r *rival) insert() error {
	b := r.db.NewBatch()
	slices.Sort(r.fresh)
	for _, fp := range r.fresh {
		if err := b.Set(r.set(fp), nil, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// wholeKeys makes every key its own prefix, as filters and SeekPrefixGE want it.
func wholeKeys() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Name = "freshet.growth"
	c.Split = func(key []byte) int { return len(key) }
	return &c
}

// quiet drops the database's messages.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf must not return.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
