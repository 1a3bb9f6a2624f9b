package disk

import (
	"errors"
	"runtime"
	"testing"
)

// TestHeapDoesNotGrow holds that the heads of known URLs are not in the heap, which the collector lets double, both
// after the runs were written and after they were opened.
func TestHeapDoesNotGrow(t *testing.T) {
	if _, err := allocate(8); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	dir := t.TempDir()
	before := heap()
	for _, filled := range []bool{false, true} {
		s, _, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !filled {
			fill(t, s, 2_000_000)
			if err := s.Settle(); err != nil {
				t.Fatal(err)
			}
		}
		heads, grown := s.Stats().HeadBytes, heap()-before-int64(len(s.active.slots)*entryLen)
		if heads < 2_300_000 || grown > heads/4 {
			t.Errorf("filled before: %v: the heap has grown by %d bytes, the heads have %d", filled, grown, heads)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// heap returns the bytes of what can be reached.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
