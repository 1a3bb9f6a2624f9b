package refresh

import (
	"math"

	"freshet/change"
)

// Index visits the page with the highest value now. It has no budget and no plan. A visit has a value for the page
// itself, or as a look for what it reveals about the page's group. The value for the page grows with the time t since
// its last visit:
//
//	w Σ p_k (1 - (1+x_k) e^-x_k) / (d_k + h),   x_k = d_k t + S,
//
// Here p is the belief about the page's rate d. S is the expected number of shared changes since the visit, plus the
// claimed ones (see Claim). h is the usual rate of shared changes. A visit to another page of a small folder counts as
// a part of a visit, and a visit is worth more for what it tells about them (see kinship). With a known rate, S = 0 and
// no such page this is the Whittle index of freshness: to take the highest is optimal in the limit of many pages. The
// mean is over values, not rates. So a page that is believed to change too fast is visited again, and the belief is
// corrected. With the value at the mean rate it would be given up forever. If a page changes at a certain hour of the
// day, t runs on the page's own clock, which is faster at that hour (see change.Timetable).
type Index struct {
	learner learner
	ranking Ranking
	looks   Ranking // of groups
	rate    Estimate
	guard   float64
	now     float64
	studies bool // a Study is under way
}

// IndexOptions says what an Index believes and values.
type IndexOptions struct {
	Learning
	Rate Estimate // value at this rate, as the textbook index; nil: mean value over the belief
	Age  float64  // cost of a day of age of a stale copy, relative to 1 for being stale
}

// NewIndex returns the policy without pages.
func NewIndex(o IndexOptions) *Index {
	x := &Index{learner: newLearner(o.Learning), rate: o.Rate, guard: o.Age / day}
	x.ranking = Ranking{
		Value:  x.Value,
		Since:  func(id ID) float64 { return x.learner.kinship(id, x.learner.tried(id), math.Inf(1)).heard },
		Root:   math.Sqrt,
		Steady: x.learner.steady,
	}
	if o.Age > 0 {
		x.ranking.Root = math.Cbrt
	}
	x.looks = Ranking{
		Value: x.worthOfLook,
		Since: func(g ID) float64 { return x.learner.forest.groups[g].looked },
		Root:  math.Sqrt,
	}
	return x
}

// Add adds the page, with the beliefs about its group.
func (x *Index) Add(id ID, page Page) {
	x.learner.add(id, page)
	x.now = math.Max(x.now, page.Fresh)
	x.ranking.Place(id, x.now)
	x.watched(id, func(g *group) {
		if !x.looks.Has(g.id) {
			g.looked = page.Fresh
			x.looks.Place(g.id, x.now)
		}
	})
}

// Find sets the function that finds the page with a path, to relate the page /a/b to those in the folder /a/b. Without
// it, Index relates them only if the folder was there before the page.
func (x *Index) Find(page func(site, path string) (ID, bool)) {
	l := &x.learner
	l.forest.find = func(parent int32, site, path string) (ID, bool) {
		id, ok := page(site, path)
		return id, ok && int(id) < len(l.pages) && l.pages[id].marks.has(there) && l.pages[id].folder == parent
	}
}

// Remove forgets the page. Its group keeps what it learned from it.
func (x *Index) Remove(id ID) {
	x.learner.remove(id)
	x.ranking.Drop(id)
}

// Weigh ranks the page by its new weight.
func (x *Index) Weigh(id ID, weight float64) {
	x.learner.weigh(id, weight)
	x.ranking.Again(id, x.now)
}

// Visited learns from the visit and ranks the page again.
func (x *Index) Visited(id ID, v Visit) {
	x.now = math.Max(x.now, v.At)
	last := x.learner.must(id).seen
	x.learner.visited(id, v)
	x.watched(id, func(g *group) {
		g.looked = math.Max(g.looked, v.At)
		x.looks.Place(g.id, x.now)
	})
	x.ranking.Place(id, x.now)
	if v.Outcome != Unknown {
		x.learner.tell(id, last, v.At, v.Outcome == Changed, func(other ID) { x.ranking.Again(other, x.now) })
	}
}

// Learn learns from the visits so far, as Next does. It is for a caller that wants beliefs and not the page to visit.
func (x *Index) Learn(now float64) { x.learn(now, nil) }

func (x *Index) learn(now float64, p *pieces) {
	x.now = math.Max(x.now, now)
	x.learner.learn(now, p, func(id ID) { x.ranking.Again(id, x.now) })
}

// Study does the work of Next before the pick: it learns from the visits so far, and ranks. It returns an iterator
// for a range loop, which yields after each bounded piece of work. So a caller that guards the policy with a lock can
// release it between pieces. Between pieces, every method but Learn may be called. Answers rest on the beliefs so
// far, and Next does not study. If the loop breaks, the rest is done in one piece.
func (x *Index) Study(now float64) func(yield func() bool) {
	return func(yield func() bool) {
		if x.studies {
			return
		}
		x.studies = true
		defer func() { x.studies = false }()
		p := pieces{yield: yield}
		x.learn(now, &p)
		x.ranking.prepare(now, &p)
		x.looks.prepare(now, &p)
	}
}

// Next returns the page with the highest value.
func (x *Index) Next(now float64) (ID, float64, bool) {
	x.Study(now)(func() bool { return false }) // at once
	return x.Pick(now)
}

