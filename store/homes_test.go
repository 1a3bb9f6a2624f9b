package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/repair"
	"freshet/store/transfer"
	"freshet/weburl"
)

// suffixesOf returns a list by which a name of that many labels is an owner's.
func suffixesOf(labels int) weburl.Suffixes {
	return weburl.Suffixes{Version: fmt.Sprint(labels), Domain: func(site weburl.Site) string {
		parts := strings.Split(site.Name(), ".")
		return strings.Join(parts[max(0, len(parts)-labels):], ".")
	}}
}

// discovered returns a record of a new page where a store has its site's home.
func discoveredAt(s *store.Store, u weburl.URL) *store.Discovered {
	return &store.Discovered{Partition: s.Home(u.Site()), At: 1, New: []store.NewPage{{URL: u}}}
}

// TestAnotherSuffixListMovesNothing opens a directory under one list of public suffixes after the other, older and
// newer. Every known host stays in its first partition for all requests. New hosts go where the list says.
func TestAnotherSuffixListMovesNothing(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 7))
		fs := vfs.NewMem()
		homes := map[weburl.URL]weburl.Partition{}
		blocked := map[string]int64{}
		for round := range 8 {
			list := suffixesOf(1 + random.IntN(4))
			o := store.Options{FS: fs, Suffixes: list}
			s, err := store.Open("data", o)
			if err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			for u, p := range homes {
				if s.Home(u.Site()) != p {
					t.Fatalf("seed %d, round %d: %s is looked for in %d and lies in %d", seed, round, u, s.Home(u.Site()), p)
				}
				if _, _, err := s.PageOf(u); err != nil {
					t.Fatalf("seed %d, round %d: %s: %v", seed, round, u, err)
				}
				if _, err := s.Site(u.Site()); err != nil {
					t.Fatalf("seed %d, round %d: %s: %v", seed, round, u.Site(), err)
				}
			}
			for host, until := range blocked {
				if g, err := s.Gate(s.Home(weburl.Site("https://"+host)), host); err != nil || g.Blocked != until {
					t.Fatalf("seed %d, round %d: gate of %s: %+v, %v: want it blocked", seed, round, host, g, err)
				}
			}
			for range 10 {
				host := fmt.Sprintf("h%d.d%d.c%d.test", random.IntN(8), random.IntN(3), random.IntN(2))
				u, err := weburl.Parse(fmt.Sprintf("http://%s%s/%d", host, []string{"", "."}[random.IntN(2)], random.IntN(3)))
				if err != nil {
					t.Fatal(err)
				}
				records := []store.Record{discoveredAt(s, u), &store.Refused{URL: u, At: 2, Reason: "test"}}
				if random.IntN(4) == 0 {
					blocked[host] = int64(100 + round)
					records = []store.Record{&store.Gated{Partition: s.Home(u.Site()), Host: host, Gate: store.Gate{Blocked: blocked[host]}}}
				} else if _, known := homes[u]; !known {
					homes[u] = s.Home(u.Site())
				}
				if _, err := s.Apply(records...); err != nil {
					t.Fatal(err)
				}
			}
			if err := repair.Verify(context.Background(), s, func(p store.Problem) { t.Errorf("seed %d, round %d: verify: %s", seed, round, p) }); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPartitionKeepsItsHosts takes a partition, and the records of a crawl, to a directory under another list.
func TestPartitionKeepsItsHosts(t *testing.T) {
	u, err := weburl.Parse("http://a.b3.test/")
	if err != nil {
		t.Fatal(err)
	}
	var number uint64
	var raw []byte
	from, err := store.Open("data", store.Options{FS: vfs.NewMem(), Suffixes: suffixesOf(2), OnRecord: func(_ weburl.Partition, n uint64, record []byte) {
		number, raw = n, bytes.Clone(record)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	p := from.Home(u.Site())
	if _, err := from.Apply(discoveredAt(from, u)); err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	if err := transfer.ExportPartition(from, p, &stream); err != nil {
		t.Fatal(err)
	}
	for _, take := range []struct {
		how string
		do  func(s *store.Store) error
	}{
		{"import", func(s *store.Store) error { _, err := transfer.ImportPartition(s, &stream); return err }},
		{"replay", func(s *store.Store) error { return s.Replay(p, number, raw) }},
	} {
		fs := vfs.NewMem()
		to, err := store.Open("data", store.Options{FS: fs, Suffixes: suffixesOf(3)})
		if err != nil {
			t.Fatal(err)
		}
		if to.Home(u.Site()) == p {
			t.Fatal("both lists have the same home")
		}
		if err := take.do(to); err != nil {
			t.Fatalf("%s: %v", take.how, err)
		}
		for range 2 { // and after it is opened again
			if _, _, err := to.PageOf(u); err != nil || to.Home(u.Site()) != p {
				t.Errorf("%s: %v, home %d: want the page in %d", take.how, err, to.Home(u.Site()), p)
			}
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			if to, err = store.Open("data", store.Options{FS: fs, Suffixes: suffixesOf(3)}); err != nil {
				t.Fatal(err)
			}
		}
		to.Close()
	}
}
