package crawl

import (
	"slices"
	"time"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// Places are the places of the known pages in the ordering, the result of Work.Sort.
type Places struct {
	Known *Census
	Moved []frontier.Waiting // pages with new places, sorted by number
	Size  int                // how many pages must leave the queues before the next ranking
}

// A Census numbers the known pages by partition and fingerprint. A nil Census knows no page. It is immutable.
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

// records returns the records of pages' new places, sorted by number.
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

// places ranks the pages for a frontier.Ranked ordering. It has all known pages ranked over the stored links while the
// crawl goes on, and then moves the waiting pages to their places, some at a time. If a crawl ends in between, some
// pages are at their new places and some at their old ones; the next run ranks again. places is nil for other
// orderings.
type places struct {
	known   *Census        // the pages of the last ranking
	round   frontier.Round // since the last ranking was requested
	asked   bool           // the next ranking is requested
	ranking bool           // a ranking is under way, or its places are being set
	first   bool           // no page is handed out before it
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

// knows reports whether a page was known at the last ranking. Such a page gets no cash until the next ranking.
func (p *places) knows(partition weburl.Partition, fp weburl.Fingerprint) bool {
	if p == nil {
		return false
	}
	_, known := p.known.Number(partition, fp)
	return known
}

// holds reports whether pages must wait for the first ranking.
func (p *places) holds() bool { return p != nil && p.first }

// Remaining returns how many pages must leave the queues before the next ranking. ok is false while a ranking is under
// way, and if the ordering does not rank.
func (s *Shard) Remaining() (pages int, ok bool) {
	if s.places == nil {
		return 0, false
	}
	return s.places.round.Remaining()
}

// beginPlaces requests the first ranking. In a new crawl the seeds wait for it; a crawl that goes on does not wait.
func (s *Shard) beginPlaces() {
	if s.places != nil {
		s.places.asked, s.places.first = true, s.rows.Start().Fresh
	}
}

// rankAgain is the time until a failed ranking is tried again, in the crawl's time but at least a second of machine
// time. It is short because pages may wait for the ranking.
const rankAgain = time.Minute

// sort requests a ranking if one is due, none is under way, and no links wait for a decision.
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

// placesAtOnce is the maximum number of pages that get their places in one change.
const placesAtOnce = 1024

// sorted moves pages to their places.
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

// place moves some pages to their places, and then the others.
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