// Pick is Next for a caller that has called Study: it picks from the ranked pages, in O(log n). If no ranked page is
// left but others are, wake is now: call Study again.
func (x *Index) Pick(now float64) (id ID, wake float64, ok bool) {
	if best, value, some := x.ranking.best(); some {
		if id, ok = x.look(now, value); !ok {
			id = best
		}
		x.ranking.take(id, now)
		x.learner.pages[id].marks.set(out, true)
		return id, now, true
	}
	if x.ranking.Len() > 0 {
		return 0, now, false
	}
	return 0, math.Inf(1), false
}

// look returns a page to visit because the visit tells about its group. It returns none if that is not worth more than
// bar, the value of the best page for itself. Pages that changed together are visited together and become due together.
// Without looks, the group would go unobserved in between.
func (x *Index) look(now, bar float64) (ID, bool) {
	for {
		at, value, ok := x.looks.best()
		if !ok || value <= bar {
			return 0, false
		}
		g := x.learner.forest.groups[at]
		x.looks.take(at, now)
		g.looked = now
		x.looks.Place(at, now)
		if id, ok := x.learner.sentinel(g); ok {
			x.learner.pages[id].marks.set(asked, true)
			return id, true
		}
	}
}

// watched calls f for each group whose shared changes a visit to the page reveals.
func (x *Index) watched(id ID, f func(*group)) {
	l := &x.learner
	if l.options.Nested {
		l.chain(l.forest.group(l.pages[id].folder), f)
	}
}

// worthOfLook returns the value of a visit to any page of the group for what it reveals: their shared changes. It is
// the index of a page with the weight W of all of them that changes at the rate h of their shared changes,
//
//	W (1 - (1+hu) e^-hu) / h,
//
// at time u after the last visit to one of them. If a look finds a change, the others are visited at once. Changes
// that do not reach the others do not count.
func (x *Index) worthOfLook(at ID, now float64) float64 {
	g := x.learner.forest.groups[at]
	h := math.Max(unreached, g.reach.mean*g.shared.mean/day)
	return math.Max(0, x.learner.forest.folders[g.folder].weight) * worth(h*(now-g.looked)) / h
}

// unreached is the hazard per second of changes that reach a group's pages, for a group in which none does.
const unreached = 1e-12

// Value returns the value of a visit at a time.
func (x *Index) Value(id ID, at float64) float64 { return x.value(id, at, x.learner.urgent(id)) }

// value returns the value of a visit at a time, in weight × seconds, with this number of claimed changes.
func (x *Index) value(id ID, at, claimed float64) float64 {
	l := &x.learner
	p := &l.pages[id]
	tried := l.tried(id)
	t := at - tried
	if !(t > 0) {
		return 0
	}
	g := l.forest.group(p.folder)
	if x.rate != nil {
		belief := l.posterior(id)
		d := x.rate(&belief)
		return float64(p.weight) * worth(d*t+claimed) / d
	}
	shared := claimed + l.shared(g, l.days(tried), l.days(at))
	inverse, evidence := l.inverses(g), &l.beliefs[id]
	kinship := l.kinship(id, tried, at)
	lived := l.timetable(id).Awaited(kinship.since, at)
	value := float64(p.weight) * x.mean(g, evidence, inverse, lived, shared)
	if kinship.alike > 0 {
		value += kinship.alike * l.kinWeight(id) * x.mean(g, evidence, inverse, at-kinship.heard, 0)
	}
	return value
}

// mean returns the mean over the rates of a page of a group of what a visit saves, in seconds. inverse has the inverse
// of each hazard. The page has lived so long since the last visit, with that many shared changes expected. O(Rates).
func (x *Index) mean(g *group, evidence *change.Packed, inverse *[change.Rates]float64, lived, shared float64) float64 {
	q, s := math.Exp(-change.GridRate(0)*lived), math.Exp(-shared)
	sum, mass := 0.0, 0.0
	own := change.GridRate(0) * lived
	for k, prior := range g.prior {
		post := float64(prior) * float64(evidence.Likelihood(k))
		fresh, young := saved(own+shared, q*s)
		sum += post * inverse[k] * (fresh + x.guard*inverse[k]*young)
		mass += post
		q *= q
		own *= 2
	}
	return sum / mass
}

// saved returns the savings of a visit in staleness, 1 - (1+x)e, and in age, x²/2 + x e - (1-e), with e = e^-x, in
// units of the hazard. For small x they are near x²/2 and x³/3.
func saved(x, e float64) (fresh, young float64) {
	if x < 1e-3 {
		return x * x * (0.5 - x/3), x * x * x * (1.0/3 - x/8)
	}
	return 1 - (1+x)*e, x*x/2 + x*e - (1 - e)
}

// worth returns 1 - (1+x)e^-x.
func worth(x float64) float64 {
	if x < 1e-4 {
		return x * x / 2
	}
	return 1 - (1+x)*math.Exp(-x)
}

// Default returns the options that did best on recorded histories: shared changes at every level of folders, rates
// that may change over time, and a cost of age as well as of staleness, so that no page is given up.
func Default() IndexOptions {
	return IndexOptions{Learning: Learning{Shared: true, Hours: true, Nested: true, Folder: 10, Forget: 1000 * day}, Age: 0.0003}
}
