package transfer_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/powercut"
	"freshet/internal/remains"
	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/store/transfer"
	"freshet/weburl"
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

// TestSnapshotAndLog holds that a directory has the rows and bodies of the owner when it takes in a partition's
// snapshot and follows the log from there. A check finds a cut or changed snapshot.
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

// TestReplace has a directory that is behind a partition's log. The directory replaces its rows of the partition by a
// snapshot, goes on with the log, and takes off its disk what was purged meanwhile. After a cut at any place it opens
// with the old rows of the partition, none, or the new ones. After a damaged snapshot it has none.
func TestReplace(t *testing.T) {
	l := &logKeeper{}
	o := storetest.Options(vfs.NewMem())
	o.Log = l
	s, w, p := crawled(t, o)
	follow := func(other *store.Store, from, to uint64) {
		t.Helper()
		for _, g := range l.groups {
			if g.Partition == p && g.Place.Seq > from && g.Place.Seq <= to {
				if _, err := other.Follow(p, g); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	early := l.number
	taken := firstLive(t, s, p)
	w.Run(s, 60)
	if _, err := s.BeginPurge(storetest.Begin, store.Target{URL: taken}); err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	at, err := transfer.SnapshotPartition(s, p, "a-cluster", &stream)
	if err != nil {
		t.Fatal(err)
	}
	w.Run(s, 20)

	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	o = storetest.Options(disk)
	o.Log = &logKeeper{}
	other := storetest.Open(t, o)
	follow(other, 0, early)
	if err := other.Heartbeat(storetest.Begin); err != nil { // it notes how many records there are
		t.Fatal(err)
	}
	old := len(storetest.Dump(t, other))
	disk.Take()
	damaged := bytes.Clone(stream.Bytes())
	damaged[len(damaged)-30] ^= 1
	if _, err := transfer.ReplacePartition(other, bytes.NewReader(damaged)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a damaged snapshot: %v, want ErrCorrupt", err)
	}
	if left := len(storetest.Dump(t, other)); left > 0 {
		t.Errorf("a damaged snapshot leaves %d keys", left)
	}
	if _, err := transfer.ReplacePartition(other, bytes.NewReader(stream.Bytes())); err != nil {
		t.Fatal(err)
	}
	whole := len(storetest.Dump(t, other))
	storetest.Verify(t, other)
	counts := map[int]int{}
	for _, cut := range disk.Take() {
		o := o
		o.FS = cut.Disk
		after := storetest.Open(t, o)
		n := len(storetest.Dump(t, after))
		if counts[n]++; n != 0 && n != old && n != whole {
			t.Errorf("cut before %s left %d keys, of %d before and %d after", cut.Before, n, old, whole)
		}
		storetest.Verify(t, after)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if counts[0] == 0 || counts[old] == 0 {
		t.Errorf("cuts by the keys that they left: %v", counts)
	}

	follow(other, at.Seq, l.number)
	if _, err := retain.FinishPurges(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	files, err := retain.Holding(t.Context(), other, []store.Purging{{URL: taken}})
	if err != nil || len(files) > 0 {
		t.Errorf("%s is taken down, and in %v, %v", taken, files, err)
	}
	storetest.Verify(t, other)
	compareBodies(t, s, other, p)
}

// TestSnapshotDuringPurge takes a snapshot when a purge has begun whose bytes are still in the WARC files, as while the
// object store is down. The snapshot has none of them.
func TestSnapshotDuringPurge(t *testing.T) {
	s, _, p := crawled(t, storetest.Options(vfs.NewMem()))
	taken := firstLive(t, s, p)
	if _, err := s.BeginPurge(time.Unix(1, 0), store.Target{URL: taken}); err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewMem()
	f, err := disk.Create("snapshot", "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(export(t, s, p)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := remains.Find(disk, "", "WARC-Target-URI: "+taken.String()+"\r\n"); err != nil || len(found) > 0 {
		t.Errorf("%v has %s, %v", found, taken, err)
	}
}

// firstLive returns a page that has a version.
func firstLive(t *testing.T, s *store.Store, p weburl.Partition) weburl.URL {
	t.Helper()
	for page, err := range s.Pages(p) {
		if err != nil {
			t.Fatal(err)
		}
		if page.State == store.StateLive {
			return page.URL
		}
	}
	t.Fatal("no page is live")
	return weburl.URL{}
}
