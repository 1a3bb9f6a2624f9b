package refresh

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// studied is an index with pages of three sites. The method act changes it at random.
type studied struct {
	*Index
	rng   *rand.Rand
	known []bool // by ID
	out   []ID   // picked and not yet visited
	now   float64
}

func newStudied(seed uint64, pages int) *studied {
	s := &studied{Index: NewIndex(Default()), rng: rand.New(rand.NewPCG(seed, 1)), known: make([]bool, pages)}
	for id := range s.known {
		s.add(ID(id))
	}
	return s
}

func (s *studied) add(id ID) {
	path := fmt.Sprintf("/%d/%d/x", s.rng.IntN(4), s.rng.IntN(30))
	s.Add(id, Page{Site: fmt.Sprint(s.rng.IntN(3)), Path: path, Weight: 1, Fresh: s.now})
	s.known[id] = true
}

// visit ends the visit that was picked first.
func (s *studied) visit() {
	id := s.out[0]
	s.out = s.out[1:]
	if s.known[id] {
		s.Visited(id, Visit{At: s.now, Outcome: Outcome(s.rng.IntN(3))})
	}
}

// act picks, visits, and replaces pages.
func (s *studied) act() {
	for range s.rng.IntN(40) {
		switch s.rng.IntN(4) {
		case 0, 1:
			if id, _, ok := s.Next(s.now); ok {
				s.out = append(s.out, id)
			}
		case 2:
			if len(s.out) > 0 {
				s.visit()
			}
		case 3:
			id := ID(s.rng.IntN(len(s.known)))
			if s.known[id] {
				s.Remove(id)
				s.out = without(s.out, id)
			}
			s.add(id)
		}
	}
}

func without(ids []ID, id ID) []ID {
	var kept []ID
	for _, other := range ids {
		if other != id {
			kept = append(kept, other)
		}
	}
	return kept
}

// TestStudyInPieces holds that a study in pieces leads to the same pages as Next, if nothing happens between the
// pieces.
func TestStudyInPieces(t *testing.T) {
	whole, parted := newStudied(1, 3000), newStudied(1, 3000)
	pieces := 0
	for i := range 4000 {
		now := float64(i) * day / 40
		whole.now, parted.now = now, now
		for range parted.Study(now) {
			pieces++
		}
		want, _, _ := whole.Next(now)
		got, _, ok := parted.Pick(now)
		if !ok || got != want {
			t.Fatalf("pick %d: page %d (%v), want %d", i, got, ok, want)
		}
		outcome := Outcome(1 + whole.rng.IntN(2))
		whole.Visited(want, Visit{At: now, Outcome: outcome})
		parted.Visited(got, Visit{At: now, Outcome: outcome})
	}
	if pieces < 100 {
		t.Errorf("%d pieces: nothing was parted", pieces)
	}
}

// TestStudyIsInterrupted adds, replaces, picks and visits pages between the pieces. Afterwards each page is either out
// or ranked. No piece has valued more pages than its share.
func TestStudyIsInterrupted(t *testing.T) {
	for seed := range uint64(3) {
		s := newStudied(seed, 5000)
		value, values, most, pieces := s.ranking.Value, 0, 0, 0
		s.ranking.Value = func(id ID, at float64) float64 {
			values++
			return value(id, at)
		}
		for range 300 {
			s.now += day / 4
			values = 0
			for range s.Study(s.now) {
				most = max(most, values)
				pieces++
				s.act()
				values = 0
			}
			most = max(most, values)
			s.act()
		}
		ranked := 0
		for id := range s.known {
			if s.ranking.cold.Has(ID(id)) || s.ranking.hot.Has(ID(id)) {
				ranked++
			}
		}
		if ranked+len(s.out) != len(s.known) {
			t.Errorf("seed %d: %d pages ranked and %d out of %d", seed, ranked, len(s.out), len(s.known))
		}
		if limit := 8 * pieceWork; most > limit || pieces < 100 { // to place a page takes some values
			t.Errorf("seed %d: %d pieces, the longest of %d values, want at most %d", seed, pieces, most, limit)
		}
	}
}

// BenchmarkStudy learns from eight visits to each of 10⁵ pages of ten sites, and ranks them. It reports the longest
// piece, during which no other caller can use the policy.
func BenchmarkStudy(b *testing.B) {
	const pages = 100_000
	longest, pieces := 0.0, 0
	for b.Loop() {
		b.StopTimer()
		x := NewIndex(Default())
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range pages {
			x.Add(ID(i), Page{Site: fmt.Sprint(i % 10), Path: fmt.Sprintf("/%d/%d/x", i/10%10, i/100%50), Weight: 1})
		}
		now := 0.0
		for visit := range 8 * pages {
			now = float64(visit) * 80 * day / (8 * pages)
			x.Visited(ID(visit%pages), Visit{At: now, Outcome: Outcome(1 + rng.IntN(2))})
		}
		b.StartTimer()
		last := b.Elapsed()
		for range x.Study(now) {
			longest = max(longest, (b.Elapsed() - last).Seconds())
			pieces++
			last = b.Elapsed()
		}
		longest = max(longest, (b.Elapsed() - last).Seconds())
	}
	b.ReportMetric(longest*1e3, "longest-ms")
	b.ReportMetric(float64(pieces)/float64(b.N), "pieces/op")
}
