package discovery

import (
	"cmp"
	"slices"

	"freshet/frontier"
	"freshet/importance"
	"freshet/weburl"
)

// ranking is what a frontier.Ranked ordering needs: the pages by the order in which they became known,
// and their ranks. A nil ranking is of an ordering that needs none.
type ranking struct {
	ordering frontier.Ranked
	size     int
	pages    []uint32 // known ones
	links    []bool   // by place in pages: the page's links are known
	ranks    []float64
	since    int // requests since the ranks were computed, -1 before the first time
}

// known notes a page that became known.
func (r *ranking) known(n uint32) {
	if r != nil {
		r.pages, r.links = append(r.pages, n), append(r.links, false)
	}
}

// read notes that a page's links became known.
func (r *ranking) read(p *page) {
	if r != nil {
		r.links[p.arrival-1] = true
	}
}

// fetched notes that a request for a page has ended.
func (r *ranking) fetched() {
	if r != nil {
		r.since++
	}
}

// due says whether the ranks are to be computed whatever else is going on.
func (r *ranking) due() bool { return r != nil && (r.since < 0 || r.since >= r.size) }

// behind says whether a page was fetched since they were.
func (r *ranking) behind() bool { return r != nil && r.since > 0 }

// rankIterations are enough of them, as the ranks start from the last ones.
const rankIterations = 12

// rank ranks the known pages and gives those that wait their places.
func (c *crawl) rank(now float64) error {
	r := c.ranking
	r.since = 0
	known, err := c.knownGraph()
	if err != nil {
		return err
	}
	start := r.ranks
	if len(start) == 0 {
		start = nil
	}
	ranks, err := importance.NewRanker(known).Rank(importance.RankOptions{Start: start, Iterations: rankIterations, Tolerance: 1e-7})
	if err != nil {
		return err
	}
	r.ranks = ranks.Of
	var waiting []uint32 // places in r.pages
	for i, page := range r.pages {
		if p := &c.pages[page]; p.fetched {
			p.cash = worth(r.ranks[i])
		} else {
			waiting = append(waiting, uint32(i))
		}
	}
	slices.SortStableFunc(waiting, func(a, b uint32) int { return cmp.Compare(r.ranks[b], r.ranks[a]) })
	for place, i := range waiting {
		page := r.pages[i]
		p := &c.pages[page]
		old := p.entry(page)
		p.cash, p.ranked = worth(r.ranks[i]), true
		p.order = r.ordering.RankOrder(p.cash.Told(), place, r.size)
		c.move(now, page, old)
	}
	return nil
}

// worth returns what a page of that rank has to hand on.
func worth(rank float64) (purse weburl.Purse) {
	purse.Add(rank)
	return purse
}

// knownGraph returns the known pages, numbered as they became known, with the links of those fetched.
func (c *crawl) knownGraph() (*importance.Graph, error) {
	var b importance.Builder
	for i, page := range c.ranking.pages {
		c.links = c.links[:0]
		if c.ranking.links[i] {
			c.links = c.web.AppendLinks(c.links, page)
			for j, to := range c.links {
				c.links[j] = c.pages[to].arrival - 1
			}
		}
		if err := b.Add(c.links); err != nil {
			return nil, err
		}
	}
	return b.Graph()
}
