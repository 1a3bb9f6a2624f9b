package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCacheGrows holds that the cache follows the tables: at a write after they have become more, and at the next
// opening. One whose size was asked for gives nothing free.
func TestCacheGrows(t *testing.T) {
	for _, asked := range []int64{0, 3 << 20} {
		o := testOptions(vfs.NewMem())
		o.CacheBytes = asked
		s := openTest(t, o)
		if (s.cache.withheld == nil) != (asked > 0) {
			t.Errorf("asked for %d: may grow %v", asked, s.cache.withheld != nil)
		}
		value, rng := make([]byte, 1<<20), rand.NewChaCha8([32]byte{1})
		for i := range byte(largeDatabaseBytes>>20 + 1) {
			if s.cache.large.Load() {
				t.Fatalf("asked for %d: large with %d MiB stored", asked, i)
			}
			_, _ = rng.Read(value)
			if err := s.db.Set([]byte{keyFormat, 0, i}, value, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(&Paused{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(&Paused{}); err != nil {
			t.Fatal(err)
		}
		if !s.cache.large.Load() {
			t.Errorf("asked for %d: not large with %d stored", asked, s.db.Metrics().Total().TablesSize)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s = openTest(t, o); !s.cache.large.Load() {
			t.Errorf("asked for %d: not large at the next opening", asked)
		}
	}
}
