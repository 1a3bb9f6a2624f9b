package store

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
)

// TestHeightsWrittenAtOnce writes the high-water file from two goroutines, as the heartbeat does while a partition is
// loaded.
func TestHeightsWrittenAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("d", 0o700); err != nil {
		t.Fatal(err)
	}
	h := &highwater{fs: fs, dir: "d", now: format.Heights{Partitions: 1, Crawls: map[string][]uint64{}}}
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range 500 {
				if err := h.write(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}
