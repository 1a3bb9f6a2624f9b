package seen

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/weburl"
)

// Whatever is held back, the receiver learns of every URL at once, of its lowest depth at once, and in the
// end of all its cash; without repeats it gets no more than that.
func TestSender(t *testing.T) {
	type known struct {
		depth uint16
		cash  float64
	}
	rapid.Check(t, func(t *rapid.T) {
		sum := rapid.Bool().Draw(t, "repeats")
		s := NewSender(rapid.IntRange(1, 20).Draw(t, "entries"), sum)
		offered, received := map[weburl.Fingerprint]known{}, map[weburl.Fingerprint]known{}
		learn := func(m map[weburl.Fingerprint]known, l weburl.Link) {
			k, ok := m[l.Fingerprint]
			if !ok || l.Depth < k.depth {
				k.depth = l.Depth
			}
			k.cash += l.Cash
			m[l.Fingerprint] = k
		}
		sent, links := 0, 0
		for range rapid.IntRange(0, 40).Draw(t, "batches") {
			var batch []weburl.Link
			for range rapid.IntRange(0, 10).Draw(t, "links") {
				l := weburl.Link{
					Fingerprint: weburl.Fingerprint(rapid.Uint64Range(1, 30).Draw(t, "fp") * 0x9e3779b97f4a7c15),
					Depth:       uint16(rapid.IntRange(1, 4).Draw(t, "depth")), Cash: 1,
				}
				batch = append(batch, l)
				learn(offered, l)
			}
			links += len(batch)
			out := s.Offer(nil, batch)
			sent += len(out)
			for _, l := range out {
				learn(received, l)
			}
			for fp, want := range offered {
				if got, ok := received[fp]; !ok || got.depth != want.depth {
					t.Fatalf("%v: offered at depth %d, received %v (%v)", fp, want.depth, got.depth, ok)
				}
			}
		}
		out := s.Flush(nil)
		if sent += len(out); sent > links {
			t.Errorf("%d links sent of %d", sent, links)
		}
		if !sum && len(out) > 0 {
			t.Errorf("%d links flushed where repeats are dropped", len(out))
		}
		for _, l := range out {
			learn(received, l)
		}
		for fp, want := range offered {
			if got := received[fp]; sum && math.Abs(got.cash-want.cash) > 1e-9 {
				t.Errorf("%v: cash %v offered, %v received", fp, want.cash, got.cash)
			}
		}
		if again := s.Flush(nil); len(again) > 0 {
			t.Errorf("%d links flushed twice", len(again))
		}
	})
}
