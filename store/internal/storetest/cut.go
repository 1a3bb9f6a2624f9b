package storetest

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/weburl"
)

// Applied is a record as OnRecord gets it.
type Applied struct {
	Partition weburl.Partition
	Number    uint64
	Raw       []byte
}

// Disk is told how many records must be on it by now.
type Disk interface {
	vfs.FS
	Promise(n int)
}

// Promising returns options for a store on a disk, and the list that OnRecord appends to. Every record in the list
// must be on disk.
func Promising(disk Disk) (store.Options, *[]Applied) {
	var log []Applied
	o := Options(disk)
	o.OnRecord = func(p weburl.Partition, n uint64, raw []byte) {
		log = append(log, Applied{p, n, bytes.Clone(raw)})
		disk.Promise(len(log))
	}
	return o, &log
}

// CheckCut checks a directory after a power cut. It must have at least the promised records of log, its state must
// be what its records make, and it must accept further writes.
func CheckCut(t *testing.T, promised, log []Applied, disk vfs.FS) bool {
	t.Helper()
	s, err := store.Open("data", Options(disk))
	if err != nil {
		t.Error(err)
		return false
	}
	defer s.Close()
	Verify(t, s)
	kept := map[weburl.Partition]uint64{}
	for p := range weburl.Partition(Partitions) {
		counters, err := s.Counters(p)
		if err != nil {
			t.Error(err)
		}
		kept[p] = counters.Records
	}
	for _, r := range promised {
		if r.Number > kept[r.Partition] {
			t.Errorf("record %d of partition %d was acknowledged: the cut left %d", r.Number, r.Partition, kept[r.Partition])
		}
	}
	if diff := cmp.Diff(Replayed(t, log, kept), Dump(t, s)); diff != "" {
		t.Errorf("state (-replayed +after the crash):\n%s", diff)
	}
	NewWorkload(t, 2, 40).Run(s, 3)
	Verify(t, s)
	return !t.Failed()
}

// Replayed returns the state that the first kept records of each partition make.
func Replayed(t *testing.T, log []Applied, kept map[weburl.Partition]uint64) []string {
	t.Helper()
	s := Open(t, Options(vfs.NewMem()))
	defer s.Close()
	for _, r := range log {
		if r.Number > kept[r.Partition] {
			continue
		}
		if err := s.Replay(r.Partition, r.Number, r.Raw); err != nil {
			t.Error(err)
		}
	}
	return Dump(t, s)
}
