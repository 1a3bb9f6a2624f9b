package store

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/weburl"
)

type captured struct {
	p   weburl.Partition
	n   uint64
	raw []byte
}

// TestReplay holds that the records of a crawl, replayed into an empty directory, give the same keys
// and values, byte for byte, across restarts of either side too.
func TestReplay(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		var log []captured
		o := testOptions(vfs.NewMem())
		o.OnRecord = func(p weburl.Partition, n uint64, record []byte) {
			log = append(log, captured{p, n, bytes.Clone(record)})
		}
		s := openTest(t, o)
		w := newWorkload(t, seed, 60)
		w.run(s, 150)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, o)
		w.run(s, 450)
		verify(t, s)

		copied := openTest(t, testOptions(vfs.NewMem()))
		for i, r := range log {
			if err := copied.Replay(r.p, r.n, r.raw); err != nil {
				t.Fatalf("seed %d: replay of record %d: %v", seed, i, err)
			}
		}
		if diff := cmp.Diff(dump(t, s), dump(t, copied)); diff != "" {
			t.Fatalf("seed %d: state (-crawled +replayed):\n%s", seed, diff)
		}
		if total, err := s.Total(); err != nil || total.Trimmed == 0 || total.Versions == 0 {
			t.Errorf("seed %d: totals %+v, %v: the workload should trim and store", seed, total, err)
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	s := openTest(t, testOptions(vfs.NewMem()))
	u := parse(t, "http://page.test/")
	raw := appendRecord(nil, &Refused{URL: u, At: 1, Reason: "robots"})
	tests := []struct {
		name string
		p    weburl.Partition
		n    uint64
		raw  []byte
	}{
		{"a gap", home(u), 2, raw},
		{"another partition", (home(u) + 1) % testPartitions, 1, raw},
		{"an unknown kind", home(u), 1, []byte{200, 0xa0}},
		{"nothing", home(u), 1, nil},
		{"a cut record", home(u), 1, raw[:len(raw)-1]},
	}
	for _, test := range tests {
		if err := s.Replay(test.p, test.n, test.raw); err == nil {
			t.Errorf("replay of %s: no error", test.name)
		}
	}
	if err := s.Replay(home(u), 1, raw); err != nil {
		t.Error(err)
	}
}

// FuzzRecord holds that decoding never panics and that what it accepts, encoded and decoded again,
// is encoded the same.
func FuzzRecord(f *testing.F) {
	u := parse(f, "http://page.test/")
	for _, r := range []Record{
		&Discovered{At: 1, New: []NewPage{{URL: u, Depth: 1, Cash: 0.5}}, Repeats: []Repeat{{Fingerprint: 7, Order: 2}}, Refused: []Refusal{{Site: u.Site(), Reason: "depth", Count: 1}}},
		&Fetched{URL: u, At: 1, Outcome: OutcomeStored, Status: 200, Links: EncodeLinks([]OutLink{{URL: u}}), Gate: &Gate{Next: 1}, Capture: Pointer{File: "a", Offset: 1, Length: 2}},
		&Robots{Site: u.Site(), Body: []byte("User-agent: *"), Keep: true, Rules: 6},
		&Gated{Host: "page.test"}, &Planned{Fingerprint: 1, Due: 2}, &Refused{URL: u}, &Withdrawn{Fingerprint: 1}, &Purged{Fingerprint: 1}, &Mark{Consumer: "seen", Record: 3}, &Paused{Site: u.Site(), Since: 4},
		&SitePurged{Site: u.Site(), At: 1}, &Scrubbed{}, &Obeyed{Site: u.Site(), Rules: 5}, &Pruned{Fingerprint: 1, Versions: 2, Visits: 3}, &Forgotten{Changes: []uint64{1, 2}},
		&Arrived{From: 1, Record: 2, Links: []NewPage{{URL: u, Depth: 1, Cash: 0.5}}}, &Parted{To: 1, Record: 2}, &Taken{},
		&Relocated{File: "a", Captures: []Relocation{{Fingerprint: 1, Version: 2, Offset: 3, File: "b", NewOffset: 4}}},
	} {
		f.Add(appendRecord(nil, r))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeRecord(raw)
		if err != nil {
			return
		}
		once := appendRecord(nil, r)
		again, err := decodeRecord(once)
		if err != nil {
			t.Fatalf("decode of %x, which was encoded from %x: %v", once, raw, err)
		}
		if twice := appendRecord(nil, again); !bytes.Equal(once, twice) {
			t.Fatalf("encoded %x, then %x", once, twice)
		}
	})
}
