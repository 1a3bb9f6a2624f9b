package crawl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"freshet/frontier"
	"freshet/importance"
	"freshet/store"
	"freshet/weburl"
)

// A reordering does for a frontier.Ranked ordering what that asks for: it ranks all known pages by the links that
// are stored, beside the crawl, and gives those that wait their places, some at a time. A crawl that ends in
// between leaves some pages at their new places and some at their old ones, and ranks anew when it goes on. A nil
// reordering is of an ordering that asks for nothing.
type reordering struct {
	engine   *Engine
	ordering frontier.Ranked
	asked    chan struct{} // one token: rank now
	step     int           // how many pages at most get their places in one go, while the committer waits

	known atomic.Pointer[census] // the pages of the last ranking
	ranks []float64              // theirs

	// The engine's writing guards these.
	size       int // how many new pages leave the queues until the next ranking; 0: it is due when one comes
	left, came int // new pages that have left the queues, and that have come, since the last was asked for
}

func newReordering(e *Engine) *reordering {
	ranked, ok := e.opt.ordering.(frontier.Ranked)
	if !ok {
		return nil
	}
	return &reordering{engine: e, ordering: ranked, asked: make(chan struct{}, 1), step: 1024, size: math.MaxInt}
}

// note counts what moves did to the queues of new pages.
func (r *reordering) note(moves []store.Move) {
	if r == nil {
		return
	}
	for _, m := range moves {
		switch {
		case m.From == store.NewQueue && m.To != store.NewQueue:
			r.left++
		case m.From != store.NewQueue && m.To == store.NewQueue:
			r.came++
		}
	}
}

// askIfDue asks for a ranking if it is time, none is under way, and no links wait to be decided.
func (r *reordering) askIfDue() {
	if r == nil || r.engine.undecided.Load() {
		return
	}
	if r.left > 0 && r.left >= r.size || r.came > 0 && r.size == 0 {
		r.left, r.came, r.size = 0, 0, math.MaxInt
		signal(r.asked)
	}
}

// remaining returns how many pages are to leave the queues until the next ranking; ok is false while that is under way.
func (r *reordering) remaining() (pages int, ok bool) {
	r.engine.writing.Lock()
	defer r.engine.writing.Unlock()
	return max(0, r.size-r.left), r.size < math.MaxInt
}

// knows says whether a page was known at the last ranking: no cash comes to it until the next.
func (r *reordering) knows(p weburl.Partition, fp weburl.Fingerprint) bool {
	if r == nil {
		return false
	}
	_, known := r.known.Load().number(p, fp)
	return known
}

// begin ranks a new crawl's seeds, before any is handed out. A crawl that goes on is ranked beside it.
func (r *reordering) begin(ctx context.Context) {
	if !r.engine.store.Start().Fresh || r.rank(ctx) != nil {
		signal(r.asked)
	}
}

// rankAgain is how long after a ranking that failed the next is tried, in the crawl's time: pages may wait for it.
const rankAgain = time.Minute

// run ranks whenever it is asked to, until ctx ends.
func (r *reordering) run(ctx context.Context) {
	clock := r.engine.opt.Clock
	again := clock.NewTimer(rankAgain)
	defer again.Stop()
	again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		case <-again.C:
		}
		if r.rank(ctx) != nil {
			clock.Reset(again, max(rankAgain, clock.Span(time.Second)))
		}
	}
}

// rank ranks the known pages and gives those that wait their places; when ctx ends it leaves off.
// O(pages + links), and two reads of the store for each page among them; where there would be too many links,
// the first of each page count. Memory is some 9 bytes a link and 120 a page at its peak, 16 a page after it.
func (r *reordering) rank(ctx context.Context) error {
	var moved []frontier.Waiting
	var size int
	err := r.engine.inBackground(ctx, "ordering", func() (err error) {
		moved, size, err = r.places(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.put(ctx, moved); err != nil {
		if !r.engine.broken.Load() {
			r.engine.fail(fmt.Errorf("crawl: rank pages: %w", err)) // the store takes no more
		}
		return err
	}
	return r.engine.alone(func() error { r.size = size; return nil })
}

// put puts pages where places says, until ctx ends.
func (r *reordering) put(ctx context.Context, moved []frontier.Waiting) (err error) {
	e := r.engine
	for len(moved) > 0 && err == nil && ctx.Err() == nil {
		n := min(len(moved), r.step)
		err = e.order(func(now time.Time) error { return e.apply(now, r.known.Load().records(moved[:n])...) })
		moved = moved[n:]
	}
	return err
}

// places returns the pages that get other places, by number, and how many are to leave the queues until the next
// ranking.
func (r *reordering) places(ctx context.Context) (moved []frontier.Waiting, size int, err error) {
	known, err := r.survey(ctx)
	if err != nil || ctx.Err() != nil {
		return nil, 0, err
	}
	graph, err := r.graph(ctx, known)
	if err != nil || ctx.Err() != nil {
		return nil, 0, err
	}
	ranks, err := importance.Rerank(graph, r.earlier(&known.census), 1)
	if err != nil {
		return nil, 0, err
	}
	for i := range known.waiting {
		known.waiting[i].Rank = ranks[known.waiting[i].Page]
	}
	r.ranks = ranks
	r.known.Store(&known.census)
	size = r.ordering.Size(len(ranks), len(known.waiting))
	moved = frontier.Places(r.ordering, known.waiting, size)
	slices.SortFunc(moved, func(a, b frontier.Waiting) int { return cmp.Compare(a.Page, b.Page) })
	return moved, size, nil
}

// census numbers the known pages by partition and fingerprint. A nil census knows none. It does not change.
type census struct {
	first []uint32             // the number of each partition's first page, and of all pages
	pages []weburl.Fingerprint // by number
}

// number returns a page's number. O(log pages).
func (c *census) number(p weburl.Partition, fp weburl.Fingerprint) (n uint32, known bool) {
	if c == nil {
		return 0, false
	}
	from, to := c.first[p], c.first[p+1]
	i, known := slices.BinarySearch(c.pages[from:to], fp)
	return from + uint32(i), known
}

// records returns what tells the store of the places of pages, sorted by number.
func (c *census) records(moved []frontier.Waiting) (records []store.Record) {
	p := 0
	var open *store.Ranked
	for _, w := range moved {
		for ; w.Page >= c.first[p+1]; p++ {
			open = nil
		}
		if open == nil {
			open = &store.Ranked{Partition: weburl.Partition(p)}
			records = append(records, open)
		}
		open.Pages = append(open.Pages, store.Rank{Fingerprint: c.pages[w.Page], Order: w.Order, Cash: w.Rank})
	}
	return records
}

// survey is what one look at the page table tells.
type survey struct {
	census
	followed []bool             // by number: the page is stored and its links may be followed
	waiting  []frontier.Waiting // pages, without their ranks
}

func (r *reordering) survey(ctx context.Context) (*survey, error) {
	s := &survey{census: census{first: []uint32{0}}}
	sites := map[weburl.Site]uint32{}
	for p := range r.engine.store.Partitions() {
		for row, err := range r.engine.store.Pages(weburl.Partition(p)) {
			if err != nil || ctx.Err() != nil {
				return nil, err
			}
			if row.Queue == store.NewQueue {
				site, met := sites[row.URL.Site()]
				if !met {
					site = uint32(len(sites))
					sites[row.URL.Site()] = site
				}
				s.waiting = append(s.waiting, frontier.Waiting{Page: uint32(len(s.pages)), Site: site, Arrival: row.Key.Arrival, Order: row.Key.Order})
			}
			s.pages = append(s.pages, row.Fingerprint)
			s.followed = append(s.followed, row.Versions > 0 && !row.NoFollow)
		}
		s.first = append(s.first, uint32(len(s.pages)))
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

// graph returns the links between the known pages.
func (r *reordering) graph(ctx context.Context, known *survey) (*importance.Graph, error) {
	var b importance.Builder
	var targets []uint32
	most := max(1, rankedLinks/max(1, len(known.pages)))
	for p := range weburl.Partition(len(known.first) - 1) {
		for n := known.first[p]; n < known.first[p+1]; n++ {
			if ctx.Err() != nil {
				return nil, nil
			}
			targets = targets[:0]
			if known.followed[n] {
				links, err := r.engine.store.OutLinks(p, known.pages[n])
				if err != nil {
					return nil, err
				}
				for _, link := range links[:min(most, len(links))] {
					if target, ok := known.number(r.engine.partition(link.URL.Site()), link.URL.Fingerprint()); ok {
						targets = append(targets, target)
					}
				}
			}
			if err := b.Add(targets); err != nil {
				return nil, err
			}
		}
	}
	return b.Graph()
}

// earlier returns the ranks of the last ranking, by the numbers of now; nil before the first. Pages never go.
func (r *reordering) earlier(now *census) []float64 {
	before := r.known.Load()
	if before == nil || len(before.pages) == 0 {
		return nil
	}
	ranks := make([]float64, len(now.pages))
	for p := range weburl.Partition(len(before.first) - 1) {
		for n := before.first[p]; n < before.first[p+1]; n++ {
			if number, ok := now.number(p, before.pages[n]); ok {
				ranks[number] = r.ranks[n]
			}
		}
	}
	return ranks
}
