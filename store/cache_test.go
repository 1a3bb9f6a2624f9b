package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The cache grows with what is stored, within bounds, and is what is asked for if that is said.
func TestDefaultCache(t *testing.T) {
	for stored, want := range map[int64]int64{0: 1 << 20, 16 << 20: 1 << 20, 32 << 20: 2 << 20, 64 << 20: 4 << 20, 1 << 40: 4 << 20} {
		if got := defaultCache(stored); got != want {
			t.Errorf("%d bytes stored: a cache of %d, want %d", stored, got, want)
		}
	}
	s := openTest(t, testOptions(vfs.NewMem()))
	if got := s.cacheBytes(); got != s.options.CacheBytes {
		t.Errorf("a cache of %d, want the option's %d", got, s.options.CacheBytes)
	}
	s.options.CacheBytes = 0
	if got := s.cacheBytes(); got != 1<<20 {
		t.Errorf("a cache of %d for an empty directory, want 1 MiB", got)
	}
}
