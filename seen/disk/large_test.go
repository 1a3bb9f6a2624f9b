package disk

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// crowded is the number of partitions for crowd's entries.
const crowded = 401

// crowd returns up to n different entries. Most are spread as hashing does. Some share one bucket, some share one byte
// of one bucket, and some have equal fingerprints.
func crowd(rng *rand.Rand, n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		fp := rng.Uint64() | 1
		switch rng.IntN(4) {
		case 0:
			fp = 0xabcd<<48 | fp>>16
		case 1:
			fp = 0xabcdef0123<<24 | uint64(i)
		}
		entries[i] = Entry{Fingerprint: weburl.Fingerprint(fp), Value: uint32(i % 30), Partition: weburl.Partition(rng.IntN(3) * (crowded - 1) / 2), Check: uint8(rng.IntN(4))}
		if i > 0 && rng.IntN(10) == 0 {
			entries[i].Fingerprint, entries[i].Partition = entries[i-1].Fingerprint, entries[i-1].Partition
		}
	}
	slices.SortFunc(entries, compare)
	return slices.CompactFunc(entries, Same)
}

func TestSortEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, fewToSort - 1, fewToSort, 5000} {
		want := crowd(rng, n)
		got := slices.Clone(want)
		rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		orderOf(crowded).sort(got, make([]Entry, len(got)))
		if !slices.Equal(got, want) {
			t.Errorf("%d entries are not in order", n)
		}
	}
}

// TestLarge has sections of many blocks, merges of several segments, and buckets that somebody has crowded. The set
// finds every entry with its lowest depth and no stranger, before and after it opens again.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := crowd(rng, 60_000)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	known, strangers := all[:50_000], all[50_000:]
	opt := Options{FS: vfs.NewMem(), Partitions: crowded, tableEntries: 3000, segmentEntries: 7000}
	s, _, err := Open("set", opt)
	if err != nil {
		t.Fatal(err)
	}
	lowest := map[int]uint32{}
	for i, e := range known {
		s.Add(e, true)
		lowest[i] = e.Value
		if j := rng.IntN(i + 1); lowest[j] > 0 { // one from before comes at a lower depth
			lowest[j]--
			e := known[j]
			e.Value = lowest[j]
			s.Add(e, false)
		}
		if i%1000 == 999 {
			if err := s.Keep(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"settled", "opened again"} {
		questions, answers := slices.Clone(known), make([]Answer, len(known))
		for i := range questions {
			questions[i].Value = uint32(i)
		}
		if err := s.Lookup(questions, answers); err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a != (Answer{Known: true, Depth: uint16(lowest[i])}) {
				t.Fatalf("%s: %+v: %+v, want depth %d", when, known[i], a, lowest[i])
			}
		}
		questions, answers = slices.Clone(strangers), make([]Answer, len(strangers))
		for i := range questions {
			questions[i].Value = uint32(i)
		}
		if err := s.Lookup(questions, answers); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(answers, func(a Answer) bool { return a.Known }); i >= 0 {
			t.Fatalf("%s: stranger %+v is known", when, strangers[i])
		}
		if stats := s.Stats(); stats.Known != int64(len(known)) || stats.Segments < 5 || stats.Runs > 4 {
			t.Errorf("%s: %+v", when, stats)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, _, err = Open("set", opt); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzReplay holds that replay reads any content of a journal without harm, and takes whole frames only.
func FuzzReplay(f *testing.F) {
	frame := appendFrame(nil, state{Known: 2, Marks: map[weburl.Partition]uint64{3: 4}}, []Entry{nth(1), nth(2)})
	f.Add(frame)
	f.Add(append(frame, frame[:20]...))
	f.Fuzz(func(t *testing.T, content []byte) {
		s := state{Marks: map[weburl.Partition]uint64{}}
		n := 0
		whole := replay(content, &s, func(Entry) { n++ })
		if whole > len(content) || n*entryLen > whole {
			t.Errorf("%d entries in %d bytes of %d", n, whole, len(content))
		}
	})
}

// FuzzOpenSegment holds that a segment with any directory, under a right checksum, opens or is refused without harm.
func FuzzOpenSegment(f *testing.F) {
	fs := vfs.NewMem()
	w, err := createSegment(fs, "run", 7)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.addAll(crowd(rand.New(rand.NewPCG(1, 2)), 600)); err != nil {
		f.Fatal(err)
	}
	g, err := w.finish()
	if err != nil {
		f.Fatal(err)
	}
	if err := g.close(); err != nil {
		f.Fatal(err)
	}
	content, err := readFile(fs, "run", 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content, uint8(3))
	f.Add(content, uint8(1))
	f.Fuzz(func(t *testing.T, content []byte, sections uint8) {
		start := len(content) - footerLen - int(sections)*sectionLen
		if start < 0 {
			return
		}
		fs := vfs.NewMem()
		footer := content[len(content)-footerLen:]
		binary.LittleEndian.PutUint32(footer, uint32(sections))
		binary.LittleEndian.PutUint32(footer[8:], segmentFormat)
		binary.LittleEndian.PutUint32(footer[12:], checksum(7, int64(start), content[start:len(content)-12]))
		copy(footer[16:], segmentMagic)
		if err := writeFile(fs, "run", content); err != nil {
			t.Fatal(err)
		}
		g, err := openSegment(fs, "run", 7)
		if err != nil {
			return
		}
		questions, answers := []Entry{nth(1), nth(2)}, make([]Answer, 2)
		questions[1].Value = 1
		slices.SortFunc(questions, compare)
		q := inquiry{questions: questions, answers: answers}
		_ = q.ask(g) // whatever it says
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
}
