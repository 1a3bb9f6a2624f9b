package allocate

import "fmt"

// A Cap is how a site's limit binds, and what it costs.
type Cap struct {
	Site   int
	Limit  int
	Spent  int     // crawls of the site's pages
	Price  float64 // gain of the objective if the limit were one crawl higher; 0 if the limit does not bind
	Wanted int     // crawls that the site would get at the least gain taken elsewhere, if nothing limited it
}

// A Solver is one of this package's algorithms.
type Solver func(p Problem, budget int) ([]int32, error)

// Capped returns the optimal allocation under limits on the crawls of each site. site[i] is the site of page i, or -1
// for none, limits[s] the limit of site s. It is exact: the best allocation takes a site's gains in their own order,
// so no page gets more than it would if its site spent its whole limit on its pages alone. Each site is solved by
// itself, then all pages with these maximums. The caps are those of the sites whose limit binds, by site. O(n) apart
// from solve.
//
// The error is an *InfeasibleError, with the site if its pages' minimums exceed its limit.
func Capped(p Problem, site []int, limits []int, budget int, solve Solver) (crawls []int32, costs []Cap, err error) {
	c, members, err := underCaps(p, site, limits, solve)
	if err != nil {
		return nil, nil, err
	}
	if crawls, err = solve(c, budget); err != nil {
		return nil, nil, err
	}
	last := Certify(c, crawls).Last
	for s, pages := range members {
		if cost := price(p, pages, crawls, limits[s], last); cost.Price > 0 {
			cost.Site = s
			costs = append(costs, cost)
		}
	}
	return crawls, costs, nil
}

// UnderCaps returns a problem with the maximums that the limits of sites leave to its pages, whatever the budget. The
// error is Capped's.
func UnderCaps(p Problem, site []int, limits []int, solve Solver) (Problem, error) {
	c, _, err := underCaps(p, site, limits, solve)
	return c, err
}

// underCaps is UnderCaps, and also returns the pages of each site.
func underCaps(p Problem, site []int, limits []int, solve Solver) (c *capped, members [][]int32, err error) {
	if len(site) != p.Len() {
		panic(fmt.Sprintf("allocate: sites of %d pages for %d pages", len(site), p.Len()))
	}
	c = &capped{Problem: p, most: make([]int32, p.Len())}
	members = make([][]int32, len(limits))
	for i, s := range site {
		_, most := p.Bounds(i)
		c.most[i] = int32(most)
		if s >= 0 {
			members[s] = append(members[s], int32(i))
		}
	}
	for s, pages := range members {
		if err := c.limit(s, pages, limits[s], solve); err != nil {
			return nil, nil, err
		}
	}
	return c, members, nil
}

// capped is a Problem with lower maximums.
type capped struct {
	Problem
	most []int32
}

// Bounds returns the least crawls as they were and the most that the site's limit leaves.
func (c *capped) Bounds(i int) (least, most int) {
	least, _ = c.Problem.Bounds(i)
	return least, int(c.most[i])
}

// limit lowers the maximums of a site's pages to what they get when the site is alone.
func (c *capped) limit(s int, pages []int32, limit int, solve Solver) error {
	var least, most int64
	for _, i := range pages {
		low, high := c.Problem.Bounds(int(i))
		least += int64(low)
		most += int64(high)
	}
	if least > int64(limit) {
		return &InfeasibleError{Site: s, Need: least, Allowed: int64(limit), Minimum: true}
	}
	if most <= int64(limit) {
		return nil
	}
	alone, err := solve(&subset{c.Problem, pages}, limit)
	if err != nil {
		return err
	}
	for k, i := range pages {
		c.most[i] = alone[k]
	}
	return nil
}

// subset is the Problem of some of the pages.
type subset struct {
	problem Problem
	pages   []int32
}

func (s *subset) Len() int                { return len(s.pages) }
func (s *subset) Bounds(i int) (int, int) { return s.problem.Bounds(int(s.pages[i])) }
func (s *subset) Gain(i, x int) float64   { return s.problem.Gain(int(s.pages[i]), x) }
func (s *subset) Crawls(i int, g float64) float64 {
	return s.problem.Crawls(int(s.pages[i]), g)
}

// price returns the cost of a site's limit. One more crawl of the site would replace the one with the least gain
// taken anywhere, mu.
func price(p Problem, pages []int32, crawls []int32, limit int, mu float64) Cap {
	cost := Cap{Limit: limit}
	for _, i := range pages {
		x := int(crawls[i])
		cost.Spent += x
		cost.Wanted += x
		_, most := p.Bounds(int(i))
		if x >= most {
			continue
		}
		cost.Price = max(cost.Price, p.Gain(int(i), x)-mu)
		wanted, _, _ := count(p, int(i), mu, float64(x))
		cost.Wanted += max(0, wanted-x)
	}
	if cost.Spent < limit {
		cost.Price = 0
	}
	return cost
}
