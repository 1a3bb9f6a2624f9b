package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The cache grows with what is stored, within bounds, and never shrinks; a size that is asked for stays.
func TestBlockCache(t *testing.T) {
	for _, test := range []struct {
		asked, stored, then, want int64
		outgrown                  bool
	}{
		{0, 0, 0, 1 << 20, false},
		{0, 31 << 20, 0, 1 << 20, false},
		{0, 32 << 20, 0, 2 << 20, false},
		{0, 32 << 20, 63 << 20, 3 << 20, false},
		{0, 1 << 20, 64 << 20, 4 << 20, true},
		{0, 64 << 20, 1 << 20, 4 << 20, false},
		{0, 1 << 40, 1 << 40, 4 << 20, true},
		{5 << 20, 1 << 40, 0, 5 << 20, false},
	} {
		c := newBlockCache(test.asked)
		c.grow(test.stored)
		c.grow(test.then)
		if c.bytes != test.want || c.outgrown.Load() != test.outgrown {
			t.Errorf("asked for %d, %d and %d bytes stored: a cache of %d, outgrown %v, want %d, %v", test.asked, test.stored, test.then, c.bytes, c.outgrown.Load(), test.want, test.outgrown)
		}
		c.Unref()
	}
}

// TestCacheGrows holds that the cache follows the tables: at a write after they have become more, and at the next
// opening.
func TestCacheGrows(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.CacheBytes = 0
	s := openTest(t, o)
	if s.cache.bytes != leastCacheBytes {
		t.Errorf("a cache of %d for an empty directory", s.cache.bytes)
	}
	value, rng := make([]byte, 1<<20), rand.NewChaCha8([32]byte{1})
	for i := range byte(33) {
		_, _ = rng.Read(value)
		if err := s.db.Set([]byte{keyFormat, 0, i}, value, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(&Paused{}); err != nil {
		t.Fatal(err)
	}
	if s.cache.bytes != 2<<20 {
		t.Errorf("a cache of %d with 33 MiB stored", s.cache.bytes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = openTest(t, o); s.cache.bytes != 2<<20 {
		t.Errorf("a cache of %d at the next opening", s.cache.bytes)
	}
}
