package importance

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestGraph holds a graph to the links it was built from, and its transpose to those turned round.
func TestGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.IntRange(0, 20).Draw(t, "pages")
		var b Builder
		var links [][2]uint32
		want := make([][]uint32, pages)
		for page := range pages {
			want[page] = rapid.SliceOfN(rapid.Uint32Range(0, uint32(pages-1)), 0, 10).Draw(t, "targets")
			for _, target := range want[page] {
				links = append(links, [2]uint32{uint32(page), target})
			}
			if err := b.Add(want[page]); err != nil {
				t.Fatal(err)
			}
		}
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if g.Pages() != pages || g.Links() != len(links) {
			t.Fatalf("%d pages, %d links, want %d and %d", g.Pages(), g.Links(), pages, len(links))
		}
		turned := g.Transpose()
		degrees := g.InDegrees()
		for page := range uint32(pages) {
			if !slices.Equal(g.Out(page), want[page]) {
				t.Fatalf("page %d links to %v, want %v", page, g.Out(page), want[page])
			}
			var in []uint32
			for _, l := range links {
				if l[1] == page {
					in = append(in, l[0])
				}
			}
			if !slices.Equal(turned.Out(page), in) || int(degrees[page]) != len(in) {
				t.Fatalf("to page %d link %v (%d), want %v", page, turned.Out(page), degrees[page], in)
			}
		}
	})
}

func TestLinkOut(t *testing.T) {
	var b Builder
	if err := b.Add([]uint32{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Graph(); err == nil || err.Error() != "importance: a link to page 1 of 1, numbered from 0" {
		t.Errorf("error %v", err)
	}
}
