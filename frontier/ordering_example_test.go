package frontier_test

import (
	"fmt"
	"math"
	"slices"

	"freshet/frontier"
	"freshet/weburl"
)

// shallowLast takes the deepest page first. It takes the site with the most waiting pages, as frontier.Length does.
type shallowLast struct{ frontier.Length }

// PageOrder returns less for a deeper page: the page with the least order goes first.
func (shallowLast) PageOrder(l weburl.Link) uint64 { return math.MaxUint64 - uint64(l.Depth) }

// An ordering is two pure methods. Options.Ordering takes it.
func ExampleOrdering() {
	var ordering frontier.Ordering = shallowLast{}
	links := []weburl.Link{{Depth: 1}, {Depth: 3}, {Depth: 2}}
	slices.SortFunc(links, func(a, b weburl.Link) int {
		if frontier.PageOrder(ordering, a) < frontier.PageOrder(ordering, b) {
			return -1
		}
		return 1
	})
	for _, l := range links {
		fmt.Println("depth", l.Depth)
	}
	fmt.Println("a site with 20 pages:", ordering.SitePriority(frontier.SiteState{Queued: 20}))
	// Output:
	// depth 3
	// depth 2
	// depth 1
	// a site with 20 pages: 20
}
