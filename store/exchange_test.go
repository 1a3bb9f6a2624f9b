package store_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/store/internal/storetest"
)

// TestPeers holds the notes of a partition about others. The place up to which it has received from another never goes
// back. Another owner's partition stays noted as such until both have one owner again.
func TestPeers(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	apply := func(records ...store.Record) {
		t.Helper()
		if _, err := s.Apply(records...); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want ...store.Peer) {
		t.Helper()
		got, err := s.Peers(2)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("peers (-want +got):\n%s", diff)
		}
	}
	first, second := &store.Arrived{Partition: 2, From: 3, Record: 7}, &store.Arrived{Partition: 2, From: 3, Record: 5}
	apply(first, second, &store.Parted{Partition: 2, To: 1, Record: 4})
	holds(store.Peer{Partition: 1, Parted: true, After: 4}, store.Peer{Partition: 3, Arrived: 7})
	if first.Number != 1 || second.Number != 2 {
		t.Errorf("numbers %d and %d: want 1 and 2", first.Number, second.Number)
	}
	apply(&store.Arrived{Partition: 2, From: 3, Record: 6}, &store.Parted{Partition: 2, To: 3, Record: 9}, &store.Taken{Partition: 2, By: "b"})
	holds(store.Peer{Partition: 1, Parted: true, After: 4}, store.Peer{Partition: 3, Arrived: 7, Parted: true, After: 9})
	apply(&store.Parted{Partition: 2, To: 3, Joined: true}, &store.Parted{Partition: 2, To: 1, Joined: true})
	holds(store.Peer{Partition: 3, Arrived: 7})
	if total, err := s.Counters(2); err != nil || total.Owner != (store.Owner{"b", 6}) {
		t.Errorf("owner %v, %v: want b by record 6", total.Owner, err)
	}
	storetest.Verify(t, s)
}
