package frontier

import (
	"cmp"
	"math"
	"slices"

	"freshet/weburl"
)

// Ranked is an Ordering by the PageRank of the pages known so far. Only fetched pages have links. The crawl computes
// the ranks at the start, and whenever Size pages have left the queues of new pages since the last ranking, as soon as
// the seen test has decided their links. Then the cash of each waiting page is its rank, and Places gives its place.
// Only pages discovered later get cash from links.
type Ranked interface {
	Ordering
	// Size returns how many pages must leave the queues before the next ranking. Known counts all known pages, waiting
	// those in the queues. 0 means that the next ranking comes as soon as a page waits.
	Size(known, waiting int) int
	// RankOrder returns the Order of a waiting page's key. Place is the number of waiting pages with a higher rank.
	RankOrder(rank float64, place, size int) uint64
	// Holds reports whether a page with that Order must wait for the next ranking.
	Holds(order uint64) bool
}

// Every is how often ranks are computed: after a number of pages, or after a share of all.
type Every struct {
	Pages int     // if not 0
	Share float64 // of all pages, in (0, 1]
}

// Size returns the number of pages, at least 1.
func (e Every) Size(known, _ int) int {
	if e.Pages > 0 {
		return e.Pages
	}
	return max(1, int(math.Round(e.Share*float64(known))))
}

// A Round counts the new pages that leave and join the queues between two rankings. In the zero value a ranking is
// under way.
type Round struct {
	left, came int
	size       int // pages that must leave
	ranked     bool
}

// Left counts a new page that has left its queue.
func (r *Round) Left() { r.left++ }

// Came counts a page that joins its queue: it was discovered, or comes back.
func (r *Round) Came() { r.came++ }

// Ranked ends a ranking. The next one follows when size pages have left.
func (r *Round) Ranked(size int) { r.size, r.ranked = size, true }

// Due reports whether the next ranking is due. The caller also waits until all links are decided.
func (r *Round) Due() bool {
	return r.ranked && (r.left > 0 && r.left >= r.size || r.came > 0 && r.size == 0)
}

// Remaining returns how many pages must leave before the next ranking is due. ok is false while a ranking is under way.
func (r *Round) Remaining() (pages int, ok bool) { return max(0, r.size-r.left), r.ranked }

// Waiting is a page in a queue of new pages when the known pages are ranked.
type Waiting struct {
	Page    uint32 // number chosen by the caller
	Site    uint32 // sites are numbered by name
	Arrival uint64 // of its key
	Order   uint64 // of its key
	Rank    float64
}

// Places sorts all waiting pages by falling rank, equal ones by site and arrival. It sets each page's Order and returns
// the pages whose Order has changed. It rounds ranks to about five digits, so that ranks that differ only by rounding
// are equal. O(pages × log pages).
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

// held is the least Order of pages that wait for the next ranking.
const held = 1 << 63

// Batch chooses the m best of the known pages and fetches only these, best first, before it chooses again:
// "batch-pagerank" of Castillo et al. 2004. A batch takes as long as its slowest site.
type Batch struct{ Every }

// Size returns the size of the batch.
func (b Batch) Size(known, waiting int) int { return min(b.Every.Size(known, waiting), waiting) }

// PageOrder makes a new page wait for the next batch.
func (Batch) PageOrder(weburl.Link) uint64 { return held }

// SitePriority returns the rank of the site's top page, or -Inf if the page is in no batch.
func (b Batch) SitePriority(s SiteState) float64 {
	if b.Holds(s.Top.Order) {
		return math.Inf(-1)
	}
	return weburl.OrderCash(s.Top.Order)
}

// RankOrder puts the size best pages first and makes the others wait.
func (Batch) RankOrder(rank float64, place, size int) uint64 {
	if place >= size {
		return held
	}
	return weburl.CashOrder(rank)
}

// Holds reports whether the page waits for a batch.
func (Batch) Holds(order uint64) bool { return order >= held }

// Partial prefers the page with the highest rank, within a site and among sites. A page discovered after the last
// ranking has as its rank the cash from fetched pages, as in OPIC: "partial-pagerank" of Castillo et al. 2004.
type Partial struct{ Every }

// PageOrder puts the page with the highest rank first.
func (Partial) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the rank of the site's top page.
func (Partial) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Owes returns what the page has received since it last passed cash on.
func (Partial) Owes(cash, paid float64) float64 { return max(0, cash-paid) }

// Pay returns an equal share per link.
func (Partial) Pay(cash float64, links int) float64 { return cash / float64(links) }

// RankOrder puts the page with the highest rank first.
func (Partial) RankOrder(rank float64, _, _ int) uint64 { return weburl.CashOrder(rank) }

// Holds returns false, because every page has a place.
func (Partial) Holds(uint64) bool { return false }

// Optimal knows the worth of every page and prefers the best, within a site and among sites: "optimal" of Castillo et
// al. 2004. It is possible only in a simulation.
type Optimal struct {
	Worth func(weburl.Fingerprint) float64 // 0 or more
}

// PageOrder puts the page with the greatest worth first.
func (o Optimal) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(o.Worth(l.Fingerprint)) }

// SitePriority returns the worth of the site's top page.
func (Optimal) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }
