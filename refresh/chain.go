package refresh

import (
	"cmp"
	"math"
	"slices"

	"freshet/allocate"
	"freshet/change"
	"freshet/schedule"
)

// A contest holds the pages that compete for crawls over a horizon. It is the chain of Wolf et al., from change laws
// to slots of crawls, and a Problem of package allocate.
type contest struct {
	ids     []ID
	curves  []change.Curve // what crawls save over the horizon
	weights []float64
	sites   []int // of each page, its place in limits; -1: its site has none
	limits  []int // crawls that a site allows
}

func (c *contest) add(id ID, curve change.Curve, weight float64, site int) {
	c.ids, c.curves = append(c.ids, id), append(c.curves, curve)
	c.weights, c.sites = append(c.weights, weight), append(c.sites, site)
}

// Len returns the number of pages.
func (c *contest) Len() int { return len(c.ids) }

// Bounds allows any number of crawls.
func (c *contest) Bounds(int) (least, most int) { return 0, math.MaxInt32 }

// Gain returns the weighted staleness that crawl x+1 of page i saves.
func (c *contest) Gain(i, x int) float64 { return c.weights[i] * c.curves[i].Gain(x) }

// Crawls inverts Gain.
func (c *contest) Crawls(i int, gain float64) float64 {
	if !(c.weights[i] > 0) {
		return 0
	}
	return c.curves[i].Crawls(gain / c.weights[i])
}

// allocate spends a budget of crawls where they save most, within the sites' limits. It leaves out crawls that save
// nothing. least is the least saving of a crawl, or 0 if there is none. If the limit of a site binds, its crawls must
// save more than least: premium has the difference, by the index in limits.
func (c *contest) allocate(budget int) (crawls []int32, least float64, premium map[int]float64) {
	var costs []allocate.Cap
	var err error
	if len(c.limits) == 0 {
		crawls, err = allocate.Multiplier(c, budget)
	} else {
		crawls, costs, err = allocate.Capped(c, c.sites, c.limits, min(budget, c.allowed()), allocate.Multiplier)
	}
	if err != nil {
		panic(err) // no minimum, no maximum, and no more than limits allow: that is feasible
	}
	premium = map[int]float64{}
	for _, cost := range costs {
		premium[cost.Site] = cost.Price
	}
	least = math.Inf(1)
	for i := range crawls {
		for crawls[i] > 0 && !(c.Gain(i, int(crawls[i])-1) > 0) {
			crawls[i]--
		}
		if x := crawls[i]; x > 0 {
			least = math.Min(least, c.Gain(i, int(x)-1))
		}
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	return crawls, least, premium
}

// allowed returns the total number of crawls that the sites' limits allow.
func (c *contest) allowed() int {
	if slices.Contains(c.sites, -1) {
		return math.MaxInt32
	}
	sum := 0
	for _, limit := range c.limits {
		sum += limit
	}
	return sum
}

// A crawl is a planned crawl of a page, in seconds from the plan.
type crawl struct {
	at      float64
	id      ID
	release bool // not before its ideal time: until then there is nothing new
	gain    float64
}

// ideal returns the crawls at their ideal times, sorted.
func (c *contest) ideal(crawls []int32) []crawl {
	var all []crawl
	var times []float64
	for i, x := range crawls {
		_, release := c.curves[i].(*change.Quasi)
		times = c.curves[i].Times(times[:0], int(x))
		for k, at := range times {
			all = append(all, crawl{at, c.ids[i], release, c.Gain(i, k)})
		}
	}
	slices.SortFunc(all, func(a, b crawl) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	return all
}

// slotted assigns the slots, which are sorted, to the earliest ideal crawls. It returns these at the starts of their
// slots, sorted. Release tasks choose first: while one waits its copy is stale. Any other crawl loses only the square
// of its distance from the ideal time.
func slotted(ideal []crawl, slots []schedule.Slot) []crawl {
	var hurried, others []crawl
	for _, one := range ideal[:min(len(ideal), len(slots))] {
		if one.release {
			hurried = append(hurried, one)
		} else {
			others = append(others, one)
		}
	}
	placed, free := place(nil, hurried, slots)
	placed, _ = place(placed, others, free)
	slices.SortFunc(placed, func(a, b crawl) int { return cmp.Compare(a.at, b.at) })
	return placed
}

// place assigns slots to crawls and appends the crawls at the starts of their slots. It also returns the free slots.
func place(placed, ideal []crawl, slots []schedule.Slot) (_ []crawl, free []schedule.Slot) {
	if len(ideal) == 0 {
		return placed, slots
	}
	tasks := make([]schedule.Task, len(ideal))
	for k, one := range ideal {
		tasks[k] = schedule.Task{Ideal: one.at, Release: one.release}
	}
	taken := make([]bool, len(slots))
	for k, slot := range schedule.Solve(tasks, slots).Slot {
		if slot < 0 {
			continue // it must not be early, and is due after the last slot: it is left to the next plan
		}
		taken[slot] = true
		ideal[k].at = slots[slot].Start
		placed = append(placed, ideal[k])
	}
	for k, slot := range slots {
		if !taken[k] {
			free = append(free, slot)
		}
	}
	return placed, free
}
