package store

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Bounds of a cache whose size is no option.
const (
	leastCacheBytes = 1 << 20
	mostCacheBytes  = 4 << 20
)

// blockCache is the database's cache of blocks; the usual write buffers are booked in it beside them.
//
// It is small as long as little is stored: the system keeps the files, so that a block is read in a few
// microseconds. But filters, which every look-up needs, are tens to hundreds of kilobytes each in a large database,
// and make much garbage where they do not fit. So unless it has a size of its own it has a sixteenth of what is
// stored, in whole MiB between leastCacheBytes and mostCacheBytes. And the filters of the last level, where nearly all
// rows are and nearly all filters, a hundredth of what is stored, are asked only as long as they fit beside blocks.
type blockCache struct {
	*pebble.Cache
	mu       sync.Mutex
	bytes    int64       // for blocks
	reserved []func()    // each gives leastCacheBytes more to blocks
	outgrown atomic.Bool // the filters of the last level do not fit
}

// newBlockCache returns a cache for so many bytes of blocks, or, if that is 0, one that grows. Its Unref is for the
// caller to call.
func newBlockCache(bytes int64) *blockCache {
	const buffers = usualMemTables * memTableBytes
	if bytes > 0 {
		return &blockCache{Cache: pebble.NewCache(bytes + buffers), bytes: bytes}
	}
	c := &blockCache{Cache: pebble.NewCache(mostCacheBytes + buffers), bytes: leastCacheBytes}
	for range mostCacheBytes/leastCacheBytes - 1 {
		c.reserved = append(c.reserved, c.Reserve(leastCacheBytes))
	}
	return c
}

// grow gives blocks the room that a database of so many bytes asks for. It takes none back.
func (c *blockCache) grow(stored int64) {
	share := stored / 16
	c.outgrown.Store(share >= mostCacheBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.reserved) > 0 && share >= c.bytes+leastCacheBytes {
		last := len(c.reserved) - 1
		c.reserved[last]()
		c.reserved = c.reserved[:last]
		c.bytes += leastCacheBytes
	}
}
