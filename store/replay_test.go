package store_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/weburl"
)

// TestReplay holds that the records of a crawl, replayed into an empty directory, give the same keys
// and values, byte for byte, across restarts of either side too.
func TestReplay(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		var log []storetest.Applied
		o := storetest.Options(vfs.NewMem())
		o.OnRecord = func(p weburl.Partition, n uint64, record []byte) {
			log = append(log, storetest.Applied{Partition: p, Number: n, Raw: bytes.Clone(record)})
		}
		s := storetest.Open(t, o)
		w := storetest.NewWorkload(t, seed, 60)
		w.Run(s, 150)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = storetest.Open(t, o)
		w.Run(s, 450)
		storetest.Verify(t, s)

		copied := storetest.Open(t, storetest.Options(vfs.NewMem()))
		for i, r := range log {
			if err := copied.Replay(r.Partition, r.Number, r.Raw); err != nil {
				t.Fatalf("seed %d: replay of record %d: %v", seed, i, err)
			}
		}
		if diff := cmp.Diff(storetest.Dump(t, s), storetest.Dump(t, copied)); diff != "" {
			t.Fatalf("seed %d: state (-crawled +replayed):\n%s", seed, diff)
		}
		if total, err := s.Total(); err != nil || total.Trimmed == 0 || total.Versions == 0 {
			t.Errorf("seed %d: totals %+v, %v: the workload should trim and store", seed, total, err)
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/")
	raw := store.AppendRecord(nil, &store.Refused{URL: u, At: 1, Reason: "robots"})
	tests := []struct {
		name string
		p    weburl.Partition
		n    uint64
		raw  []byte
	}{
		{"a gap", storetest.Home(u), 2, raw},
		{"another partition", (storetest.Home(u) + 1) % storetest.Partitions, 1, raw},
		{"an unknown kind", storetest.Home(u), 1, []byte{200, 0xa0}},
		{"nothing", storetest.Home(u), 1, nil},
		{"a cut record", storetest.Home(u), 1, raw[:len(raw)-1]},
	}
	for _, test := range tests {
		if err := s.Replay(test.p, test.n, test.raw); err == nil {
			t.Errorf("replay of %s: no error", test.name)
		}
	}
	if err := s.Replay(storetest.Home(u), 1, raw); err != nil {
		t.Error(err)
	}
}

// FuzzRecord holds that decoding never panics. A record that it accepts survives encoding and decoding.
func FuzzRecord(f *testing.F) {
	u := storetest.Parse(f, "http://page.test/")
	for _, r := range []store.Record{
		&store.Discovered{At: 1, New: []store.NewPage{{URL: u, Depth: 1, Cash: 0.5}}, Repeats: []store.Repeat{{Fingerprint: 7, Order: 2}}, Refused: []store.Refusal{{Site: u.Site(), Reason: "depth", Count: 1}}},
		&store.Fetched{URL: u, At: 1, Outcome: store.OutcomeStored, Status: 200, Links: store.EncodeLinks([]store.OutLink{{URL: u}}), Gate: &store.Gate{Next: 1}, Capture: store.Pointer{File: "a", Offset: 1, Length: 2}},
		&store.Robots{Site: u.Site(), Body: []byte("User-agent: *"), Keep: true, Rules: 6},
		&store.Gated{Host: "page.test"}, &store.Planned{Fingerprint: 1, Due: 2}, &store.Refused{URL: u}, &store.Withdrawn{Fingerprint: 1}, &store.Purged{Fingerprint: 1}, &store.Mark{Consumer: "seen", Record: 3}, &store.Paused{Site: u.Site(), Since: 4}, &store.Paced{Site: u.Site(), Pace: store.Pace{Delay: 5, Budget: 6}},
		&store.SitePurged{Site: u.Site(), At: 1}, &store.Scrubbed{}, &store.Obeyed{Site: u.Site(), Rules: 5}, &store.Pruned{Fingerprint: 1, Versions: 2, Visits: 3}, &store.Forgotten{Changes: []uint64{1, 2}},
		&store.Arrived{From: 1, Record: 2, Links: []store.NewPage{{URL: u, Depth: 1, Cash: 0.5}}}, &store.Parted{To: 1, Record: 2}, &store.Taken{},
		&store.Relocated{File: "a", Captures: []store.Relocation{{Fingerprint: 1, Version: 2, Offset: 3, File: "b", NewOffset: 4}}},
	} {
		f.Add(store.AppendRecord(nil, r))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := store.DecodeRecord(raw)
		if err != nil {
			return
		}
		once := store.AppendRecord(nil, r)
		again, err := store.DecodeRecord(once)
		if err != nil {
			t.Fatalf("decode of %x, which was encoded from %x: %v", once, raw, err)
		}
		if twice := store.AppendRecord(nil, again); !bytes.Equal(once, twice) {
			t.Fatalf("encoded %x, then %x", once, twice)
		}
	})
}
