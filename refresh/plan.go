package refresh

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"freshet/change"
	"freshet/schedule"
)

// Plan is the chain of Wolf et al. Every interval, and when the number of pages has doubled, it fits the pages'
// changes, allocates the budget's crawls where they save the most staleness, and schedules them into slots. In between
// it follows the schedule. If a page is added, or has no crawl left, the multiplier gives it a crawl: this is the gain
// of the last crawl that the budget paid for.
//
// A page changes as a mixture of Poisson processes. A page that changes at a certain hour of the day (Learning.Hours)
// is quasi-deterministic, and is crawled after that hour.
//
// If the budget pays for less than one crawl per page and interval, the gain within an interval says little about the
// value of a crawl. So Plan allocates crawls over a horizon in which the budget pays for several per page
// (Means.Ahead), and schedules those that fall into the interval.
type Plan struct {
	Means
	learner learner
	law     Law                       // instead of beliefs; nil: beliefs
	limit   func(site string) float64 // crawls a second; nil: no site has a limit
	horizon float64                   // of the last plan
	given   float64                   // the horizon from SetBudget, or 0
	least   float64                   // gain of the last crawl that the budget paid for
	rations map[int32]*ration         // of sites with a limit, until the next plan
	replan  float64                   // when
	queue   Queue                     // pages by their next crawl
	later   [][]float64               // by ID, the crawls after the next
	now     float64
}

// Means says what a Plan may spend, and how far ahead it looks.
type Means struct {
	Budget   float64 // crawls a second, positive
	Interval float64 // seconds from one plan to the next, positive
	Ahead    float64 // mean crawls per page to allocate at a time; at least those of an interval
}

// A ration is the number of crawls that a site's limit leaves.
type ration struct {
	place   int     // index in the limits of the contest
	left    int     // crawls until the next plan
	premium float64 // how much more a crawl must save than elsewhere; more than 0 if the limit binds
}

// A Law returns the gain of crawls of a page over the ahead seconds after now. visited is the time of its last visit.
type Law func(id ID, visited, now, ahead float64) change.Curve

// NewPlan returns the policy, which learns how pages change. It does not use shared changes.
func NewPlan(m Means, o Learning) (*Plan, error) {
	if !(m.Budget > 0) || math.IsInf(m.Budget, 1) {
		return nil, fmt.Errorf("refresh: budget of %v crawls a second: want a positive number", m.Budget)
	}
	if !(m.Interval > 0) || math.IsInf(m.Interval, 1) {
		return nil, fmt.Errorf("refresh: interval of %v s: want a positive number", m.Interval)
	}
	if !(m.Ahead >= 0) || math.IsInf(m.Ahead, 1) {
		return nil, fmt.Errorf("refresh: %v crawls a page ahead: want 0 or more", m.Ahead)
	}
	o.Shared = false
	return &Plan{Means: m, learner: newLearner(o), replan: math.Inf(-1)}, nil
}

// NewKnownPlan returns the policy for pages with known laws.
func NewKnownPlan(m Means, law Law) (*Plan, error) {
	p, err := NewPlan(m, Learning{})
	if err != nil {
		return nil, err
	}
	p.law = law
	return p, nil
}

// Limit implements Limited.
func (p *Plan) Limit(of func(site string) float64) { p.limit = of }

// Add adds the page and gives it its first crawl.
func (p *Plan) Add(id ID, page Page) {
	p.learner.add(id, page)
	p.later = Grown(p.later, id)
	p.now = math.Max(p.now, page.Fresh)
	p.place(id)
}

// Remove forgets the page.
func (p *Plan) Remove(id ID) {
	p.learner.remove(id)
	p.queue.Drop(id)
	p.later[id] = nil
}

// Weigh gives the page a crawl by its new weight. Scheduled crawls stay until the next plan.
func (p *Plan) Weigh(id ID, weight float64) {
	p.learner.weigh(id, weight)
	if !p.learner.pages[id].marks.has(out) && len(p.later[id]) == 0 {
		p.place(id)
	}
}

// Visited learns from the visit and moves on to the page's next crawl.
func (p *Plan) Visited(id ID, v Visit) {
	p.now = math.Max(p.now, v.At)
	p.learner.visited(id, v)
	if later := p.later[id]; len(later) > 0 {
		p.queue.Set(id, later[0])
		p.later[id] = later[1:]
		return
	}
	p.place(id)
}

// Next returns the page whose crawl is due.
func (p *Plan) Next(now float64) (ID, float64, bool) {
	p.now = now
	if p.law == nil {
		p.learner.learn(now, nil, func(ID) {})
	}
	soon := now + 1e-3/p.Budget // a slot that begins now, except for rounding
	if p.learner.known == 0 {
		return 0, math.Inf(1), false
	}
	if soon >= p.replan || p.learner.doubled() {
		p.replan = now + p.Interval
		p.plan(now)
	}
	if p.queue.Len() == 0 {
		return 0, p.replan, false
	}
	id, due := p.queue.First()
	if due > soon {
		return 0, math.Min(due, p.replan), false
	}
	p.queue.Pop()
	p.learner.pages[id].marks.set(out, true)
	return id, due, true
}

// mostInstants is the longest horizon, in days, for which a page is planned by its hour. The time to find its best
// crawls grows with the square of the horizon.
const mostInstants = 64

