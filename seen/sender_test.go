package seen

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// TestSender holds that the receiver learns of every URL and its lowest depth at once, whatever the sender holds back.
// While a URL is in the cache, the receiver has at least half of its cash, and never more than all of it.
func TestSender(t *testing.T) {
	type known struct {
		depth uint16
		cash  float64
	}
	rapid.Check(t, func(t *rapid.T) {
		cash, entries := rapid.Bool().Draw(t, "cash"), rapid.SampledFrom([]int{1, 4, 20, 1000}).Draw(t, "entries")
		s := NewSender(entries, cash)
		offered, received := map[weburl.Fingerprint]known{}, map[weburl.Fingerprint]known{}
		learn := func(m map[weburl.Fingerprint]known, l weburl.Link) {
			k, ok := m[l.Fingerprint]
			if !ok || l.Depth < k.depth {
				k.depth = l.Depth
			}
			k.cash += l.Cash
			m[l.Fingerprint] = k
		}
		for range rapid.IntRange(0, 40).Draw(t, "batches") {
			var batch []weburl.Link
			for range rapid.IntRange(0, 10).Draw(t, "links") {
				l := weburl.Link{
					Fingerprint: weburl.Fingerprint(rapid.Uint64Range(1, 30).Draw(t, "fp") * 0x9e3779b97f4a7c15),
					Depth:       uint16(rapid.IntRange(1, 4).Draw(t, "depth")),
				}
				if cash {
					l.Cash = float64(rapid.IntRange(1, 8).Draw(t, "cash of one"))
				}
				batch = append(batch, l)
				learn(offered, l)
			}
			out := s.Offer(nil, batch)
			if len(out) > len(batch) {
				t.Fatalf("%d links sent of %d", len(out), len(batch))
			}
			for _, l := range out {
				learn(received, l)
			}
			for fp, want := range offered {
				got, ok := received[fp]
				if !ok || got.depth != want.depth {
					t.Fatalf("%v: offered at depth %d, received %v (%v)", fp, want.depth, got.depth, ok)
				}
				if got.cash > want.cash || entries == 1000 && got.cash < want.cash/2 {
					t.Fatalf("%v: cash %v offered, %v received", fp, want.cash, got.cash)
				}
			}
		}
	})
}
