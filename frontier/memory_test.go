package frontier

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// TestMemoryQueues compares the queues in memory with a sorted list of all entries, over many blocks.
func TestMemoryQueues(t *testing.T) {
	const site = weburl.Site("http://a.test")
	rapid.Check(t, func(t *rapid.T) {
		var m MemoryQueues
		var want []Entry
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n uint64) uint64 { // quicker than a draw for each of thousands of steps
			seed = seed*6364136223846793005 + 1442695040888963407
			return seed >> 33 % n
		}
		keys, adding := rapid.Uint64Range(1, 3000).Draw(t, "keys"), rapid.Uint64Range(1, 9).Draw(t, "adding")
		for range 2000 {
			k := Key{Order: next(keys), Arrival: 1}
			i, found := find(want, k)
			switch {
			case next(10) < adding:
				e := Entry{Key: k, Fingerprint: weburl.Fingerprint(next(1 << 20))}
				m.Add(site, KindNew, e)
				if found {
					want[i] = e
				} else {
					want = slices.Insert(want, i, e)
				}
			default:
				if m.Remove(site, KindNew, k) != found {
					t.Fatalf("Remove(%v): %v, want %v", k, !found, found)
				}
				if found {
					want = slices.Delete(want, i, i+1)
				}
			}
			if n := m.Len(site, KindNew); n != len(want) {
				t.Fatalf("%d entries, want %d", n, len(want))
			}
			after, n := Key{Order: next(keys), Arrival: next(3)}, int(next(600))
			i, found = find(want, after)
			if found {
				i++
			}
			got, err := m.Read(nil, site, KindNew, after, n)
			if err != nil || !slices.Equal(got, want[i:min(len(want), i+n)]) {
				t.Fatalf("Read(after %v, %d): %d entries, want %d; error %v", after, n, len(got), min(len(want)-i, n), err)
			}
		}
	})
}
