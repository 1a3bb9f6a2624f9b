package refresh

import (
	"fmt"
	"testing"
)

// TestVisitsAreBounded holds that the number of remembered visits of a large site has a bound, however many visits it
// had.
func TestVisitsAreBounded(t *testing.T) {
	const pages = 3000
	x := NewIndex(Default())
	for id := range ID(pages) {
		x.Add(id, Page{Site: "s", Path: fmt.Sprintf("/%d/%d", id%20, id), Weight: 1})
	}
	home := x.learner.forest.sites[0]
	for n := range 6 * pages {
		at := float64(n+1) * day / 100
		x.Visited(ID(n%pages), Visit{At: at, Outcome: Outcome(1 + n%7/6)})
		if n%10 == 0 {
			x.Learn(at)
		}
		if most := 2 * memoryOfSite; len(home.visits) > most {
			t.Fatalf("%d visits are remembered after %d, want at most %d", len(home.visits), n, most)
		}
	}
}
