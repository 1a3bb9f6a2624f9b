package refresh

import (
	"math"
	"sort"

	"freshet/change"
)

// The times between two visits of a page for which a forecast has values: from a minute to 5,000 years, by factors of
// √2.
const (
	paces     = 64
	firstPace = 60.0 // s
)

// pace returns time j, in seconds.
func pace(j int) float64 { return firstPace * math.Exp2(float64(j)/2) }

// An Outlook holds the value and the freshness of one page at each pace of visits, by the present beliefs.
type Outlook struct {
	Apart  bool // its freshness does not count; its visits cost as much as others
	weight float64
	value  [paces]float64 // of a visit
	fresh  [paces]float64 // share of the time in which the copy is fresh
}

// counts returns the page's weight in a mean freshness.
func (o *Outlook) counts() float64 {
	if o.Apart {
		return 0
	}
	return o.weight
}

// Forecast returns the expected weighted freshness of the pages in the long run, for each budget, in visits a second.
// Every page is visited when its value reaches the bar that the budget pays for. Forecast uses the present beliefs
// and the usual rate of shared changes. O(pages × budgets).
func Forecast(pages []Outlook, budgets []float64) []float64 {
	highest, total := 0.0, 0.0
	for i := range pages {
		highest = math.Max(highest, pages[i].value[paces-1])
		total += pages[i].counts()
	}
	reached := make([]float64, len(budgets))
	for i, budget := range budgets {
		if !(highest > 0 && total > 0) {
			break
		}
		low, high := math.Log(highest)-60, math.Log(highest)+1e-6 // of the bar
		for range 50 {
			middle := (low + high) / 2
			if spent, _ := spend(pages, math.Exp(middle)); spent > budget {
				low = middle
			} else {
				high = middle
			}
		}
		_, fresh := spend(pages, math.Exp(high))
		reached[i] = fresh / total
	}
	return reached
}

// ForecastUniform is Forecast for a policy that visits all pages equally often.
func ForecastUniform(pages []Outlook, budgets []float64) []float64 {
	reached := make([]float64, len(budgets))
	for i, budget := range budgets {
		// The pace of all pages, as a number on the grid of paces.
		j := 2 * math.Log2(float64(len(pages))/(budget*firstPace))
		if !(j < paces-1) {
			continue // never, or there is no budget
		}
		low, part := math.Modf(max(0, j))
		fresh, total := 0.0, 0.0
		for k := range pages {
			o := &pages[k]
			total += o.counts()
			fresh += o.counts() * ((1-part)*o.fresh[int(low)] + part*o.fresh[int(low)+1])
		}
		if total > 0 {
			reached[i] = fresh / total
		}
	}
	return reached
}

// Outlook returns the outlook of a page, for Forecast. O(64 × Rates).
func (x *Index) Outlook(id ID) Outlook {
	s := x.learner.must(id)
	g := x.learner.forest.group(s.folder)
	belief, inverse := x.learner.posterior(id), x.learner.inverses(g)
	o := Outlook{weight: float64(s.weight)}
	for j := range paces {
		t := pace(j)
		for k, p := range belief {
			changes := t * (change.GridRate(k) + x.learner.usual(g))
			e := math.Exp(-changes)
			fresh, young := saved(changes, e)
			o.value[j] += o.weight * float64(p) * inverse[k] * (fresh + x.guard*inverse[k]*young)
			o.fresh[j] += float64(p) * -math.Expm1(-changes) / changes
		}
	}
	return o
}

// spend returns the visits a second if every page is visited when its value reaches the bar, and the mean weight of
// the fresh pages.
func spend(pages []Outlook, bar float64) (visits, fresh float64) {
	for i := range pages {
		o := &pages[i]
		j := sort.SearchFloat64s(o.value[:], bar)
		if j == paces || o.weight == 0 {
			continue // never
		}
		part := 0.0
		if j > 0 { // between two paces: interpolate by the logarithm of the value
			part = 1 - math.Log(bar/o.value[j-1])/math.Log(o.value[j]/o.value[j-1])
			fresh += o.counts() * (part*o.fresh[j-1] + (1-part)*o.fresh[j])
		} else {
			fresh += o.counts() * o.fresh[0]
		}
		visits += 1 / pace(j) * math.Exp2(part/2)
	}
	return visits, fresh
}
