package store_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/store/retain"
	"freshet/weburl"
)

// memoryLog is a log that keeps its groups in order. If fails is not 0, it fails once, after that many groups.
type memoryLog struct {
	groups []store.Group
	fails  int
	purges int // groups that are said to take pages down
}

var errCutOff = errors.New("cut off")

func (l *memoryLog) Append(groups []store.Group) error {
	for i := range groups {
		g := &groups[i]
		if l.fails == len(l.groups) && l.fails != 0 {
			l.fails = 0
			return errCutOff
		}
		if g.Purges {
			l.purges++
		}
		g.Place.Seq, g.Place.Chain[0] = uint64(len(l.groups)+1), 1
		l.groups = append(l.groups, store.Group{Partition: g.Partition, Place: g.Place, Data: bytes.Clone(g.Data)})
	}
	return nil
}

// logged returns options of a store that appends to a log.
func logged(l *memoryLog) store.Options {
	o := storetest.Options(vfs.NewMem())
	o.Log = l
	return o
}

// offsets finds where in a file a capture lies, in an encoded row.
var offsets = regexp.MustCompile("(" + hex.EncodeToString([]byte(".warc.gz")) + "02)(1a.{8}|19.{4}|18..|[01].)")

// dumpElsewhere returns all keys and values but for where in their files captures lie.
func dumpElsewhere(t *testing.T, s *store.Store) []string {
	t.Helper()
	lines := storetest.Dump(t, s)
	for i := range lines {
		lines[i] = offsets.ReplaceAllString(lines[i], "$1")
	}
	return lines
}

// TestFollow holds that a directory that follows another's log gets the same keys and values, except for the places of
// captures. The captures are whole. The same holds if it reads one partition after the other, several groups at once.
func TestFollow(t *testing.T) {
	for seed := range uint64(3) {
		l := &memoryLog{}
		owner := storetest.Open(t, logged(l))
		storetest.NewWorkload(t, seed, 60).Run(owner, 400)
		storetest.Verify(t, owner)

		inOrder := storetest.Open(t, logged(&memoryLog{}))
		for _, g := range l.groups {
			if _, err := inOrder.Follow(g.Partition, g); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(dumpElsewhere(t, owner), dumpElsewhere(t, inOrder)); diff != "" {
			t.Fatalf("seed %d: state (-owner +follower):\n%s", seed, diff)
		}

		rng := rand.New(rand.NewPCG(seed, 1))
		anyOrder := storetest.Open(t, logged(&memoryLog{}))
		for _, p := range rng.Perm(storetest.Partitions) {
			var groups []store.Group
			for i, g := range l.groups {
				if g.Partition == weburl.Partition(p) {
					groups = append(groups, g)
				}
				if i == len(l.groups)-1 || rng.IntN(40) == 0 {
					if _, err := anyOrder.Follow(weburl.Partition(p), groups...); err != nil {
						t.Fatal(err)
					}
					groups = nil
				}
			}
		}
		storetest.Verify(t, anyOrder)
		if diff := cmp.Diff(dumpElsewhere(t, owner), dumpElsewhere(t, anyOrder)); diff != "" {
			t.Fatalf("seed %d: state (-owner +follower in any order):\n%s", seed, diff)
		}
	}
}

// TestFollowRefuses holds that a group is taken once, in its place, and whole.
func TestFollowRefuses(t *testing.T) {
	l := &memoryLog{}
	owner := storetest.Open(t, logged(l))
	u := storetest.Parse(t, "http://page.test/")
	p := storetest.Home(u)
	if _, err := owner.Apply(&store.Discovered{Partition: p, New: []store.NewPage{{URL: u, Seed: true}}}); err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, owner, storetest.Answer(t, u, 1, "text"))
	first, second := l.groups[0], l.groups[1]

	s := storetest.Open(t, logged(&memoryLog{}))
	refuse := func(what string, p weburl.Partition, g store.Group) {
		t.Helper()
		if _, err := s.Follow(p, g); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	refuse("the second group first", p, second)
	refuse("a cut group", p, store.Group{Partition: p, Place: first.Place, Data: first.Data[:len(first.Data)-1]})
	seeds, err := s.Follow(p, first, second)
	if err != nil {
		t.Fatal(err)
	}
	if len(seeds) != 1 || seeds[0] != u {
		t.Errorf("the seeds are %v: want %s", seeds, u)
	}
	refuse("the second group again", p, second)
	if got, err := s.Counters(p); err != nil || got.Place != second.Place {
		t.Errorf("the place is %v, %v: want %v", got.Place, err, second.Place)
	}
}

// TestFollowNewer holds that a node of an older build does not follow a record that it would apply in another way than
// the build that wrote it: one with an unknown field, of an unknown kind, or in a group with an unknown field. What
// came before, it follows.
func TestFollowNewer(t *testing.T) {
	l := &memoryLog{}
	owner := storetest.Open(t, logged(l))
	u := storetest.Parse(t, "http://page.test/")
	p := storetest.Home(u)
	if _, err := owner.Apply(&store.Discovered{Partition: p, New: []store.NewPage{{URL: u}}}); err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, owner, storetest.Answer(t, u, 1, "text"))
	first, second := l.groups[0], l.groups[1]
	s := storetest.Open(t, logged(&memoryLog{}))
	if _, err := s.Follow(p, first); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(record []byte) []byte{
		"field": func(record []byte) []byte {
			fields := map[int]cbor.RawMessage{}
			if err := cbor.Unmarshal(record[1:], &fields); err != nil {
				t.Fatal(err)
			}
			fields[10_000] = cbor.RawMessage{0xf5}
			raw, err := cbor.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			return append(record[:1:1], raw...)
		},
		"kind":           func(record []byte) []byte { return append([]byte{250}, record[1:]...) },
		"field of group": nil,
	} {
		var all struct {
			First   uint64 `cbor:"1,keyasint"`
			New     bool   `cbor:"10000,keyasint,omitempty"`
			Records []struct {
				_       struct{} `cbor:",toarray"`
				Record  []byte
				Members [][]byte
				Main    int
			} `cbor:"2,keyasint"`
		}
		if err := cbor.Unmarshal(second.Data, &all); err != nil {
			t.Fatal(err)
		}
		if all.New = change == nil; !all.New {
			all.Records[0].Record = change(all.Records[0].Record)
		}
		raw, err := cbor.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Follow(p, store.Group{Partition: p, Place: second.Place, Data: raw})
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "unknown "+strings.Fields(what)[0]) || !strings.Contains(err.Error(), "upgrade this node") {
			t.Errorf("an unknown %s: %v", what, err)
		}
	}
	if got, err := s.Counters(p); err != nil || got.Place != first.Place {
		t.Errorf("the place is %v, %v: want %v", got.Place, err, first.Place)
	}
	if _, err := s.Follow(p, second); err != nil { // as after an upgrade
		t.Error(err)
	}
}

