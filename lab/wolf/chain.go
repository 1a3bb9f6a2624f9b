package wolf

import (
	"context"
	"math"

	"freshet/change"
	"freshet/refresh"
)

// A chain runs the live plan over many intervals, on pages with known laws. It scores the plan by these laws.
type chain struct {
	problem
	plan    *refresh.Plan
	budget  float64   // crawls an interval
	crawled []float64 // by page, the time of the last crawl, in intervals
	score   chainScore
}

// A chainScore sums the expected time, from one time on, in which copies are fresh, by weight.
type chainScore struct{ from, fresh, weights float64 }

// newChain returns a chain that allocates crawls ahead intervals in advance and scores from a time on. At the start
// the ages of the copies are spread evenly over up to twice the mean time between crawls.
func newChain(p problem, budget, ahead, from float64) (*chain, error) {
	c := &chain{problem: p, budget: budget, crawled: make([]float64, p.Len())}
	perPage := budget / float64(p.Len())
	means := refresh.Means{Budget: budget, Interval: 1, Ahead: ahead * perPage} // an interval is the unit of time
	var err error
	if c.plan, err = refresh.NewKnownPlan(means, c.law); err != nil {
		return nil, err
	}
	c.score.from = from
	for i := range c.crawled {
		_, phase := math.Modf(float64(i+1) * (math.Sqrt(5) - 1) / 2)
		c.crawled[i] = -2 * phase / perPage
		c.score.weights += p.weight(i)
		c.plan.Add(refresh.ID(i), refresh.Page{Weight: p.weight(i), Fresh: c.crawled[i]})
	}
	return c, nil
}

// law implements refresh.Law.
func (c *chain) law(id refresh.ID, crawled, now, ahead float64) change.Curve {
	i := int(id)
	if c.recipe[i%10] != quasi {
		return change.Page{Process: c.own(i), Interval: ahead, Age: math.Max(0, now-crawled)}
	}
	r := c.rhythm(i)
	curve, err := r.Over(now, ahead, 1-math.Pow(1-r.Probability, r.Count(crawled, now)))
	if err != nil {
		panic(err) // the intervals ahead are checked with the parameters
	}
	return curve
}

// run crawls for some intervals, and returns the mean freshness.
func (c *chain) run(ctx context.Context, intervals int) (float64, error) {
	end := float64(intervals)
	for k := 0.0; k/c.budget < end; k++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		now := k / c.budget
		if id, _, ok := c.plan.Next(now); ok {
			c.visit(int(id), now)
			c.plan.Visited(id, refresh.Visit{At: now})
		}
	}
	for i := range c.crawled {
		c.visit(i, end)
	}
	return c.score.fresh / (end - c.score.from) / c.score.weights, nil
}

// visit scores the copy of page i up to at, then crawls the page.
func (c *chain) visit(i int, at float64) {
	if from := math.Max(c.crawled[i], c.score.from); at > from {
		c.score.fresh += c.weight(i) * c.fresh(i, from, at)
	}
	c.crawled[i] = at
}

// fresh returns the expected time in which the copy of page i is fresh.
func (c *chain) fresh(i int, from, to float64) float64 {
	if c.recipe[i%10] == quasi {
		return fresh(c.rhythm(i), c.crawled[i], from, to)
	}
	upTo := func(length float64) float64 {
		_, fresh := c.process(i).Staleness(length)
		return length * fresh
	}
	return upTo(to-c.crawled[i]) - upTo(from-c.crawled[i])
}
