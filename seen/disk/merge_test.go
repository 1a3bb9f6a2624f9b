package disk

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestNoEmptySegments crowds all fingerprints into one piece of a partition. The other pieces are empty and make no
// segments.
func TestNoEmptySegments(t *testing.T) {
	s, _, err := Open("set", Options{FS: vfs.NewMem(), tableEntries: 3000, segmentEntries: 7000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range uint64(60_000) {
		e := nth(i)
		e.Partition, e.Fingerprint = 1, 0xf<<60|e.Fingerprint>>4
		s.Add(e, true)
		if i%3000 == 2999 {
			if err := s.Keep(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.runs {
		for _, g := range r.segments {
			if g.n == 0 {
				t.Errorf("segment %s is empty", g.path)
			}
		}
	}
}
