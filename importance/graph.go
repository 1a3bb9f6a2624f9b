package importance

import (
	"fmt"
	"math"
)

// MaxLinks is the maximum number of links in a Graph, whose numbers have 32 bits. A Graph has at most MaxLinks-1 pages.
const MaxLinks = math.MaxUint32

// Graph is a directed graph of pages, numbered from 0. It is immutable and safe for concurrent use.
type Graph struct {
	start   []uint32 // where each page's links begin in targets; then the end
	targets []uint32
}

// Pages returns the number of pages.
func (g *Graph) Pages() int { return len(g.start) - 1 }

// Links returns the number of links.
func (g *Graph) Links() int { return len(g.targets) }

// Out returns the pages that page links to, in the order in which they were added. The caller must not change the
// result. O(1).
func (g *Graph) Out(page uint32) []uint32 {
	return g.targets[g.start[page]:g.start[page+1]:g.start[page+1]]
}

// InDegrees returns the number of links to each page. O(pages + links).
func (g *Graph) InDegrees() []uint32 {
	degrees := make([]uint32, g.Pages())
	for _, target := range g.targets {
		degrees[target]++
	}
	return degrees
}

// Transpose returns the graph with all links reversed. The links of a page are sorted by the page that they come from.
// O(pages + links).
func (g *Graph) Transpose() *Graph {
	turned := &Graph{start: make([]uint32, len(g.start)), targets: make([]uint32, len(g.targets))}
	next := turned.start[1:]
	for _, target := range g.targets {
		next[target]++
	}
	sum := uint32(0)
	for i, n := range next {
		next[i] = sum // where the page's links begin, and after the fill where they end
		sum += n
	}
	for page := range g.Pages() {
		for _, target := range g.Out(uint32(page)) {
			turned.targets[next[target]] = uint32(page)
			next[target]++
		}
	}
	return turned
}

// Builder builds a Graph. The zero value is ready to use.
type Builder struct {
	start   []uint32
	targets []uint32
	highest uint32 // target
}

// Grow reserves room for this many more pages and links, which makes adding them cheaper.
func (b *Builder) Grow(pages, links int) {
	b.start = append(make([]uint32, 0, pages+1), b.start...)
	b.targets = append(make([]uint32, 0, links), b.targets...)
}

// Add adds the next page, with its links, which may lead to pages that are added later. It returns an error if there
// would be more than MaxLinks links or pages.
func (b *Builder) Add(targets []uint32) error {
	if len(b.targets)+len(targets) > MaxLinks || len(b.start) >= MaxLinks {
		return fmt.Errorf("importance: more than %d links or pages", uint32(MaxLinks))
	}
	b.start = append(b.start, uint32(len(b.targets)))
	b.targets = append(b.targets, targets...)
	for _, t := range targets {
		b.highest = max(b.highest, t)
	}
	return nil
}

// Graph returns the graph of all added pages and leaves the Builder empty. It returns an error if a link leads to a
// page that was not added.
func (b *Builder) Graph() (*Graph, error) {
	if len(b.targets) > 0 && int(b.highest) >= len(b.start) {
		return nil, fmt.Errorf("importance: a link to page %d of %d, numbered from 0", b.highest, len(b.start))
	}
	g := &Graph{start: append(b.start, uint32(len(b.targets))), targets: b.targets}
	*b = Builder{}
	return g, nil
}
