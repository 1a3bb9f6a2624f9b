package graph_test

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/importance"
	"freshet/sim/graph"
)

// open opens a data file beside the module's folder. It skips the test if the file is missing.
func open(t *testing.T, name string) io.Reader {
	f, err := os.Open(filepath.Join("../../../shared/data", name))
	if err != nil {
		t.Skipf("no %s beside the module: %v", name, err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestPublishedRanks compares PageRank with the known facts about a real crawl, cnr-2000: the largest value, and the
// share of the best pages.
func TestPublishedRanks(t *testing.T) {
	g, err := graph.ReadGaps(open(t, "cnr-2000.gaps.gz"), "cnr-2000")
	if err != nil {
		t.Fatal(err)
	}
	if g.Pages() != 325557 || g.Links() != 3216152 {
		t.Fatalf("%d pages, %d links", g.Pages(), g.Links())
	}
	ranks, err := importance.NewRanker(g).Rank(importance.RankOptions{Tolerance: 1e-7})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(ranks.Of, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
	if math.Abs(ranks.Of[0]-0.01932) > 5e-6 {
		t.Errorf("largest rank %.6f, want 0.01932", ranks.Of[0])
	}
	sums := make([]float64, len(ranks.Of)+1)
	for i, rank := range ranks.Of {
		sums[i+1] = sums[i] + rank
	}
	for percent, want := range map[float64]float64{0.1: 0.251, 1: 0.416, 5: 0.547, 10: 0.619, 20: 0.723, 50: 0.875} {
		if got := sums[int(percent/100*float64(len(ranks.Of)))]; math.Abs(got-want) > 0.0006 {
			t.Errorf("the best %v %% of the pages have %.4f, want %.3f", percent, got, want)
		}
	}
}

// TestReadLists reads two published graphs in their two forms.
func TestReadLists(t *testing.T) {
	for name, want := range map[string]struct{ pages, links int }{
		"gr0.California.gz": {9664, 16150},
		"hollins.dat.gz":    {6012, 23875},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := graph.ReadListed(open(t, name), name, 1)
			if err != nil {
				t.Fatal(err)
			}
			links := 0
			for page := range uint32(w.Pages()) {
				carried, _ := w.Carried(page)
				links += len(carried)
			}
			if w.Pages() != want.pages || links != want.links {
				t.Errorf("%d pages, %d links; want %+v", w.Pages(), links, want)
			}
			worth, err := w.Worth(importance.RankOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, rank := range worth {
				sum += rank
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("ranks sum to %v", sum)
			}
		})
	}
}

func TestWrongLists(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "graph: f: the graph is empty",
		"2 1 1\n1 u\n":         "graph: f:2: cut short: 1 pages of 2",
		"2 2\n1 u\n2 v\n1 2\n": "graph: f:4: cut short or too long: 1 links, the first line says 2",
		"2 1\n1 u\n2 v\n1 3\n": `graph: f:4: "3": want a number from 1 to 2`,
		"2 1\n1 u\n3 v\n":      "graph: f:3: page 3: want page 2",
		"n 0 u\ne 0\n":         "graph: f:2: a link of 1 fields",
		"n 0 u\nx 0 0\n":       `graph: f:2: "x 0 0": want n`,
		"n 0\n":                "graph: f:1: a page of 1 fields",
		"x\n":                  `graph: f:1: "x": want the numbers`,
		"\x1f\x8b\x08\x00":     "graph: f: unexpected EOF",
		"n 0 u\ne 0 -1\n":      `graph: f:2: "-1": want a number from 0 to 0`,
		"99999999999 1\n":      `graph: f:1: "99999999999": want a number from 1`,
	} {
		if _, err := graph.ReadListed(strings.NewReader(text), "f", 1); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	if w, err := graph.ReadListed(strings.NewReader("n 0 http://u.test/\nn 1 http://v.test/\n"), "f", 1); err != nil || w.Links().Links() != 0 {
		t.Errorf("pages without links: error %v", err)
	}
}

func TestWrongGaps(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "graph: f: cut short at page 0: want the number of pages",
		"\x00":                 "graph: f: the graph is empty",
		"\x02\x01\x01":         "graph: f: cut short at page 1: want the number of links",
		"\x02\x01":             "graph: f: cut short at page 0: want a target",
		"\x02\x02\x01\x00\x00": "graph: f: page 0 links to page 2 of 2",
		"\x02\x03":             "graph: f: page 0: the number of links is 3: want at most 2",
		"\x01\x00\x07":         "graph: f: more bytes after the last of 1 pages",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": "graph: f: page 0: the number of pages: binary: varint overflows",
	} {
		if _, err := graph.ReadGaps(strings.NewReader(text), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// FuzzPublished holds that gaps never make the reader panic, or make a graph whose links lead nowhere.
func FuzzPublished(f *testing.F) {
	f.Add([]byte("\x02\x01\x01\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if g, err := graph.ReadGaps(strings.NewReader(string(text)), "f"); err == nil {
			g.InDegrees()
		}
	})
}
