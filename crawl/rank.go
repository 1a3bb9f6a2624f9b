package crawl

import (
	"time"

	"freshet/refresh"
)

const (
	rankShare        = 0.5 // share of a page's weight that depends on its rank
	reweighedAtOnce  = 1024
	ranksLookedAfter = time.Second // machine time
)

// ranking weighs the pages that are kept fresh by their PageRank over the stored links.
type ranking struct {
	keys   []PageKey // pages of the last ranking, by refresh.ID
	ranks  []float64 // their ranks, while any are still to be applied
	next   int       // next page to weigh; len(ranks): none
	under  bool      // a ranking is under way
	failed bool      // the last ranking failed
	at     time.Time // time of the last ranking
}

// rank continues weighing pages by their ranks. It requests a new ranking if the time between two is over, or the
// number of pages has doubled since the last one that succeeded.
func (s *Shard) rank() {
	f := s.fresh
	k := &f.ranking
	if f.asked.Rank <= 0 {
		return
	}
	if k.next < len(k.ranks) {
		f.reweigh()
		s.wakeAt(s.now)
		return
	}
	s.wakeAt(s.now.Add(f.of(ranksLookedAfter)))
	due := s.now.Sub(k.at) >= f.asked.Rank || !k.failed && int(f.table.end()) >= 2*len(k.keys)
	if k.under || f.table.len() == 0 || !due {
		return
	}
	k.under, k.at = true, s.now
	k.keys = make([]PageKey, f.table.end())
	for id := range k.keys {
		k.keys[id] = f.table.pages[id].key()
	}
	s.out.Weigh = k.keys
}

// weighed stores the ranks.
func (f *fresh) weighed(ranks []float64) {
	k := &f.ranking
	k.under, k.failed = false, len(ranks) == 0
	k.ranks, k.next = ranks, 0
}

// reweigh sets the weights of some more pages by their ranks, if they are still the pages that were ranked. The mean
// weight is 1; no weight is less than the share that is the same for all pages.
func (f *fresh) reweigh() {
	k := &f.ranking
	end := min(k.next+reweighedAtOnce, len(k.ranks))
	for ; k.next < end; k.next++ {
		id := refresh.ID(k.next)
		if _, kept := f.keeper.Site(id); kept && f.table.pages[id].key() == k.keys[id] {
			weight := 1 - rankShare + rankShare*float64(len(k.ranks))*k.ranks[id]
			f.table.pages[id].weight = float32(weight)
			f.keeper.Weigh(id, weight)
		}
	}
	if end == len(k.ranks) {
		k.ranks, k.next = nil, 0
	}
}
