package refresh

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestLooks has a folder whose pages all change at once, every 100 days or so, beside pages that change one by one. The
// policy visits the whole folder soon after such a day. Without looks its pages would come due together, many days
// later. Looks at single pages find the next change early. The mean over three draws is at most a 30th of a round of
// uniform visits.
func TestLooks(t *testing.T) {
	const still, busy, years, perDay = 300, 300, 3, 120
	const round = (still + busy) / float64(perDay) // days, of uniform visits
	waited, landings := 0.0, 0
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			x := NewIndex(Default())
			for i := range still {
				x.Add(ID(i), Page{Site: "a", Path: fmt.Sprintf("/still/%d", i), Weight: 1})
			}
			for i := range busy {
				x.Add(ID(still+i), Page{Site: "a", Path: fmt.Sprintf("/busy/%d", i), Weight: 1})
			}
			seen := make([]float64, still+busy)
			landing, found := 0.0, true
			for k := range 365 * years * perDay {
				now := (float64(k) + 0.5) / perDay
				if rng.Float64() < 1.0/100/perDay {
					if landing, found = now, false; now > 365 {
						landings++
					}
				}
				id, _, _ := x.Next(now * day)
				changed := rng.Float64() < -math.Expm1((seen[id]-now)/40)
				if id < still {
					if changed = seen[id] < landing; changed && !found {
						if found = true; landing > 365 {
							waited += now - landing
						}
					}
				}
				outcome := Unchanged
				if changed {
					outcome = Changed
				}
				seen[id] = now
				x.Visited(id, Visit{At: now * day, Outcome: outcome})
			}
		})
	}
	mean := waited / float64(landings)
	t.Logf("%d landings, found after %.2f days", landings, mean)
	if mean > round/30 {
		t.Errorf("landings are found after %.2f days, want at most %.2f", mean, round/30)
	}
}
