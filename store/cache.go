package store

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Sizes of a cache for which none is asked, and what is stored in a database that has outgrown the first.
const (
	smallCacheBytes    = 1 << 20
	largeCacheBytes    = 2 << 20
	largeDatabaseBytes = 64 << 20
)

// blockCache is the database's cache of blocks; the usual write buffers are booked in it beside them.
//
// It is small: the system keeps the files, so that a block is read in a few microseconds. But filters, which every
// look-up needs, are tens to hundreds of kilobytes each, and make much garbage where they do not fit. So in a large
// database it is twice as large, and the filters of the last level, where nearly all rows are and so nearly all
// filters, a hundredth of what is stored, are not asked any more.
type blockCache struct {
	*pebble.Cache
	large    atomic.Bool // the database is
	withheld func()      // gives blocks what a large database's have more; nil: it has the size that was asked for
}

// newBlockCache returns a cache for so many bytes of blocks, or, if that is 0, one that grows. Its Unref is for the
// caller to call.
func newBlockCache(bytes int64) *blockCache {
	const buffers = usualMemTables * memTableBytes
	if bytes > 0 {
		return &blockCache{Cache: pebble.NewCache(bytes + buffers)}
	}
	c := &blockCache{Cache: pebble.NewCache(largeCacheBytes + buffers)}
	c.withheld = c.Reserve(largeCacheBytes - smallCacheBytes)
	return c
}

// grow tells how much is stored. A cache that has grown stays so until the next opening.
func (c *blockCache) grow(stored int64) {
	if stored >= largeDatabaseBytes && c.large.CompareAndSwap(false, true) && c.withheld != nil {
		c.withheld()
	}
}
