package frontier

import (
	"cmp"
	"math"
	"slices"

	"freshet/weburl"
)

// Ranked is an Ordering by the PageRank of the pages known so far; only those fetched have links. The crawl computes
// the ranks: at the start, and whenever Size pages have left the queues of new pages since the last time, as soon as
// the seen test has decided their links. Then the cash of each waiting page is its rank, and Places gives its place.
// Only pages that become known later get cash from links.
type Ranked interface {
	Ordering
	// Size returns how many pages are to leave the queues until the next ranking. Known counts all pages known,
	// waiting those in the queues. 0: the next ranking is as soon as a page waits.
	Size(known, waiting int) int
	// RankOrder returns the Order of a waiting page's key. Place is the number of waiting pages with a higher rank.
	RankOrder(rank float64, place, size int) uint64
	// Holds reports whether a page with that Order must wait for the next ranking.
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

// A Round counts the new pages that leave the queues and those that come, between two rankings. The zero value stands
// for a first ranking that is not done yet.
type Round struct {
	left, came int
	size       int // pages that are to leave
	ranked     bool
}

// Left counts a new page that has left its queue.
func (r *Round) Left() { r.left++ }

// Came counts a page that is discovered, or comes back.
func (r *Round) Came() { r.came++ }

// Ranked ends a ranking. Size pages are to leave before the next.
func (r *Round) Ranked(size int) { r.size, r.ranked = size, true }

// Due reports whether the next ranking is to be made, as soon as all links are decided.
func (r *Round) Due() bool {
	return r.ranked && (r.left > 0 && r.left >= r.size || r.came > 0 && r.size == 0)
}

// Remaining returns how many pages are to leave until the next ranking is due. ok is false while a ranking is under
// way.
func (r *Round) Remaining() (pages int, ok bool) { return max(0, r.size-r.left), r.ranked }

// Waiting is a page in a queue of new pages when the known pages are ranked.
type Waiting struct {
	Page    uint32 // number that the caller gave it
	Site    uint32 // sites are numbered by name
	Arrival uint64 // of its key
	Order   uint64 // of its key
	Rank    float64
}

// Places sorts all waiting pages by falling rank, equal ones by site and arrival. It sets their Order, and returns
// those whose Order has changed. It rounds ranks to some five digits, so that those that differ by rounding alone are
// equal. O(pages × log pages).
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

// Batch chooses the m best of the known pages and fetches only these, best first, before it chooses again:
// "batch-pagerank" of Castillo et al. 2004. It waits for the slowest site among them.
type Batch struct{ Every }

// Size returns the size of the batch.
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

// Holds reports whether the page is in no batch yet.
func (Batch) Holds(order uint64) bool { return order >= held }

// Partial prefers the page with the highest rank, in the site and among sites. The rank of a page that became known
// after the last ranking is the cash from fetched pages, as in OPIC: "partial-pagerank" of Castillo et al. 2004.
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

// Optimal knows the worth of every page and prefers the best, in the site and among sites: "optimal" of Castillo et
// al. 2004, possible in a simulation only.
type Optimal struct {
	Worth func(weburl.Fingerprint) float64 // 0 or more
}

// PageOrder puts much worth first.
func (o Optimal) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(o.Worth(l.Fingerprint)) }

// SitePriority returns the worth of the site's top page.
func (Optimal) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }
