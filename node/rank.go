package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"freshet/crawl"
	"freshet/frontier"
	"freshet/importance"
	"freshet/store"
	"freshet/weburl"
)

// Goroutines rank pages over the stored links while the crawl goes on: the pages that are kept fresh, to be weighed,
// and all known pages, to be sorted. The shard requests one ranking of each kind at a time.

const (
	rankedLinks   = 1 << 25 // maximum links in a ranking: about 9 bytes each at its peak
	rankTolerance = 1e-6    // of ranks that sum to 1
)

// weigh computes the ranks of pages, starting from the last ranks. It stops if work under way is canceled. O(pages
// + links), with two reads of the store per page and about 60 bytes per page.
func (l *loop) weigh(pages []crawl.PageKey) {
	var ranks []float64
	err := l.inBackground(l.fetching, "ranking", func() error {
		graph, err := l.graphOf(l.fetching, pages)
		if err != nil {
			return err
		}
		o := importance.RankOptions{Start: l.weights, Tolerance: rankTolerance, Workers: 1}
		found, err := importance.NewRanker(graph).Rank(o)
		ranks = found.Of
		return err
	})
	if err != nil {
		ranks = nil
	} else {
		l.weights = ranks
	}
	l.mail.put(letter{event: crawl.Weighed{Ranks: ranks}})
}

// graphOf returns the links between pages, which are numbered by their index. If there would be too many, only the
// first links of each page count. A page that forbids following its links has none.
func (n *Node) graphOf(ctx context.Context, pages []crawl.PageKey) (*importance.Graph, error) {
	number := numbered(pages)
	return n.graph(ctx, len(pages), func(i int) ([]store.OutLink, error) { return n.followed(pages[i]) }, number)
}

// linked returns the links of a page that may be followed.
type linked func(page int) ([]store.OutLink, error)

// numbers returns the number of a page, if it has one.
type numbers func(crawl.PageKey) (number uint32, known bool)

// graph returns the links between pages numbered 0 to pages-1.
func (n *Node) graph(ctx context.Context, pages int, of linked, number numbers) (*importance.Graph, error) {
	var b importance.Builder
	most := max(1, rankedLinks/max(1, pages))
	var targets []uint32
	for i := range pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		links, err := of(i)
		if err != nil {
			return nil, err
		}
		targets = targets[:0]
		for _, link := range links[:min(most, len(links))] {
			key := crawl.PageKey{Partition: n.store.Home(link.URL.Site()), Fingerprint: link.URL.Fingerprint()}
			if target, ok := number(key); ok {
				targets = append(targets, target)
			}
		}
		if err := b.Add(targets); err != nil {
			return nil, err
		}
	}
	return b.Graph()
}

// followed returns the links of a stored page that may be followed, or none if the page is gone.
func (n *Node) followed(page crawl.PageKey) ([]store.OutLink, error) {
	row, err := n.store.Page(page.Partition, page.Fingerprint)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.NoFollow || row.Versions == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return n.store.OutLinks(page.Partition, page.Fingerprint)
}

// numbered returns a function that finds the index of a page in a list. It takes O(log pages) per call and 4 bytes per
// page.
func numbered(pages []crawl.PageKey) numbers {
	order := make([]uint32, len(pages))
	for i := range order {
		order[i] = uint32(i)
	}
	compare := func(a, b crawl.PageKey) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Fingerprint, b.Fingerprint))
	}
	slices.SortFunc(order, func(a, b uint32) int { return compare(pages[a], pages[b]) })
	return func(page crawl.PageKey) (uint32, bool) {
		i, found := slices.BinarySearchFunc(order, page, func(place uint32, page crawl.PageKey) int {
			return compare(pages[place], page)
		})
		if !found {
			return 0, false
		}
		return order[i], true
	}
}

// ranked holds the pages of the last ranking for the ordering, and their ranks.
type ranked struct {
	known *crawl.Census
	ranks []float64
}

// sort ranks the known pages and finds the places of those that wait. It stops if work under way is canceled.
// O(pages + links), with two reads of the store per page. If there would be too many links, only the first of each page
// count. Memory peaks at about 9 bytes per link and 120 per page; 16 per page stay.
func (l *loop) sort() {
	var places *crawl.Places
	err := l.inBackground(l.fetching, "ordering", func() (err error) {
		places, err = l.findPlaces(l.fetching)
		return err
	})
	if err != nil {
		places = nil
	}
	l.mail.put(letter{event: crawl.Sorted{Places: places}})
}

