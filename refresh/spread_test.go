package refresh

import (
	"math/rand/v2"
	"testing"

	"freshet/change"
)

// TestPriorIsSpread has a site where most pages never change and a few change every eight days. Each page has four
// visits. The prior shows the difference. With one step of expectation and maximisation a renewal, it would still have
// nearly the same belief about all pages.
func TestPriorIsSpread(t *testing.T) {
	x := NewIndex(Default())
	random := rand.New(rand.NewPCG(1, 2))
	const pages = 2000
	gaps := make([]float64, pages)
	for i := range gaps {
		x.Add(ID(i), Page{Site: "s.test", Path: "/p", Weight: 1})
		if i%20 == 0 {
			gaps[i] = 8 * day
		}
	}
	const every = 8 * day
	for n := range 4 {
		for i, gap := range gaps {
			at := (float64(n) + float64(i)/pages) * every
			v := Visit{At: at, Outcome: Unchanged}
			if gap > 0 && random.ExpFloat64() < every/gap {
				v.Outcome = Changed
			}
			x.Visited(ID(i), v)
			x.Learn(at)
		}
	}
	slow := 0.0
	for k, p := range x.learner.forest.sites[0].groups[0].prior {
		if change.GridRate(k) < 1/(100*day) {
			slow += float64(p)
		}
	}
	t.Logf("%.3f of the pages are believed to change less than every hundred days, 0.950 do", slow)
	if slow < 0.87 {
		t.Errorf("want 0.87 or more")
	}
}
