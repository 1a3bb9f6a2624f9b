package refresh

import (
	"math"

	"freshet/change"
)

// Index visits the page whose visit is worth most now, for its own sake or for what it tells of its group: no
// budget, no plan. What a visit is worth grows
// with the time since the last one,
//
//	w Σ p_k (1 - (1+x_k) e^-x_k) / (d_k + h),   x_k = d_k t + S,
//
// where p is what is believed of the page's rate d, S the changes shared with other pages that are
// expected since the visit, and those that are claimed (see Claim), and h the shared ones of a usual second. With a
// known rate and S = 0 that is the Whittle index of freshness: taking the highest is optimal in the limit of many
// pages. The mean is taken of the worth and not of the rate: a page believed too fast is visited again and found out,
// where with 1/d of the mean rate it would be given up for ever. If pages are believed to keep an hour of the day, t is
// by the page's own clock, which runs faster then (see change.Timetable).
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
	Rate Estimate // value at this rate, which is the textbook's index; nil: on average over what is believed
	Age  float64  // worth of a day of age of a stale copy, beside 1 for the staleness itself
}

// NewIndex returns the policy without pages.
func NewIndex(o IndexOptions) *Index {
	x := &Index{learner: newLearner(o.Learning), rate: o.Rate, guard: o.Age / day}
	x.ranking = Ranking{
		Value:  x.Value,
		Since:  x.learner.tried,
		Growth: 2,
		Steady: x.learner.steady,
	}
	if o.Age > 0 {
		x.ranking.Growth = 3
	}
	x.looks = Ranking{
		Value:  x.worthOfLook,
		Since:  func(g ID) float64 { return x.learner.forest.groups[g].looked },
		Growth: 2,
	}
	return x
}

// Add takes the page in with what is believed of its group.
func (x *Index) Add(id ID, page Page) {
	x.learner.add(id, page)
	x.now = math.Max(x.now, page.Fresh)
	x.ranking.Place(id, x.now)
	x.watched(id, func(g *group) {
		if !x.looks.Has(g.id) {
			g.looked = x.now
			x.looks.Place(g.id, x.now)
		}
	})
}

// Remove forgets the page, but not what its group learned from it.
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
	x.learner.visited(id, v)
	x.watched(id, func(g *group) {
		g.looked = x.now
		x.looks.Place(g.id, x.now)
	})
	x.ranking.Place(id, x.now)
}

// Learn takes stock of the visits so far, as Next does too. It is for a caller that asks what is believed of
// pages and not which to visit.
func (x *Index) Learn(now float64) { x.learn(now, nil) }

func (x *Index) learn(now float64, p *pieces) {
	x.now = math.Max(x.now, now)
	x.learner.learn(now, p, func(id ID) { x.ranking.Again(id, x.now) })
}

// Study does what Next does before it picks: it takes stock of the visits so far, and ranks. It is the body
// of a range loop, which comes round after each bounded piece of the work, so that whoever guards the policy
// by a lock can let others at it. In between the policy may be told and asked everything but Learn: it answers
// by what is believed so far, and Next does not study. A loop that is broken off has the rest done in one piece.
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

// Next returns the page of highest value.
func (x *Index) Next(now float64) (ID, float64, bool) {
	x.Study(now)(func() bool { return false }) // at once
	return x.Pick(now)
}

// Pick is Next for a caller that has done the Study: it picks by what was ranked, in O(log n). If that is used up while
// there are pages it returns now as the time to ask again, after another Study.
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

// look returns the page to visit for what it tells of its group, if that is worth more than the bar, which is what
// the best page is worth for its own sake. Pages that changed together were visited together, and come due
// together: without looks nobody would hear of the group in between.
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

// watched calls f for the groups whose shared changes a visit to the page tells of.
func (x *Index) watched(id ID, f func(*group)) {
	l := &x.learner
	if l.options.Nested {
		l.chain(l.forest.group(l.pages[id].folder), f)
	}
}

// worthOfLook returns what it is worth to visit any page of the group, for what that tells of the changes that they
// share. It is the index of a page that weighs as much as all of them, and changes as often as they do together,
//
//	W (1 - (1+hu) e^-hu) / h,
//
// u after the last visit to one of them: a change that a look finds has the others visited at once. What does not reach
// the others is not looked for.
func (x *Index) worthOfLook(at ID, now float64) float64 {
	g := x.learner.forest.groups[at]
	h := math.Max(unreached, g.reach.mean*g.shared.mean/day)
	return math.Max(0, x.learner.forest.folders[g.folder].weight) * worth(h*(now-g.looked)) / h
}

// unreached is the hazard, a second, of the changes that reach a group's pages where none does.
const unreached = 1e-12

// Value returns what a visit at a time is worth.
func (x *Index) Value(id ID, at float64) float64 { return x.value(id, at, x.learner.urgent(id)) }

// value returns what a visit at a time is worth, in weight × seconds, if so many changes are claimed.
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
	inverse := l.inverses(g)
	lived := l.timetable(id).Awaited(tried, at)
	q, s := math.Exp(-change.GridRate(0)*lived), math.Exp(-shared)
	sum, mass := 0.0, 0.0
	own := change.GridRate(0) * lived
	evidence := l.beliefs[id].Evidence()
	for k, prior := range g.prior {
		post := float64(prior) * float64(evidence[k])
		fresh, young := saved(own+shared, q*s)
		sum += post * inverse[k] * (fresh + x.guard*inverse[k]*young)
		mass += post
		q *= q
		own *= 2
	}
	return float64(p.weight) * sum / mass
}

// saved returns what a visit saves in staleness, 1 - (1+x)e, and in age, x²/2 + x e - (1-e), of e = e^-x, in
// units of the hazard: near x²/2 and x³/3 for small x.
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

// Default returns the options of the policy that did best on recorded histories: changes shared at every
// level of folders, rates that may be redrawn, and age beside freshness, so that no page is given up.
func Default() IndexOptions {
	return IndexOptions{Learning: Learning{Shared: true, Hours: true, Nested: true, Folder: 10, Forget: 1000 * day}, Age: 0.0003}
}
