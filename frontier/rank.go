package frontier

import (
	"math"

	"freshet/weburl"
)

// Ranked is an Ordering by the PageRank of the pages known so far, of which only those fetched have
// links. Who crawls computes it for the ordering: at the start, then whenever Size pages have been fetched
// since the last time, and when no page may go and none is in flight. Then each page that waits has its
// rank for cash, and its place by RankOrder; more cash comes to it by links only if it became known
// later.
type Ranked interface {
	Ordering
	// Size returns m, at least 1; pages is how many there are, as far as known.
	Size(pages int) int
	// RankOrder returns the Order of a waiting page's key: place is how many pages that wait are ranked
	// higher.
	RankOrder(rank float64, place, size int) uint64
}

// Every says how often ranks are computed: a number of pages, or a share of all.
type Every struct {
	Pages int     // if not 0
	Share float64 // of all pages, in (0, 1]
}

// Size implements Ranked.
func (e Every) Size(pages int) int {
	if e.Pages > 0 {
		return e.Pages
	}
	return max(1, int(math.Round(e.Share*float64(pages))))
}

// held is the Order from which on pages wait for the next ranking.
const held = 1 << 63

// Batch takes the m best of the known pages and fetches only these, best first, before it chooses
// again: "batch-pagerank" of Castillo et al. 2004.
type Batch struct{ Every }

// PageOrder lets a new page wait for the next batch.
func (Batch) PageOrder(weburl.Link) uint64 { return held }

// SitePriority returns the rank of the site's top page, -Inf if none is of the batch.
func (Batch) SitePriority(s SiteState) float64 {
	if s.Top.Order >= held {
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

// Partial takes the page with the highest rank, in the site and among sites. A page that became known
// since ranks were computed has for rank what the pages fetched give it, as in OPIC:
// "partial-pagerank" of Castillo et al. 2004.
type Partial struct{ Every }

// PageOrder puts a high rank first.
func (Partial) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(l.Cash) }

// SitePriority returns the rank of the site's top page.
func (Partial) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }

// Pay returns an equal part.
func (Partial) Pay(cash float64, links int) float64 { return cash / float64(links) }

// RankOrder puts a high rank first.
func (Partial) RankOrder(rank float64, _, _ int) uint64 { return weburl.CashOrder(rank) }

// Optimal knows what every page is worth and takes the best, in the site and among sites: "optimal" of
// Castillo et al. 2004, which only a simulation can follow.
type Optimal struct {
	Worth func(weburl.Fingerprint) float64 // 0 or more
}

// PageOrder puts much worth first.
func (o Optimal) PageOrder(l weburl.Link) uint64 { return weburl.CashOrder(o.Worth(l.Fingerprint)) }

// SitePriority returns the worth of the site's top page.
func (Optimal) SitePriority(s SiteState) float64 { return weburl.OrderCash(s.Top.Order) }
