package crawl

import (
	"slices"
	"time"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Places are where the known pages stand in the ordering: what Work.Sort asks for.
type Places struct {
	Known *Census
	Moved []frontier.Waiting // pages that get other places, sorted by number
	Size  int                // how many are to leave the queues until the next ranking
}

// Census numbers the known pages by partition and fingerprint. A nil census knows none. It does not change.
type Census struct {
	First []uint32             // the number of each partition's first page, and of all pages
	Pages []weburl.Fingerprint // by number
}

// Number returns a page's number. O(log pages).
func (c *Census) Number(p weburl.Partition, fp weburl.Fingerprint) (n uint32, known bool) {
	if c == nil {
		return 0, false
	}
	from, to := c.First[p], c.First[p+1]
	i, known := slices.BinarySearch(c.Pages[from:to], fp)
	return from + uint32(i), known
}

// records returns what says where pages stand now, sorted by number.
func (c *Census) records(moved []frontier.Waiting) (records []store.Record) {
	p := 0
	var open *store.Ranked
	for _, w := range moved {
		for ; w.Page >= c.First[p+1]; p++ {
			open = nil
		}
		if open == nil {
			open = &store.Ranked{Partition: weburl.Partition(p)}
			records = append(records, open)
		}
		open.Pages = append(open.Pages, store.Rank{Fingerprint: c.Pages[w.Page], Order: w.Order, Cash: w.Rank})
	}
	return records
}

// places does for a frontier.Ranked ordering what that asks for: it has all known pages ranked by the links that
// are stored, beside the crawl, and gives those that wait their places, some at a time. A crawl that ends in
// between leaves some pages at their new places and some at their old ones, and ranks again when it goes on. A nil
// places is of an ordering that asks for nothing.
type places struct {
	known   *Census        // the pages of the last ranking
	round   frontier.Round // since the last was asked for
	asked   bool           // for the next ranking
	ranking bool           // it is under way, or its places are given
	first   bool           // nothing is handed out before it
	again   time.Time      // when to try again after a failure; zero: there was none
}

func newPlaces(o frontier.Ordering) *places {
	if _, ok := o.(frontier.Ranked); !ok {
		return nil
	}
	return &places{}
}

// count counts what moves did to the queues of new pages.
func (p *places) count(moves []store.Move) {
	if p == nil {
		return
	}
	for _, m := range moves {
		switch {
		case m.From == store.NewQueue && m.To != store.NewQueue:
			p.round.Left()
		case m.From != store.NewQueue && m.To == store.NewQueue:
			p.round.Came()
		}
	}
}

// knows reports whether a page was known at the last ranking: no cash comes to it until the next.
func (p *places) knows(partition weburl.Partition, fp weburl.Fingerprint) bool {
	if p == nil {
		return false
	}
	_, known := p.known.Number(partition, fp)
	return known
}

// holds reports whether nothing is handed out before the first ranking is done.
func (p *places) holds() bool { return p != nil && p.first }

// Remaining returns how many pages are to leave the queues until the next ranking; ok is false while that is under
// way, and where the ordering asks for none.
func (s *Shard) Remaining() (pages int, ok bool) {
	if s.places == nil {
		return 0, false
	}
	return s.places.round.Remaining()
}

// beginPlaces has the seeds of a new crawl ranked before any is handed out. A crawl that goes on is ranked beside it.
func (s *Shard) beginPlaces() {
	if s.places != nil {
		s.places.asked, s.places.first = true, s.rows.Start().Fresh
	}
}

// rankAgain is how long after a ranking that failed the next is tried, in the crawl's time and at least a second of
// the machine's: pages may wait for it.
const rankAgain = time.Minute

// sort has pages ranked if it is time, no ranking is under way, and no links wait to be decided.
func (s *Shard) sort() {
	p := s.places
	if p == nil || !s.begun || s.ending != "" || p.ranking {
		return
	}
	due := !s.offers.undecided() && p.round.Due()
	if !p.asked && !due {
		if !p.again.IsZero() && s.now.Before(p.again) {
			s.wakeAt(p.again)
			return
		}
		if p.again.IsZero() {
			return
		}
	}
	p.round, p.asked, p.ranking, p.again = frontier.Round{}, false, true, time.Time{}
	s.out.Sort = true
}

// placesAtOnce bounds the pages that get their places in one change.
const placesAtOnce = 1024

// sorted gives pages their places.
func (s *Shard) sorted(found *Places) {
	p := s.places
	if found == nil {
		p.ranking, p.first = false, false
		p.again = s.now.Add(max(rankAgain, s.of(time.Second)))
		return
	}
	p.known = found.Known
	s.whenFree(func() error { return s.place(found.Moved, found.Size) })
}

// place gives some pages their places, and then the others.
func (s *Shard) place(moved []frontier.Waiting, size int) error {
	if len(moved) == 0 || s.ending != "" {
		s.places.ranking, s.places.first = false, false
		s.places.round.Ranked(size)
		return nil
	}
	some := moved[:min(len(moved), placesAtOnce)]
	records := slices.DeleteFunc(s.places.known.records(some), func(r store.Record) bool {
		return !s.owns(r.(*store.Ranked).Partition)
	})
	return s.propose(records, func() error {
		s.whenFree(func() error { return s.place(moved[len(some):], size) })
		return nil
	})
}
