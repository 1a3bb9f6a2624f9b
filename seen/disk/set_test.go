package disk

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"freshet/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type name struct {
	p     weburl.Partition
	fp    weburl.Fingerprint
	check uint8
}

func (n name) entry(value uint32) Entry {
	return Entry{Fingerprint: n.fp, Value: value, Partition: n.p, Check: n.check}
}

// names draws the names of URLs. Many have long common prefixes.
func names() *rapid.Generator[name] {
	return rapid.Custom(func(t *rapid.T) name {
		n := name{p: weburl.Partition(rapid.SampledFrom([]int{0, 1, 3, 300}).Draw(t, "partition")), check: uint8(rapid.IntRange(0, 2).Draw(t, "check"))}
		low := uint64(rapid.IntRange(1, 400).Draw(t, "n"))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			n.fp = weburl.Fingerprint(low)
		case 1:
			n.fp = weburl.Fingerprint(-low)
		case 2:
			n.fp = weburl.Fingerprint(low << 48)
		default:
			n.fp = weburl.Fingerprint(rand.NewPCG(low, 1).Uint64() | 1)
		}
		return n
	})
}

// TestLikeMap holds that a set answers like a map after any adds, merges, restarts, refills and crashes.
func TestLikeMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := vfs.NewCrashableMem()
		opt := Options{
			FS: files, Partitions: 301,
			tableEntries:   rapid.IntRange(1, 60).Draw(t, "table"),
			segmentEntries: rapid.IntRange(1, 100).Draw(t, "segment"),
		}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		s, lost, err := Open("set", opt)
		check(err)
		if !lost {
			t.Fatal("a new set is not lost")
		}
		defer func() { check(s.Close()) }()
		added, kept := map[name]uint16{}, map[name]uint16{}
		record, keptRecord := uint64(0), uint64(0)
		ever := false // kept
		reopen := func(t *rapid.T) {
			s, lost, err = Open("set", opt)
			check(err)
			if lost == ever || s.Known() != int64(len(kept)) || s.Marks()[3] != keptRecord {
				t.Fatalf("lost %v, %d known, mark %d; want %v, %d, %d", lost, s.Known(), s.Marks()[3], !ever, len(kept), keptRecord)
			}
			added, record = maps.Clone(kept), keptRecord
		}
		add := func(batch []name, take func(Entry, bool)) {
			questions, answers := make([]Entry, len(batch)), make([]Answer, len(batch))
			for i, n := range batch {
				questions[i] = n.entry(uint32(i))
				answers[i].Asked = uint16(rapid.IntRange(0, 9).Draw(t, "asked"))
			}
			check(s.Lookup(questions, answers))
			for i, n := range batch {
				lowest, known := added[n]
				a := answers[i]
				if a.Known != known || a.Depth < lowest || a.Depth > lowest && a.Depth > a.Asked {
					t.Fatalf("%+v: %+v; want %v, %d", n, a, known, lowest)
				}
			}
			for _, n := range batch {
				depth := uint16(rapid.IntRange(0, 9).Draw(t, "depth"))
				lowest, known := added[n]
				if !known || depth < lowest {
					added[n] = depth
					take(n.entry(uint32(depth)), !known)
				}
			}
		}
		batches := rapid.SliceOfNDistinct(names(), 0, 80, func(n name) name { return n })
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { add(batches.Draw(t, "batch"), s.Add) },
			"keep": func(t *rapid.T) {
				record++
				check(s.Keep(map[weburl.Partition]uint64{3: record}))
				kept, keptRecord, ever = maps.Clone(added), record, true
			},
			"close": func(t *rapid.T) {
				check(s.Close())
				reopen(t)
			},
			"crash": func(t *rapid.T) {
				opt.FS = files.CrashClone(vfs.CrashCloneCfg{})
				files = opt.FS.(*vfs.MemFS)
				check(s.Close())
				reopen(t)
			},
			"fill": func(t *rapid.T) {
				check(s.Reset())
				clear(added)
				for range rapid.IntRange(0, 3).Draw(t, "batches") {
					add(batches.Draw(t, "batch"), func(e Entry, fresh bool) { check(s.Fill(e, fresh)) })
				}
				record++
				check(s.Filled(map[weburl.Partition]uint64{3: record}))
				kept, keptRecord, ever = maps.Clone(added), record, true
			},
			"": func(t *rapid.T) {
				if s.Known() != int64(len(added)) {
					t.Fatalf("%d known, want %d", s.Known(), len(added))
				}
			},
		})
	})
}

func TestTableGrowsWithTheSet(t *testing.T) {
	s := &Set{opt: Options{}.withDefaults(), active: newTable()}
	for _, tt := range []struct {
		known int64
		full  int
	}{{0, firstEntries}, {8 * firstEntries, firstEntries}, {400_000, 50_000}, {1 << 30, 1<<17 - 1}} {
		s.state.Known = tt.known
		s.active.n = tt.full - 1
		if s.full() {
			t.Errorf("%d known: a table of %d is full, want room", tt.known, s.active.n)
		}
		if s.active.n++; !s.full() {
			t.Errorf("%d known: a table of %d has room, want it full", tt.known, s.active.n)
		}
	}
}
