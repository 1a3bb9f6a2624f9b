package refresh

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"freshet/change"
	"freshet/schedule"
)

// Plan is the chain of Wolf et al.: every interval it fits the pages' changes, allocates the budget's crawls
// to pages so that the most staleness is saved, and schedules them into slots; in between it follows the
// schedule. A page that enters, or has no crawl left, takes its place by the multiplier: the gain of the
// last crawl that the budget could pay for.
//
// A page of which only rates are believed changes as a mixture of Poisson processes; one that is believed to keep
// an hour of the day (Learning.Hours) is quasi-deterministic, and is crawled after that hour.
//
// Where the budget pays for less than a crawl a page in an interval, what a crawl gains within the interval
// says little about what it is worth. So crawls are allocated over a horizon in which the budget pays for
// some a page (Means.Ahead), and those that fall into the interval are scheduled.
type Plan struct {
	Means
	learner learner
	law     Law                       // in place of what is believed; nil: none
	limit   func(site string) float64 // crawls a second; nil: of no site
	horizon float64                   // of the last plan
	given   float64                   // the horizon of the next ones, if somebody shares out the budget; else 0
	least   float64                   // gain of the last crawl that was paid for
	rations map[int32]*ration         // of the sites that have a limit, until the next plan
	replan  float64                   // when
	queue   Queue                     // pages by their next crawl
	later   [][]float64               // by ID, the crawls after that
	now     float64
}

// Means are what a Plan may spend, and how far ahead it looks.
type Means struct {
	Budget   float64 // crawls a second, positive
	Interval float64 // seconds from one plan to the next, positive
	Ahead    float64 // crawls a page, on average, that are allocated at a time; those of an interval at least
}

// A ration is what a site's limit leaves its pages.
type ration struct {
	place   int     // among the limits of the contest
	left    int     // crawls until the next plan
	premium float64 // how much more a crawl must save than elsewhere; more than 0 if the limit binds
}

// A Law returns what crawls of a page save over the seconds ahead of now, if it was visited last at some time.
type Law func(id ID, visited, now, ahead float64) change.Curve

// NewPlan returns the policy, which learns how pages change. Of changes that pages share it knows nothing.
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

// NewKnownPlan returns the policy of pages whose laws are known.
func NewKnownPlan(m Means, law Law) (*Plan, error) {
	p, err := NewPlan(m, Learning{})
	if err != nil {
		return nil, err
	}
	p.law = law
	return p, nil
}

// Limit tells whom to ask for the most crawls a second that a site allows.
func (p *Plan) Limit(of func(site string) float64) { p.limit = of }

// Add takes the page in and gives it its first crawl.
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

// Weigh gives the page a crawl by its new weight. What is scheduled stays until the next plan.
func (p *Plan) Weigh(id ID, weight float64) {
	p.learner.weigh(id, weight)
	if !p.learner.pages[id].marks.has(out) && len(p.later[id]) == 0 {
		p.place(id)
	}
}

// Visited learns from the visit and turns to the page's next crawl.
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
	if soon >= p.replan {
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

// mostInstants bounds the horizon, in days, over which a page that keeps an hour is planned by it: its best crawls take
// time of the order of the square.
const mostInstants = 64

// curve returns what crawls of the page save over the horizon.
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

// place gives a page the first crawl that the multiplier pays for, if that is before the next plan.
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

// ration returns the new ration of a site and enters its limit in c. It returns nil if the site has no limit that the
// budget could reach.
func (p *Plan) ration(c *contest, site int32) *ration {
	r, known := p.rations[site]
	if known || p.limit == nil {
		return r
	}
	if rate := p.limit(p.learner.forest.sites[site].name()); rate < p.Budget {
		r = &ration{place: len(c.limits), left: int(math.Max(1, rate*p.Interval))}
		c.limits = append(c.limits, int(math.Max(1, rate*p.horizon)))
	}
	p.rations[site] = r
	return r
}

// rationed returns the crawls that the rations of this interval pay for, in order, and takes them off. Of those that
// are best at the same time, as many are of pages not visited for long, a site's ration is for those that save most.
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

// slots returns those of an interval.
func (p *Plan) slots() []schedule.Slot {
	const rounding = 1e-6
	n := int(math.Max(1, math.Min(math.Ceil(p.Budget*p.Interval-rounding), schedule.MaxSlots)))
	slots := make([]schedule.Slot, n)
	for i := range slots {
		slots[i].Start = float64(i) / p.Budget
	}
	return slots
}
