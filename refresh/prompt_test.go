package refresh

import (
	"fmt"
	"testing"
)

// TestPrompt has 200 pages of a folder change together, beside 1,000 pages that never change. When a visit finds the
// first change, the policy visits the rest of the folder at once. It does not wait for its next look at the site's
// visits. Half of the 200 have a visit within half a day of the first.
func TestPrompt(t *testing.T) {
	const together, others, perDay = 200, 1000, 400
	x := NewIndex(Default())
	for i := range together {
		x.Add(ID(i), Page{Site: "a", Path: fmt.Sprintf("/together/%d", i), Weight: 1})
	}
	for i := range others {
		x.Add(ID(together+i), Page{Site: "a", Path: fmt.Sprintf("/others/%d", i), Weight: 1})
	}
	// Nothing happens to the folder for three months. Then all of its pages change.
	const landing = 90
	stale := [together]bool{}
	for k := range landing * perDay {
		visitOne(x, (float64(k)+0.5)*day/perDay, stale[:])
	}
	for i := range stale {
		stale[i] = true
	}
	first, left := 0, together
	for k := landing * perDay; left > together/2; k++ {
		if visitOne(x, (float64(k)+0.5)*day/perDay, stale[:]) {
			if left--; first == 0 {
				first = k
			}
		}
		if first > 0 && k > first+perDay/2 {
			t.Fatalf("%d visits after the first change %d of %d pages are still stale", k-first, left, together)
		}
	}
}

// visitOne makes the visit of a slot. It reports whether the visit found a stale copy. Pages from len(stale) on never
// change.
func visitOne(x *Index, now float64, stale []bool) bool {
	id, _, _ := x.Next(now)
	found := int(id) < len(stale) && stale[id]
	outcome := Unchanged
	if found {
		outcome, stale[id] = Changed, false
	}
	x.Visited(id, Visit{At: now, Outcome: outcome})
	return found
}
