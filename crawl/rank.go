package crawl

import (
	"context"
	"errors"
	"time"

	"freshet/importance"
	"freshet/refresh"
	"freshet/store"
)

const (
	rankedLinks   = 1 << 25 // of all pages that a ranking holds at most: some 9 bytes each at its peak, and 60 a page
	rankShare     = 0.5     // of a page's weight that is its rank; the rest is the same for all
	rankTolerance = 1e-6    // of ranks that sum to 1
	reweighed     = 1024    // pages that are weighed in one go
)

// A ranking weighs the pages that are kept fresh by their PageRank over the links that are stored, in a
// goroutine of its own.
type ranking struct {
	refresher *refresher
	ranks     []float64 // by refresh.ID, as they came out last
	at        time.Time // of the last try
	failed    bool      // that
}

// run ranks whenever it is due, until ctx ends.
func (k *ranking) run(ctx context.Context) {
	k.look(ctx)
	k.refresher.engine.everySecond(ctx.Done(), func() { k.look(ctx) })
}

// look ranks if it is due.
func (k *ranking) look(ctx context.Context) {
	e := k.refresher.engine
	now := e.opt.Clock.Now()
	if !k.due(now) {
		return
	}
	k.at = now
	err := e.inBackground(ctx, "ranking", func() error { _, err := k.rank(ctx); return err })
	k.failed = err != nil
}

// due tells whether the time between two rankings is over, or the pages have doubled since one that did not fail.
func (k *ranking) due(now time.Time) bool {
	r := k.refresher
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids) > 0 && (now.Sub(k.at) >= r.asked.Rank || !k.failed && len(r.pages) >= 2*len(k.ranks))
}

// rank computes the ranks, from those of the last time on, and weighs the pages by them: in the mean 1, none
// less than the share that is the same for all. It returns the number of iterations. When ctx ends it leaves
// off. O(pages + links), two reads of the store for each page among them.
func (k *ranking) rank(ctx context.Context) (iterations int, err error) {
	keys := k.refresher.keys()
	graph, err := k.graph(ctx, keys)
	if err != nil || ctx.Err() != nil {
		return 0, err
	}
	o := importance.RankOptions{Start: k.ranks, Tolerance: rankTolerance, Workers: 1}
	ranks, err := importance.NewRanker(graph).Rank(o)
	if err != nil {
		return 0, err
	}
	k.ranks = ranks.Of
	for from := 0; from < len(keys) && ctx.Err() == nil; from += reweighed {
		k.refresher.weigh(refresh.ID(from), keys[from:min(from+reweighed, len(keys))], ranks.Of)
	}
	return ranks.Iterations, nil
}

// graph returns the links between pages, which are numbered by their place in keys. Where there would be
// too many, the first of each page count. A page that forbids to follow its links has none.
func (k *ranking) graph(ctx context.Context, keys []pageKey) (*importance.Graph, error) {
	var b importance.Builder
	most := max(1, rankedLinks/max(1, len(keys)))
	var targets []uint32
	for _, key := range keys {
		if ctx.Err() != nil {
			return nil, nil
		}
		_, links, err := k.refresher.engine.followed(key)
		if err != nil {
			return nil, err
		}
		targets = k.refresher.number(targets[:0], links[:min(most, len(links))], refresh.ID(len(keys)))
		if err := b.Add(targets); err != nil {
			return nil, err
		}
	}
	return b.Graph()
}

// followed returns a stored page and its links that may be followed, none if it is no longer there.
func (e *Engine) followed(key pageKey) (store.Page, []store.OutLink, error) {
	row, err := e.store.Page(key.partition, key.fingerprint)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.NoFollow || row.Versions == 0) {
		return row, nil, nil
	}
	if err != nil {
		return row, nil, err
	}
	links, err := e.store.OutLinks(key.partition, key.fingerprint)
	return row, links, err
}

// keys returns the keys of the pages by ID, that of no page where there is none.
func (r *refresher) keys() []pageKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := make([]pageKey, len(r.pages))
	for id := range r.pages {
		keys[id] = r.pages[id].key
	}
	return keys
}

// number appends the numbers of the pages before end that links lead to.
func (r *refresher) number(dst []uint32, links []store.OutLink, end refresh.ID) []uint32 {
	keys := make([]pageKey, 0, len(links))
	for _, link := range links {
		keys = append(keys, pageKey{r.engine.partition(link.URL.Site()), link.URL.Fingerprint()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		if id, known := r.ids[key]; known && id < end {
			dst = append(dst, uint32(id))
		}
	}
	return dst
}

// weigh gives pages, of successive IDs, the weights of their ranks, if they are still those of the keys.
func (r *refresher) weigh(from refresh.ID, keys []pageKey, ranks []float64) {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	pages := float64(len(ranks))
	for i, key := range keys {
		id := from + refresh.ID(i)
		if page := &r.pages[id]; !page.url.IsZero() && page.key == key {
			page.weight = 1 - rankShare + rankShare*pages*ranks[id]
			r.keeper.Weigh(id, page.weight)
		}
	}
}