// curve returns the gain of crawls of the page over the horizon.
func (p *Plan) curve(id ID, now float64) change.Curve {
	s := &p.learner.pages[id]
	if p.law != nil {
		return p.law(id, p.learner.tried(id), now, p.horizon)
	}
	belief := p.learner.posterior(id)
	if r, ok := p.learner.timetable(id).Rhythm(1 - belief.Unchanged(day)); ok && p.horizon <= mostInstants*r.Period {
		stale := 1 - belief.Unchanged(math.Max(0, p.learner.timetable(id).Own(s.seen, now)))
		if curve, err := r.Over(now, p.horizon, stale); err == nil {
			return curve
		}
	}
	return change.Page{Process: change.NewMixture(&belief), Interval: p.horizon, Age: math.Max(0, now-p.learner.tried(id))}
}

// place gives a page the first crawl whose gain reaches the multiplier, if that is before the next plan.
func (p *Plan) place(id ID) {
	ration := p.rations[p.siteOf(id)]
	if ration != nil && p.queue.Has(id) {
		ration.left++
	}
	p.queue.Drop(id)
	weight, bar := float64(p.learner.pages[id].weight), p.least
	if !(bar > 0 && weight > 0) || ration != nil && ration.left <= 0 {
		return
	}
	if ration != nil {
		bar += ration.premium
	}
	curve := p.curve(id, p.now)
	x := int(math.Min(curve.Crawls(bar/weight)+0.5, 1e6))
	if x == 0 {
		return
	}
	if first := p.now + curve.Times(nil, x)[0]; first < p.replan {
		p.queue.Set(id, first)
		if ration != nil {
			ration.left--
		}
	}
}

// plan allocates and schedules. A crawl of a page that is out counts from its return.
func (p *Plan) plan(now float64) {
	p.learner.planned = p.learner.known
	var ids []ID
	for i := range p.learner.pages {
		p.later[i] = nil
		p.queue.Drop(ID(i))
		if s := &p.learner.pages[i]; s.marks.has(there) && !s.marks.has(out) {
			ids = append(ids, ID(i))
		}
	}
	if len(ids) == 0 {
		return
	}
	if p.horizon = p.given; p.horizon == 0 {
		p.horizon = math.Max(p.Interval, p.Ahead*float64(len(ids))/p.Budget)
	}
	var c contest
	p.rations = map[int32]*ration{}
	for _, id := range ids {
		place := -1
		if r := p.ration(&c, p.siteOf(id)); r != nil {
			place = r.place
		}
		c.add(id, p.curve(id, now), float64(p.learner.pages[id].weight), place)
	}
	crawls, least, premium := c.allocate(int(math.Min(p.Budget*p.horizon, math.MaxInt32/2)))
	p.least = least
	for _, r := range p.rations {
		if r != nil {
			r.premium = premium[r.place]
		}
	}
	for _, one := range slotted(p.rationed(c.ideal(crawls)), p.slots()) {
		if !p.queue.Has(one.id) {
			p.queue.Set(one.id, now+one.at)
			continue
		}
		p.later[one.id] = append(p.later[one.id], now+one.at)
	}
}

// siteOf returns the number of a page's site.
func (p *Plan) siteOf(id ID) int32 { return p.learner.forest.folders[p.learner.pages[id].folder].site }

// ration returns the new ration of a site and adds its limit to c. It returns nil if the site has no limit, or one
// that the budget cannot reach.
func (p *Plan) ration(c *contest, site int32) *ration {
	r, known := p.rations[site]
	if known || p.limit == nil {
		return r
	}
	if rate := p.limit(p.learner.forest.sites[site].name); rate < p.Budget {
		r = &ration{place: len(c.limits), left: int(math.Max(1, rate*p.Interval))}
		c.limits = append(c.limits, int(math.Max(1, rate*p.horizon)))
	}
	p.rations[site] = r
	return r
}

// rationed returns the crawls that the rations of this interval allow, in order, and charges them. If several crawls
// have the same ideal time, as for pages not visited for long, those that save most get a site's ration.
func (p *Plan) rationed(ideal []crawl) (paid []crawl) {
	var asking []int
	for i, one := range ideal {
		if p.rations[p.siteOf(one.id)] != nil && one.at < p.Interval {
			asking = append(asking, i)
		}
	}
	slices.SortStableFunc(asking, func(i, j int) int {
		return cmp.Or(cmp.Compare(ideal[i].at, ideal[j].at), cmp.Compare(ideal[j].gain, ideal[i].gain))
	})
	refused := make([]bool, len(ideal))
	for _, i := range asking {
		r := p.rations[p.siteOf(ideal[i].id)]
		refused[i] = r.left <= 0
		r.left--
	}
	for i, one := range ideal {
		if !refused[i] {
			paid = append(paid, one)
		}
	}
	return paid
}

// slots returns the slots of an interval.
func (p *Plan) slots() []schedule.Slot {
	const rounding = 1e-6
	n := int(math.Max(1, math.Min(math.Ceil(p.Budget*p.Interval-rounding), schedule.MaxSlots)))
	slots := make([]schedule.Slot, n)
	for i := range slots {
		slots[i].Start = float64(i) / p.Budget
	}
	return slots
}
