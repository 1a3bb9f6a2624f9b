package refresh

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"freshet/allocate"
	"freshet/change"
	"freshet/schedule"
)

// Plan is the chain of Wolf et al.: every interval it fits the pages' changes, allocates the budget's crawls
// to pages so that the most staleness is saved, and schedules them into slots; in between it follows the
// schedule. A page that enters, or has no crawl left, takes its place by the multiplier: the gain of the
// last crawl that the budget could pay for.
//
// Where the budget pays for less than a crawl a page in an interval, what a crawl gains within the interval
// says little about what it is worth. So crawls are allocated over a horizon in which the budget pays for
// two a page, and those that fall into the interval are scheduled.
type Plan struct {
	learner  learner
	budget   float64
	interval float64
	horizon  float64 // of the last plan
	least    float64 // gain of the last crawl that was paid for
	replan   float64
	queue    Queue       // pages by their next crawl
	later    [][]float64 // by ID, the crawls after that
	now      float64
}

// NewPlan returns the policy for a budget in crawls a second and an interval in seconds, both positive.
func NewPlan(budget, interval float64, o Learning) (*Plan, error) {
	if !(budget > 0) || math.IsInf(budget, 1) {
		return nil, fmt.Errorf("refresh: budget of %v crawls a second: want a positive number", budget)
	}
	if !(interval > 0) || math.IsInf(interval, 1) {
		return nil, fmt.Errorf("refresh: interval of %v s: want a positive number", interval)
	}
	o.Shared = false
	return &Plan{learner: newLearner(o), budget: budget, interval: interval, replan: math.Inf(-1)}, nil
}

// Add takes the page in and gives it its first crawl.
func (p *Plan) Add(id ID, page Page) {
	p.learner.add(id, page)
	p.later = grown(p.later, id)
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
	s := p.learner.must(id)
	s.weight = weight
	if !s.out && len(p.later[id]) == 0 {
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

// Next returns the page whose crawl is due, a slot's length early at most.
func (p *Plan) Next(now float64) (ID, float64, bool) {
	p.now = now
	p.learner.learn(now, nil, func(ID) {})
	if now >= p.replan {
		p.replan = now + p.interval
		p.plan(now)
	}
	if p.queue.Len() == 0 {
		return 0, p.replan, false
	}
	id, due := p.queue.First()
	if due > now+1/p.budget {
		return 0, math.Min(due, p.replan), false
	}
	p.queue.Pop()
	p.learner.pages[id].out = true
	return id, due, true
}

// curve returns what crawls of the page save over the horizon.
func (p *Plan) curve(id ID, now float64) change.Page {
	s := &p.learner.pages[id]
	belief := s.evidence.Posterior(&p.learner.forest.group(s.folder).prior)
	return change.Page{Process: change.NewMixture(&belief), Interval: p.horizon, Age: math.Max(0, now-s.tried)}
}

// place gives a page the first crawl that the multiplier pays for, if that is before the next plan.
func (p *Plan) place(id ID) {
	p.queue.Drop(id)
	if !(p.least > 0) {
		return
	}
	weight := p.learner.pages[id].weight
	if !(weight > 0) {
		return
	}
	curve := p.curve(id, p.now)
	x := int(math.Min(curve.Crawls(p.least/weight)+0.5, 1e6))
	if x == 0 {
		return
	}
	if first := p.now + curve.Times(nil, x)[0]; first < p.replan {
		p.queue.Set(id, first)
	}
}

// plan allocates and schedules. A crawl of a page that is out counts from its return.
func (p *Plan) plan(now float64) {
	c := new(contest)
	for i := range p.learner.pages {
		p.later[i] = nil
		p.queue.Drop(ID(i))
		if s := &p.learner.pages[i]; s.known && !s.out {
			c.ids = append(c.ids, ID(i))
		}
	}
	if len(c.ids) == 0 {
		return
	}
	p.horizon = math.Max(p.interval, 2*float64(len(c.ids))/p.budget)
	for _, id := range c.ids {
		c.curves = append(c.curves, p.curve(id, now))
		c.weights = append(c.weights, p.learner.pages[id].weight)
	}
	crawls, err := allocate.Multiplier(c, int(math.Min(p.budget*p.horizon, math.MaxInt32/2)))
	if err != nil {
		panic(err) // no minimum and no maximum: any budget is feasible
	}
	p.least = leastGain(c, crawls)
	p.schedule(c, crawls, now)
}

// leastGain returns the least gain that an allocation takes; 0 if it takes none.
func leastGain(c *contest, crawls []int32) float64 {
	least := math.Inf(1)
	for i, x := range crawls {
		if x > 0 {
			least = math.Min(least, c.Gain(i, int(x)-1))
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// schedule gives the earliest crawls the slots of the interval.
func (p *Plan) schedule(c *contest, crawls []int32, now float64) {
	wanted := c.wanted(crawls)
	wanted = wanted[:min(len(wanted), max(1, int(p.budget*p.interval)))]
	tasks := make([]schedule.Task, len(wanted))
	slots := make([]schedule.Slot, len(wanted))
	for i, w := range wanted {
		tasks[i].Ideal = w.at
		slots[i].Start = (float64(i) + 0.5) / p.budget
	}
	for i, slot := range schedule.Solve(tasks, slots).Slot {
		if slot < 0 {
			continue
		}
		id, at := wanted[i].id, now+slots[slot].Start
		if !p.queue.Has(id) {
			p.queue.Set(id, at)
			continue
		}
		p.later[id] = append(p.later[id], at)
	}
}

// An ideal is the best time of a page's crawl, in seconds from the plan.
type ideal struct {
	at float64
	id ID
}

// A contest is the pages that compete for crawls, as package allocate sees them.
type contest struct {
	ids     []ID
	curves  []change.Page
	weights []float64
}

// Len returns the number of pages.
func (c *contest) Len() int { return len(c.ids) }

// Bounds allows any number of crawls.
func (c *contest) Bounds(int) (least, most int) { return 0, math.MaxInt32 }

// Gain returns what crawl x+1 of page i saves, by its weight.
func (c *contest) Gain(i, x int) float64 { return c.weights[i] * c.curves[i].Gain(x) }

// Crawls inverts Gain.
func (c *contest) Crawls(i int, gain float64) float64 {
	if !(c.weights[i] > 0) {
		return 0
	}
	return c.curves[i].Crawls(gain / c.weights[i])
}

// wanted returns the best times of the pages' crawls, rising.
func (c *contest) wanted(crawls []int32) []ideal {
	var wanted []ideal
	var times []float64
	for i, x := range crawls {
		times = c.curves[i].Times(times[:0], int(x))
		for _, at := range times {
			wanted = append(wanted, ideal{at, c.ids[i]})
		}
	}
	slices.SortStableFunc(wanted, func(a, b ideal) int { return cmp.Compare(a.at, b.at) })
	return wanted
}
