package frontier

import (
	"cmp"
	"math"
	"slices"

	"freshet/weburl"
)

// Ranked is an Ordering by the PageRank of the pages known so far, of which only those fetched have
// links. Who crawls computes it for the ordering: at the start, and whenever Size pages have left the queues of
// new pages since the last time, as soon as their links are decided. Then each page that waits has its rank for
// cash, and its place by Places; more cash comes to a page by links only if it became known later.
type Ranked interface {
	Ordering
	// Size returns how many pages are to leave the queues until the next ranking: known is how many there are,
	// as far as known, and waiting of these wait now. 0: that is as soon as one waits.
	Size(known, waiting int) int
	// RankOrder returns the Order of a waiting page's key: place is how many pages that wait are ranked
	// higher.
	RankOrder(rank float64, place, size int) uint64
	// Holds reports whether a page with that Order waits for the next ranking, whatever else may go.
	Holds(order uint64) bool
}

// Every says how often ranks are computed: a number of pages, or a share of all.
type Every struct {
	Pages int     // if not 0
	Share float64 // of all pages, in (0, 1]
}

// Size returns m, at least 1.
func (e Every) Size(known, _ int) int {
	if e.Pages > 0 {
		return e.Pages
	}
	return max(1, int(math.Round(e.Share*float64(known))))
}

// A Round counts the new pages that leave the queues, and that come, from the time when a ranking is asked for to that
// when the next one is due. The zero value is of a ranking that is not done.
type Round struct {
	left, came int
	size       int // pages that are to leave
	ranked     bool
}

// Left takes note of a new page that has left its queue, and Came of one that has come.
func (r *Round) Left() { r.left++ }

// Came is told of a page that is discovered, or comes back.
func (r *Round) Came() { r.came++ }

// Ranked ends a ranking: so many pages are to leave before the next, as Size says.
func (r *Round) Ranked(size int) { r.size, r.ranked = size, true }

// Due reports whether it is time for the next ranking, once all links are decided.
func (r *Round) Due() bool {
	return r.ranked && (r.left > 0 && r.left >= r.size || r.came > 0 && r.size == 0)
}

// Remaining returns how many pages are to leave until the next ranking is due; ok is false while one is not done.
func (r *Round) Remaining() (pages int, ok bool) { return max(0, r.size-r.left), r.ranked }

// Waiting is a page that waits for its turn when the known pages are ranked.
type Waiting struct {
	Page    uint32 // its number: the caller's
	Site    uint32 // sites are numbered by name
	Arrival uint64 // of its key
	Order   uint64 // of its key
	Rank    float64
}

// Places sorts pages, all that wait, by falling rank, equal ones by site and arrival, sets their Order, and
// returns those whose Order has changed. Of a rank some five digits count, and are left: ranks that differ by
// rounding alone are equal. O(pages × log pages).
func Places(o Ranked, waiting []Waiting, size int) (moved []Waiting) {
	for i := range waiting {
		waiting[i].Rank = significant(waiting[i].Rank)
	}
	slices.SortFunc(waiting, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Arrival, b.Arrival))
	})
	moved = waiting[:0]
	for place, w := range waiting {
		if order := o.RankOrder(w.Rank, place, size); order != w.Order {
			w.Order = order
			moved = append(moved, w)
		}
	}
	return moved
}

// held is the Order from which on pages wait for the next ranking.
const held = 1 << 63

// Batch takes the m best of the known pages and fetches only these, best first, before it chooses
// again: "batch-pagerank" of Castillo et al. 2004. It waits for the slowest site of them.
type Batch struct{ Every }

// Size returns how many pages the batch has.
func (b Batch) Size(known, waiting int) int { return min(b.Every.Size(known, waiting), waiting) }

// PageOrder lets a new page wait for the next batch.
func (Batch) PageOrder(weburl.Link) uint64 { return held }

// SitePriority returns the rank of the site's top page, -Inf if none is of the batch.
func (b Batch) SitePriority(s SiteState) float64 {
	if b.Holds(s.Top.Order) {
		return math.Inf(-1)
	}
	return weburl.OrderCash(s.Top.Order)
}

// RankOrder puts the m best first and lets the others wait.
func (Batch) RankOrder(rank float64, place, size int) uint64 {
	if place >= size {
		return held
	}
	return weburl.CashOrder(rank)
}

// Holds reports whether the page is of no batch yet.
func (Batch) Holds(order uint64) bool { return order >= held }

// Partial takes the page with the highest rank, in the site and among sites. A page that became known
// since ranks were computed has for rank what the pages fetched give it, as in OPIC:
// "partial-pagerank" of Castillo et al. 2004.
type Partial struct{ Every }

// PageOrder puts a high rank first.
func (Partial) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the rank of the site's top page.
func (Partial) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns what came to the page since it last handed on.
func (Partial) Owes(cash, paid float64) float64 { return max(0, cash-paid) }

// Pay returns an equal part.
func (Partial) Pay(cash float64, links int) float64 { return cash / float64(links) }

// RankOrder puts a high rank first.
func (Partial) RankOrder(rank float64, _, _ int) uint64 { return weburl.CashOrder(rank) }

// Holds is false: each page has a place.
func (Partial) Holds(uint64) bool { return false }

// Optimal knows what every page is worth and takes the best, in the site and among sites: "optimal" of
// Castillo et al. 2004, which only a simulation can follow.
type Optimal struct {
	Worth func(weburl.Fingerprint) float64 // 0 or more
}

// PageOrder puts much worth first.
func (o Optimal) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(o.Worth(l.Fingerprint)) }

// SitePriority returns the worth of the site's top page.
func (Optimal) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }
