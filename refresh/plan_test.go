package refresh_test

import (
	"math"
	"testing"

	"freshet/change"
	"freshet/refresh"
)

// crowd has a site without a limit and a slow site, whose pages have very different weights. It acts as a polite
// crawler: a pick of the slow site waits until the site may be asked. Until then the page is out.
type crowd struct {
	plan    *refresh.Plan
	budget  float64 // crawls a day
	allowed float64 // of the slow site
	crawled []float64
	fresh   float64 // seconds by weight, from the tenth day on
	weights float64
	visits  [2]int
}

const crowdPages, crowdDays, crowdScored = 100, 30, 10

func (c *crowd) rate(id refresh.ID) change.Poisson { return 1 / day }

func (c *crowd) weight(id refresh.ID) float64 {
	if id < crowdPages {
		return 20 / float64(1+id)
	}
	return 1
}

func (c *crowd) law(id refresh.ID, visited, now, ahead float64) change.Curve {
	return change.Page{Process: c.rate(id), Interval: ahead, Age: now - visited}
}

func (c *crowd) visit(id refresh.ID, now float64) {
	from := math.Max(c.crawled[id], crowdScored*day)
	upTo := func(length float64) float64 {
		_, fresh := c.rate(id).Staleness(length)
		return length * fresh
	}
	if now > from {
		c.fresh += c.weight(id) * (upTo(now-c.crawled[id]) - upTo(from-c.crawled[id]))
		c.visits[int(id)/crowdPages]++
	}
	c.crawled[id] = now
}

// run returns the mean freshness of the two sites' pages.
func (c *crowd) run(t *testing.T, told bool) float64 {
	t.Helper()
	var err error
	c.plan, err = refresh.NewKnownPlan(refresh.Means{Budget: c.budget / day, Interval: day, Ahead: 2}, c.law)
	if err != nil {
		t.Fatal(err)
	}
	if told {
		c.plan.Limit(func(site string) float64 {
			if site == "slow" {
				return c.allowed / day
			}
			return math.Inf(1)
		})
	}
	c.crawled = make([]float64, 2*crowdPages)
	for id := range c.crawled {
		page := refresh.Page{Site: "slow", Weight: c.weight(refresh.ID(id))}
		c.weights += page.Weight
		if id >= crowdPages {
			page.Site = "quick"
		}
		c.plan.Add(refresh.ID(id), page)
	}
	var waiting []refresh.ID
	opens := 0.0
	for k := 0.0; k < crowdDays*c.budget; k++ {
		now := k * day / c.budget
		id, _, ok := c.plan.Next(now)
		if ok && id < crowdPages {
			waiting, ok = append(waiting, id), false
		}
		if now >= opens && len(waiting) > 0 { // outside the budget: this favours a plan that picks too many
			c.visit(waiting[0], now)
			c.plan.Visited(waiting[0], refresh.Visit{At: now})
			waiting, opens = waiting[1:], now+day/c.allowed
		}
		if ok {
			c.visit(id, now)
			c.plan.Visited(id, refresh.Visit{At: now})
		}
	}
	for id := range c.crawled {
		c.visit(refresh.ID(id), crowdDays*day)
	}
	return c.fresh / (crowdDays - crowdScored) / day / c.weights
}

// TestPlanLimit tells a plan how often a site may be asked. The plan spends the rest of its budget elsewhere, so pages
// are stale for at least a tenth less of the time.
func TestPlanLimit(t *testing.T) {
	told, untold := crowd{budget: 250, allowed: 40}, crowd{budget: 250, allowed: 40}
	with, without := told.run(t, true), untold.run(t, false)
	t.Logf("fresh %.4f of the time with the limit, %.4f without; crawls %v, %v", with, without, told.visits, untold.visits)
	if 1-with > 0.9*(1-without) {
		t.Errorf("stale %.4f of the time with the limit, %.4f without", 1-with, 1-without)
	}
}

// TestPlanOfANewCrawl asks a plan for pages before it knows one, as a new crawl does, and then adds pages for two
// hours. The plan spends the budget from the first page on, and visits each page within the first interval.
func TestPlanOfANewCrawl(t *testing.T) {
	const pages, slot = 100, day / 400
	plan, err := refresh.NewPlan(refresh.Means{Budget: 1 / slot, Interval: day, Ahead: 2}, refresh.Learning{})
	if err != nil {
		t.Fatal(err)
	}
	if _, wake, ok := plan.Next(0); ok || !math.IsInf(wake, 1) {
		t.Errorf("without pages, a page (%v), or ask again at %v", ok, wake)
	}
	added, visits, seen := 0, 0, map[refresh.ID]bool{}
	for now := slot; now < day; now += slot {
		for ; added < pages && float64(added)*(day/12)/pages < now; added++ {
			plan.Add(refresh.ID(added), refresh.Page{Site: "https://a.example", Weight: 1, Fresh: now})
		}
		if id, _, ok := plan.Next(now); ok {
			plan.Visited(id, refresh.Visit{At: now, Outcome: refresh.Unchanged})
			seen[id] = true
			visits++
		}
	}
	if len(seen) < pages || visits < 300 {
		t.Errorf("%d visits to %d of %d pages in the first interval: want 300 to all", visits, len(seen), pages)
	}
}
