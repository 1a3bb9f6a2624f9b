package scheduler

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRanking holds that a ranking of some levels finds its highest member, after any sets and removals.
func TestRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranking
		in := map[int32]entry{}
		ids := rapid.Int32Range(0, rapid.SampledFrom([]int32{1, 15, 16, 17, 300, 5000}).Draw(t, "numbers"))
		keys := rapid.Float64Range(-3, 3)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				in[id] = entry{keys.Draw(t, "key"), id, id}
				r.set(in[id])
			},
			"set equal": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				in[id] = entry{1, id, id}
				r.set(in[id])
			},
			"remove": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				delete(in, id)
				r.remove(id)
			},
			"remove the top": func(t *rapid.T) {
				top, ok := r.top()
				if !ok {
					t.Skip("nothing is in")
				}
				delete(in, top.id)
				r.remove(top.id)
			},
			"": func(t *rapid.T) {
				got, ok := r.top()
				if ok != (len(in) > 0) {
					t.Fatalf("top: %v, %v, of %d", got, ok, len(in))
				}
				if ok && in[got.id] != got {
					t.Fatalf("top: %v, which was set as %v", got, in[got.id])
				}
				for _, e := range in {
					if e.above(got) {
						t.Fatalf("top: %v, with %v above it", got, e)
					}
				}
			},
		})
	})
}
