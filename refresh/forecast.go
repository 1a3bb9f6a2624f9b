package refresh

import (
	"math"
	"sort"

	"freshet/change"
)

// The times between two visits of a page that a forecast looks at: from a minute up by √2, to 5,000 years.
const (
	paces     = 64
	firstPace = 60.0 // s
)

// pace returns time j, in seconds.
func pace(j int) float64 { return firstPace * math.Exp2(float64(j)/2) }

// An Outlook is what visits at each pace come to for one page, as things are believed now.
type Outlook struct {
	Apart  bool // its freshness does not count; its visits cost as much as others
	weight float64
	value  [paces]float64 // of the visit
	fresh  [paces]float64 // share of the time in which the copy is fresh
}

// counts is what the page weighs in a freshness.
func (o *Outlook) counts() float64 {
	if o.Apart {
		return 0
	}
	return o.weight
}

// Forecast returns the freshness, weighted, that visits to the pages are expected to keep in the long run, for
// each of some budgets in visits a second: every page visited when that is worth the same, the bar that the
// budget pays for. It rests on what is believed now, with shared changes coming as they usually do.
// O(pages × budgets).
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

// ForecastUniform is Forecast for a policy that visits all pages alike.
func ForecastUniform(pages []Outlook, budgets []float64) []float64 {
	reached := make([]float64, len(budgets))
	for i, budget := range budgets {
		// The pace of all pages, between two that are looked at, by the logarithm of the time.
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

// Outlook looks ahead for one page. O(64 × Rates).
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

// spend returns the visits a second that pages need which are visited when that is worth the bar, and the
// weight of those that are fresh, on average over time.
func spend(pages []Outlook, bar float64) (visits, fresh float64) {
	for i := range pages {
		o := &pages[i]
		j := sort.SearchFloat64s(o.value[:], bar)
		if j == paces || o.weight == 0 {
			continue // never
		}
		part := 0.0
		if j > 0 { // between two paces, by the logarithm of the value
			part = 1 - math.Log(bar/o.value[j-1])/math.Log(o.value[j]/o.value[j-1])
			fresh += o.counts() * (part*o.fresh[j-1] + (1-part)*o.fresh[j])
		} else {
			fresh += o.counts() * o.fresh[0]
		}
		visits += 1 / pace(j) * math.Exp2(part/2)
	}
	return visits, fresh
}