// findPlaces returns the places of the known pages.
func (l *loop) findPlaces(ctx context.Context) (*crawl.Places, error) {
	ordering := l.opt.ordering.(frontier.Ranked)
	known, err := l.survey(ctx, ordering)
	if err != nil {
		return nil, err
	}
	pages := known.census.Pages
	graph, err := l.graph(ctx, len(pages), known.links(l.store), func(page crawl.PageKey) (uint32, bool) {
		return known.census.Number(page.Partition, page.Fingerprint)
	})
	if err != nil {
		return nil, err
	}
	ranks, err := importance.Rerank(graph, l.ranked.by(known.census), 1)
	if err != nil {
		return nil, err
	}
	for i := range known.waiting {
		known.waiting[i].Rank = ranks[known.waiting[i].Page]
	}
	l.ranked = ranked{known.census, ranks}
	places := &crawl.Places{Known: known.census, Size: ordering.Size(len(ranks), len(known.waiting))}
	places.Moved = frontier.Places(ordering, known.waiting, places.Size)
	slices.SortFunc(places.Moved, func(a, b frontier.Waiting) int { return cmp.Compare(a.Page, b.Page) })
	return places, nil
}

// survey is the result of one pass over the page table.
type survey struct {
	census   *crawl.Census
	followed []bool             // by number: the page is stored and its links may be followed
	waiting  []frontier.Waiting // pages, without their ranks
}

// survey reads the page table. A requisite that goes ahead of pages keeps its place.
func (n *Node) survey(ctx context.Context, ordering frontier.Ranked) (*survey, error) {
	s := &survey{census: &crawl.Census{First: []uint32{0}}}
	sites := map[weburl.Site]uint32{}
	for p := range n.store.Partitions() {
		for row, err := range n.store.Pages(weburl.Partition(p)) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			if row.Queue == store.NewQueue && (!row.Requisite() || ordering.Holds(row.Key.Order)) {
				site, met := sites[row.URL.Site()]
				if !met {
					site = uint32(len(sites))
					sites[row.URL.Site()] = site
				}
				s.waiting = append(s.waiting, frontier.Waiting{
					Page: uint32(len(s.census.Pages)), Site: site, Arrival: row.Key.Arrival, Order: row.Key.Order,
				})
			}
			s.census.Pages = append(s.census.Pages, row.Fingerprint)
			s.followed = append(s.followed, row.Versions > 0 && !row.NoFollow)
		}
		s.census.First = append(s.census.First, uint32(len(s.census.Pages)))
	}
	byName := make([]uint32, len(sites))
	for i, site := range slices.Sorted(maps.Keys(sites)) {
		byName[sites[site]] = uint32(i)
	}
	for i := range s.waiting {
		s.waiting[i].Site = byName[s.waiting[i].Site]
	}
	return s, nil
}

// links returns a function that returns a page's links by number. It must be called in the order of the pages.
func (s *survey) links(rows *store.Store) linked {
	p := weburl.Partition(0)
	return func(page int) ([]store.OutLink, error) {
		for uint32(page) >= s.census.First[p+1] {
			p++
		}
		if !s.followed[page] {
			return nil, nil
		}
		return rows.OutLinks(p, s.census.Pages[page])
	}
}

// by returns the ranks by the numbers of a later census, or nil before the first ranking. Pages never leave a census.
func (r *ranked) by(now *crawl.Census) []float64 {
	if r.known == nil || len(r.known.Pages) == 0 {
		return nil
	}
	ranks := make([]float64, len(now.Pages))
	for p := range weburl.Partition(len(r.known.First) - 1) {
		for i := r.known.First[p]; i < r.known.First[p+1]; i++ {
			if number, ok := now.Number(p, r.known.Pages[i]); ok {
				ranks[number] = r.ranks[i]
			}
		}
	}
	return ranks
}

// reweigh determines the present weights of pages. It stops if work under way is canceled.
func (l *loop) reweigh() {
	var told crawl.Reweighed
	err := l.inBackground(l.fetching, "weights", func() error {
		total, err := l.store.Total()
		if err == nil {
			told, err = l.opt.Weights(l.fetching, l.opt.Clock.Now(), total.States[store.StateLive])
		}
		return err
	})
	if err != nil {
		told = crawl.Reweighed{}
	}
	l.mail.put(letter{event: told})
}
