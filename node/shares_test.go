package node

import (
	"math/rand/v2"
	"slices"
	"testing"

	"freshet/crawl"
)

// TestShares has shards begin and end steps at random. Together they never have more than there is. A called shard
// takes something or wants nothing. A shard that alone wants something has all.
func TestShares(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		most := limits{asking: 1 + rng.IntN(12), stored: int64(rng.IntN(2) * (1 + rng.IntN(60)))}
		s := &shares{of: make([]held, 1+rng.IntN(4))}
		have := make([]held, len(s.of))
		wish := make([]int, len(s.of)) // requests that the shard would make
		called := make([]bool, len(s.of))
		step := func(i int) {
			room := s.begin(i, have[i], most)
			made := max(0, min(room-have[i].asking, wish[i]))
			have[i].asking += made
			have[i].turns += made
			wish[i] -= made
			now := have[i]
			now.wants = have[i].asking >= room
			for _, other := range s.end(i, now, most) {
				called[other] = true
			}
			asking, pages := 0, int64(0)
			for _, one := range have {
				asking += one.asking
				pages += one.stored + int64(one.turns)
			}
			if asking > most.asking || most.stored > 0 && pages > most.stored {
				t.Fatalf("seed %d: %d requests and %d pages of %+v", seed, asking, pages, most)
			}
		}
		settle := func() {
			for steps := 0; slices.Contains(called, true); steps++ {
				if steps > 100 {
					t.Fatalf("seed %d: they call each other without end", seed)
				}
				i := slices.Index(called, true)
				called[i] = false
				step(i)
			}
		}
		for range 200 {
			i := rng.IntN(len(have))
			switch rng.IntN(3) {
			case 0:
				wish[i] += rng.IntN(5)
			case 1:
				have[i].asking -= rng.IntN(have[i].asking + 1)
			case 2:
				ended := rng.IntN(have[i].turns - have[i].asking + 1)
				have[i].turns -= ended
				have[i].stored += int64(rng.IntN(ended + 1))
			}
			step(i)
			settle()
			asking, pages, left := 0, int64(0), 0
			for i, one := range have {
				asking, pages, left = asking+one.asking, pages+one.stored+int64(one.turns), left+wish[i]
			}
			if asking < most.asking && (most.stored == 0 || pages < most.stored) && left > 0 {
				t.Fatalf("seed %d: %d requests wait, and %d of %d are under way: %+v", seed, left, asking, most.asking, have)
			}
		}
	}
}

// TestOver holds when several shards have come to their end, and that this is told once.
func TestOver(t *testing.T) {
	for _, test := range []struct {
		name  string
		of    []held
		moves int
		want  crawl.Stop
	}{
		{"idle", []held{{idle: true}, {idle: true}}, 0, crawl.FrontierEmpty},
		{"one is not", []held{{idle: true}, {}}, 0, ""},
		{"a partition is nobody's", []held{{idle: true}, {idle: true}}, 1, ""},
		{"enough pages", []held{{stored: 4}, {stored: 6}}, 0, crawl.MaxPages},
		{"one may not be stored", []held{{stored: 4}, {stored: 6, turns: 1}}, 0, ""},
	} {
		s := &shares{of: test.of, moves: test.moves}
		if got := s.over(limits{stored: 10}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if got := s.over(limits{stored: 10}); got != "" {
			t.Errorf("%s: told again: %q", test.name, got)
		}
	}
}
