package importance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func build(t interface{ Fatal(...any) }, rows ...[]uint32) *Graph {
	var b Builder
	for _, row := range rows {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestKnownRanks holds ranks that follow from the equations by hand.
func TestKnownRanks(t *testing.T) {
	for name, test := range map[string]struct {
		rows    [][]uint32
		options RankOptions
		want    []float64
	}{
		"empty":           {},
		"one page":        {rows: [][]uint32{nil}, want: []float64{1}},
		"only dangling":   {rows: [][]uint32{nil, nil}, want: []float64{0.5, 0.5}},
		"self-link":       {rows: [][]uint32{{0}, {1, 1}}, want: []float64{0.5, 0.5}},
		"circle":          {rows: [][]uint32{{1}, {2}, {0}}, want: []float64{1. / 3, 1. / 3, 1. / 3}},
		"dangling target": {rows: [][]uint32{{1}, nil}, options: RankOptions{Damping: 0.5}, want: []float64{0.4, 0.6}},
		"repeats":         {rows: [][]uint32{{1, 1, 1, 2}, {0}, {0}}, options: RankOptions{Damping: 0.5}, want: []float64{4. / 9, 5. / 18, 5. / 18}},
		"personalised":    {rows: [][]uint32{{1}, {0}}, options: RankOptions{Damping: 0.5, Teleport: []float64{3, 0}}, want: []float64{2. / 3, 1. / 3}},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Tolerance = 1e-12
			ranks, err := NewRanker(build(t, test.rows...)).Rank(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(ranks.Of, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
				t.Errorf("ranks %v, want %v", ranks.Of, test.want)
			}
		})
	}
}

// TestEquations holds ranks of any graph to PageRank's equations, written out again, and to their
// independence of where the iteration started and of the number of workers.
func TestEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "pages")
		rows := make([][]uint32, n)
		for i := range rows {
			rows[i] = rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 0, 8).Draw(t, "links")
		}
		var teleport []float64
		if rapid.Bool().Draw(t, "personal") {
			teleport = rapid.SliceOfN(rapid.Float64Range(0.1, 5), n, n).Draw(t, "teleport")
		}
		r := NewRanker(build(t, rows...))
		ranks, err := r.Rank(RankOptions{Teleport: teleport, Tolerance: 1e-13, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		holdEquations(t, rows, teleport, ranks.Of)
		again, err := r.Rank(RankOptions{Teleport: teleport, Tolerance: 1e-13, Workers: 3})
		if err != nil || !slices.Equal(again.Of, ranks.Of) {
			t.Fatalf("%v by three workers, %v by one; error %v", again.Of, ranks.Of, err)
		}
		warm, err := r.Rank(RankOptions{Teleport: teleport, Start: ranks.Of, Tolerance: 1e-12})
		if err != nil || warm.Iterations > 2 {
			t.Fatalf("%d iterations from the ranks themselves, error %v", warm.Iterations, err)
		}
	})
}

func holdEquations(t *rapid.T, rows [][]uint32, teleport, ranks []float64) {
	t.Helper()
	n := len(rows)
	want := make([]float64, n)
	loose := 1.0
	for page, row := range rows {
		row = slices.Compact(slices.Sorted(slices.Values(row)))
		row = slices.DeleteFunc(row, func(to uint32) bool { return int(to) == page })
		for _, to := range row {
			want[to] += Damping * ranks[page] / float64(len(row))
			loose -= Damping * ranks[page] / float64(len(row))
		}
	}
	for page := range want {
		weight := 1 / float64(n)
		if teleport != nil {
			weight = teleport[page] / sum(teleport)
		}
		want[page] += loose * weight
		if math.Abs(want[page]-ranks[page]) > 1e-10 {
			t.Fatalf("page %d: rank %v, the equations give %v", page, ranks[page], want[page])
		}
	}
}

func TestWrongOptions(t *testing.T) {
	r := NewRanker(build(t, []uint32{1}, nil))
	for want, o := range map[string]RankOptions{
		"damping 1: want more than 0":             {Damping: 1},
		"tolerance -1":                            {Tolerance: -1},
		"-1 iterations":                           {Iterations: -1},
		"1 teleport weights: want one for each":   {Teleport: []float64{1}},
		"teleport weights sum to 0":               {Teleport: []float64{0, 0}},
		"teleport weight NaN of page 1":           {Teleport: []float64{0, math.NaN()}},
		"3 ranks to start from: want at most":     {Start: []float64{1, 1, 1}},
		"rank to start from -1 of page 0: want 0": {Start: []float64{-1}},
	} {
		if _, err := r.Rank(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// BenchmarkPageRank measures an iteration, and a whole computation, on a million pages with ten links each.
func BenchmarkPageRank(b *testing.B) {
	for _, pages := range []int{100_000, 1_000_000} {
		var builder Builder
		builder.Grow(pages, 10*pages)
		state := uint64(1)
		row := make([]uint32, 10)
		for range pages {
			for i := range row {
				state = state*6364136223846793005 + 1442695040888963407
				row[i] = uint32((state >> 33) % uint64(pages))
			}
			if err := builder.Add(row); err != nil {
				b.Fatal(err)
			}
		}
		g, err := builder.Graph()
		if err != nil {
			b.Fatal(err)
		}
		r := NewRanker(g)
		b.Run(fmt.Sprintf("links=%d", 10*pages), func(b *testing.B) {
			iterations := 0
			for b.Loop() {
				ranks, err := r.Rank(RankOptions{Tolerance: 1e-6})
				if err != nil {
					b.Fatal(err)
				}
				iterations += ranks.Iterations
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(iterations)*1e3, "ms/iteration")
			b.ReportMetric(float64(g.Links())*float64(iterations)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}
