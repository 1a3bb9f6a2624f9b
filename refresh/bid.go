package refresh

import (
	"math"

	"freshet/allocate"
)

// A Bid returns the visits that pages demand if each visit must be worth at least a threshold, by the present
// beliefs. It may be called many times, by any goroutine, also while the policy runs.
type Bid func(threshold float64) allocate.Demand

// Nothing is the Bid of no pages.
func Nothing(float64) allocate.Demand { return allocate.Demand{Next: -1} }

// BidOf returns the Bid of pages over a horizon, in seconds. Each is visited whenever a visit is worth the threshold.
// share is the part of all pages that these pages are. A call of the Bid is O(pages).
func BidOf(pages []Outlook, share, horizon float64) Bid {
	highest := 0.0
	for i := range pages {
		highest = math.Max(highest, pages[i].value[paces-1])
	}
	if !(highest > 0 && share > 0) {
		return Nothing
	}
	return func(threshold float64) allocate.Demand {
		visits, _ := spend(pages, math.Max(threshold, math.SmallestNonzeroFloat64))
		return allocate.Demand{Above: int64(math.Min(visits*horizon/share, math.MaxInt32)), Next: math.Min(threshold, highest)}
	}
}

// Bid returns the Bid of the plan's pages over a horizon, in seconds: the visits that the plan would give them. If
// there are more than most pages, it takes a sample and assumes that the others are like it.
func (p *Plan) Bid(now, horizon float64, most int) Bid {
	step := int64(1 + len(p.learner.pages)/max(1, most))
	planned := p.horizon
	p.horizon = horizon
	defer func() { p.horizon = planned }()
	var c contest
	limits := map[int32]int{}
	for i := 0; i < len(p.learner.pages); i += int(step) {
		s := &p.learner.pages[i]
		if !s.marks.has(there) || s.marks.has(out) {
			continue
		}
		c.add(ID(i), p.curve(ID(i), now), float64(s.weight), p.limitIn(&c, limits, ID(i), float64(step)))
	}
	var problem allocate.Problem = &c
	if len(c.limits) > 0 {
		capped, err := allocate.UnderCaps(&c, c.sites, c.limits, allocate.Multiplier)
		if err != nil {
			panic(err) // no minimum: any limit is feasible
		}
		problem = capped
	}
	return func(threshold float64) allocate.Demand {
		d := allocate.DemandOf(problem, threshold)
		if d.Next == 0 { // a crawl that saves nothing is not demanded
			d.Next, d.Ties = -1, 0
		}
		d.Above, d.Ties = d.Above*step, d.Ties*step
		return d
	}
}

// limitIn returns the index of the limit of a page's site in c.limits, or -1 if the site has none. c holds one page
// in step.
func (p *Plan) limitIn(c *contest, known map[int32]int, id ID, step float64) int {
	if p.limit == nil {
		return -1
	}
	site := p.siteOf(id)
	place, met := known[site]
	if met {
		return place
	}
	place = -1
	if rate := p.limit(p.learner.forest.sites[site].name); rate < p.Budget {
		place = len(c.limits)
		c.limits = append(c.limits, int(math.Max(1, rate*p.horizon/step)))
	}
	known[site] = place
	return place
}

// SetBudget sets the budget, in crawls a second, from the next plan on, and the horizon over which the plan allocates
// it. If the budget differs much from the last one, the next plan is made at once.
func (p *Plan) SetBudget(perSecond, horizon float64) {
	if math.Abs(perSecond-p.Budget) > p.Budget/4 {
		p.replan = math.Inf(-1)
	}
	p.Budget, p.given = perSecond, horizon
}

// SetBudget sets the budget, in crawls a second, from the next plan on.
func (p *Paced) SetBudget(perSecond, _ float64) {
	if math.Abs(perSecond-p.budget) > p.budget/4 {
		p.replan = math.Inf(-1)
	}
	p.budget = perSecond
}

// A Budgeted policy plans with a budget that can change.
type Budgeted interface {
	Policy
	SetBudget(perSecond, horizon float64)
}
