package discovery

import (
	"freshet/frontier"
	"freshet/importance"
	"freshet/weburl"
)

// ranking is what a frontier.Ranked ordering needs: the pages in the order in which they became known, and their
// ranks. It is nil for other orderings.
type ranking struct {
	ordering frontier.Ranked
	pages    []uint32 // known ones
	links    []bool   // by place in pages: the page's links are known
	ranks    []float64
	round    frontier.Round
}

// known notes a page that became known.
func (r *ranking) known(n uint32) {
	if r != nil {
		r.pages, r.links = append(r.pages, n), append(r.links, false)
		r.round.Came()
	}
}

// read notes that a page's links became known.
func (r *ranking) read(p *page) {
	if r != nil {
		r.links[p.arrival-1] = true
	}
}

// fetched notes that a request for a new page has ended.
func (r *ranking) fetched(kind frontier.Kind) {
	if r != nil && kind == frontier.KindNew {
		r.round.Left()
	}
}

// due reports whether the ranks must be computed, once no links wait.
func (r *ranking) due() bool { return r != nil && r.round.Due() }

// rank ranks the known pages and gives waiting ones their places.
func (c *crawl) rank(now float64) error {
	r := c.ranking
	known, err := c.knownGraph()
	if err != nil {
		return err
	}
	if r.ranks, err = importance.Rerank(known, r.ranks, 0); err != nil {
		return err
	}
	var waiting []frontier.Waiting
	for i, n := range r.pages {
		p := &c.pages[n]
		if p.ranked = true; p.fetched {
			p.cash = worth(p.cash.Told())
			continue
		}
		waiting = append(waiting, frontier.Waiting{Page: n, Site: c.web.SiteOf(n), Arrival: uint64(p.arrival), Order: p.order, Rank: r.ranks[i]})
	}
	size := r.ordering.Size(c.web.Pages(), len(waiting))
	r.round = frontier.Round{}
	r.round.Ranked(size)
	for _, w := range frontier.Places(r.ordering, waiting, size) {
		p := &c.pages[w.Page]
		old := p.entry(w.Page)
		p.cash, p.order = worth(w.Rank), w.Order
		c.move(now, w.Page, old)
	}
	return nil
}

// worth returns what a page of that rank passes on.
func worth(rank float64) (purse weburl.Purse) {
	purse.Add(rank)
	return purse
}

// knownGraph returns the known pages, numbered in the order in which they became known, with the links of fetched
// ones.
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
