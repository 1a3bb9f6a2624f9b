package transfer_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/transfer"
)

// logKeeper is a log that gives places and keeps all groups.
type logKeeper struct {
	number uint64
	groups []store.Group
}

func (l *logKeeper) Append(groups []store.Group) error {
	for i := range groups {
		l.number++
		groups[i].Place.Seq, groups[i].Place.Chain[0] = l.number, 1
		l.groups = append(l.groups, store.Group{Partition: groups[i].Partition, Place: groups[i].Place, Data: bytes.Clone(groups[i].Data)})
	}
	return nil
}

// TestSnapshotAndLog holds that a directory which takes in a partition's snapshot, and follows the log from its place
// on, has the rows and bodies of the owner; and that a check finds a snapshot that is cut or changed.
func TestSnapshotAndLog(t *testing.T) {
	l := &logKeeper{}
	o := storetest.Options(vfs.NewMem())
	o.Log = l
	s, w, p := crawled(t, o)
	var stream bytes.Buffer
	at, err := transfer.SnapshotPartition(s, p, "a-cluster", &stream)
	if err != nil || at.Seq == 0 {
		t.Fatalf("place %v, %v", at, err)
	}
	of, cluster, place, err := transfer.CheckPartition(bytes.NewReader(stream.Bytes()), storetest.Partitions)
	if err != nil || of != p || cluster != "a-cluster" || place != at {
		t.Fatalf("check: partition %d of %q at %v, %v: want %d at %v", of, cluster, place, err, p, at)
	}
	for _, cut := range []int{0, 10, stream.Len() / 2, stream.Len() - 1} {
		changed := bytes.Clone(stream.Bytes())
		changed[cut] ^= 1
		for _, bad := range [][]byte{stream.Bytes()[:cut], changed} {
			if _, _, _, err := transfer.CheckPartition(bytes.NewReader(bad), storetest.Partitions); err == nil {
				t.Errorf("a snapshot that is damaged at byte %d passes", cut)
			}
		}
	}

	w.Run(s, 60)
	o = storetest.Options(vfs.NewMem())
	o.Log = &logKeeper{}
	other := storetest.Open(t, o)
	if _, err := transfer.ImportPartition(other, &stream); err != nil {
		t.Fatal(err)
	}
	for _, g := range l.groups {
		if g.Partition == p && g.Place.Seq > at.Seq {
			if _, err := other.Follow(p, g); err != nil {
				t.Fatal(err)
			}
		}
	}
	storetest.Verify(t, other)
	compareBodies(t, s, other, p)
	here, err1 := s.Counters(p)
	there, err2 := other.Counters(p)
	if here.Place != there.Place || here.Records != there.Records || err1 != nil || err2 != nil {
		t.Errorf("at %v with %d records: want %v with %d (%v, %v)", there.Place, there.Records, here.Place, here.Records, err1, err2)
	}
}
