package crawl

import (
	"time"

	"freshet/refresh"
)

const (
	rankShare        = 0.5 // of a page's weight that is its rank; the rest is the same for all
	reweighedAtOnce  = 1024
	ranksLookedAfter = time.Second // of the machine's time
)

// ranking weighs the pages that are kept fresh by their PageRank over the links that are stored.
type ranking struct {
	keys   []PageKey // that were ranked last, by refresh.ID
	ranks  []float64 // theirs, as far as they are not told yet
	next   int       // page to be weighed; len(ranks): none
	under  bool      // way
	failed bool      // the last
	at     time.Time // of the last
}

// rank goes on weighing pages by their ranks, and has them ranked if that is due: the time between two rankings is
// over, or the pages have doubled since one that did not fail.
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

// weighed notes the ranks.
func (f *fresh) weighed(ranks []float64) {
	k := &f.ranking
	k.under, k.failed = false, len(ranks) == 0
	k.ranks, k.next = ranks, 0
}

// reweigh gives some further pages the weights of their ranks, if they are still those that were ranked: on average 1,
// none less than the share that is the same for all.
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