// TestLogFails holds that the store does not apply a record that the log may lack, or any record after it. The
// directory, opened again, follows the log.
func TestLogFails(t *testing.T) {
	l := &memoryLog{}
	o := logged(l)
	s := storetest.Open(t, o)
	storetest.NewWorkload(t, 1, 60).Run(s, 50)
	l.fails = len(l.groups) + 1
	w := storetest.NewWorkload(t, 2, 60)
	var err error
	for err == nil {
		err = w.Step(s)
	}
	if !errors.Is(err, errCutOff) {
		t.Fatal(err)
	}
	places := map[weburl.Partition]uint64{}
	for _, g := range l.groups {
		places[g.Partition] = g.Place.Seq
	}
	if err := s.Close(); err == nil {
		t.Error("a store that failed is closed without an error")
	}
	s = storetest.Open(t, o)
	storetest.Verify(t, s)
	for p := range weburl.Partition(storetest.Partitions) {
		had, err := s.Counters(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range l.groups {
			if g.Partition == p && g.Place.Seq > had.Place.Seq {
				if _, err := s.Follow(p, g); err != nil {
					t.Error(err)
				}
			}
		}
		if got, err := s.Counters(p); err != nil || got.Place.Seq != places[p] {
			t.Errorf("partition %d is at place %d, %v: want %d", p, got.Place.Seq, err, places[p])
		}
	}
	storetest.Verify(t, s)
}

// TestFollowPurge holds that a follower takes off its disk what the owner purged.
func TestFollowPurge(t *testing.T) {
	l := &memoryLog{}
	owner := storetest.Open(t, logged(l))
	u := storetest.Parse(t, "http://page.test/")
	storetest.Discover(t, owner, u.String())
	storetest.Commit(t, owner, storetest.Answer(t, u, 1, "a secret text"))
	if _, err := owner.BeginPurge(storetest.Begin, store.Target{URL: u}); err != nil {
		t.Fatal(err)
	}
	if l.purges != 1 {
		t.Errorf("%d of %d groups are said to take pages down, want 1", l.purges, len(l.groups))
	}
	s := storetest.Open(t, logged(&memoryLog{}))
	for _, g := range l.groups {
		if _, err := s.Follow(g.Partition, g); err != nil {
			t.Fatal(err)
		}
	}
	begun, err := s.Inside().Begun()
	if err != nil || len(begun) != 1 || begun[0].URL != u {
		t.Fatalf("purges that have begun: %v, %v: want that of %s", begun, err, u)
	}
	if _, err := retain.FinishPurges(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

// TestDirectoryOfCluster holds that no crawl of one machine writes to a cluster's directory; a check can read it. A
// cluster does not take in a directory that one machine has crawled alone.
func TestDirectoryOfCluster(t *testing.T) {
	o := logged(&memoryLog{})
	s := storetest.Open(t, o)
	storetest.NewWorkload(t, 1, 60).Run(s, 20)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Log = nil
	s, err := store.Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // with the error of the record that is refused
	storetest.Verify(t, s)
	if err := s.CheckAlone(); !errors.Is(err, store.ErrCluster) {
		t.Errorf("a crawl of one machine: %v, want ErrCluster", err)
	}
	if _, err := s.Apply(&store.Gated{Host: "page.test"}); !errors.Is(err, store.ErrCluster) {
		t.Errorf("a record without the log: %v, want ErrCluster", err)
	}

	alone := storetest.Options(vfs.NewMem())
	s = storetest.Open(t, alone)
	storetest.Discover(t, s, "http://page.test/")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alone.Log = &memoryLog{}
	if _, err := store.Open("data", alone); !errors.Is(err, store.ErrCluster) {
		t.Errorf("a directory of one machine in a cluster: %v, want ErrCluster", err)
	}
}
