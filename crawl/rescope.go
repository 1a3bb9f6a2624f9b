package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"freshet/crawl/discovery"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// rescoping applies a changed scope to the stored pages before any request, if the scope is not that of the last run.
// It offers the links of stored pages again, and removes pages that are now outside from their queues. It records its
// progress, so that the next run can continue. A directory without a recorded scope, because it is new or older, is
// assumed to have the present scope.
//
// Rescoping takes its turn among the hand-overs. Both wait until the offered links are decided, and a hand-over holds
// back new ones. If both were under way, each would wait for the other.
type rescoping struct {
	scope uint64             // the digest of the bounds
	left  []weburl.Partition // to which it is still to be applied
	asked int                // number of rescopings scheduled or under way
}

// rescopes reports whether rescoping is under way.
func (s *Shard) rescopes() bool { return s.rescope.asked > 0 }

// beginRescope schedules a check whether partitions were last crawled under the present scope, after the hand-overs
// that were begun before. If they were not, it costs O(pages + links), some pages at a time.
func (s *Shard) beginRescope(partitions ...weburl.Partition) {
	s.rescope.asked++
	s.moves.waiting = append(s.moves.waiting, func() error {
		s.throughAll(partitions)
		return nil
	})
}

// rescoped ends the rescoping.
func (s *Shard) rescoped() {
	s.rescope.asked--
	s.moved()
}

// throughAll applies the scope to those of the partitions that the shard still owns.
func (s *Shard) throughAll(partitions []weburl.Partition) {
	s.rescope.scope, s.rescope.left = s.finder.Bounds().Digest(), nil
	s.whenFree(func() error {
		r := &s.rescope
		var records []store.Record
		for _, p := range partitions {
			if !s.owns(p) {
				continue
			}
			total, err := s.rows.Counters(p)
			if err != nil {
				return fmt.Errorf("crawl: scope: %w", err)
			}
			switch {
			case total.Scoped.Scope == 0:
				records = append(records, scoped(p, store.Scoped{Scope: r.scope, Done: true}))
			case total.Scoped.Scope != r.scope || !total.Scoped.Done:
				r.left = append(r.left, p)
			}
		}
		return s.propose(records, func() error {
			if len(r.left) == 0 {
				s.rescoped()
				return nil
			}
			s.rebuild(s.rescopeNext) // the seen test knows URLs that a guard refused; they have no row
			return nil
		})
	})
}

func scoped(p weburl.Partition, s store.Scoped) store.Record {
	return &store.Discovered{Partition: p, Scoped: s}
}

// unscoped returns records that make the next run apply its scope to all stored pages, even if it is the scope before
// this one. A rescoping under way does not count.
func (s *Shard) unscoped() (records []store.Record) {
	s.rescope.scope = 0
	for p := range s.owned() {
		records = append(records, s.throughScope(p, store.Scoped{}))
	}
	return records
}

// throughScope returns a record of how far the present scope has been applied to a partition. Progress under the scope
// before a reload does not count.
func (s *Shard) throughScope(p weburl.Partition, how store.Scoped) store.Record {
	now := s.finder.Bounds().Digest()
	if s.rescope.scope != now {
		how = store.Scoped{}
	}
	how.Scope = now
	return scoped(p, how)
}

// rescopeNext applies the scope to the next partition.
func (s *Shard) rescopeNext() error {
	r := &s.rescope
	if len(r.left) == 0 {
		s.rescoped()
		return nil
	}
	p := r.left[0]
	r.left = r.left[1:]
	total, err := s.rows.Counters(p)
	if err != nil {
		return fmt.Errorf("crawl: scope: %w", err)
	}
	from := weburl.Fingerprint(0)
	if total.Scoped.Scope == r.scope {
		from = total.Scoped.Through
	}
	var away []weburl.Link
	if from == 0 {
		if away, err = s.offerSitemaps(p); err != nil {
			return err
		}
	}
	s.whenFree(func() error { return s.rescopePages(p, from, away) })
	return nil
}

// rescopePages applies the scope to some pages after a given one, and then records its progress. Away has links for
// other owners, which are offered with those of the pages.
func (s *Shard) rescopePages(p weburl.Partition, after weburl.Fingerprint, away []weburl.Link) error {
	if s.ending != "" { // the next run continues from here
		s.rescoped()
		return nil
	}
	var records []store.Record
	done, on := store.Scoped{Done: true}, s.rescopeNext
	pages := 0
	for page, err := range s.rows.PagesFrom(p, after) {
		if err != nil {
			return fmt.Errorf("crawl: pages of partition %d: %w", p, err)
		}
		if page.Fingerprint <= after && after != 0 {
			continue
		}
		if r := s.finder.Bounds().Readmit(p, page, s.now); r != nil {
			records = append(records, r)
			if out, ok := r.(*store.Refused); ok {
				s.counts.refuse(out.Reason, 1)
			}
		}
		links, err := s.linksAgain(p, page)
		if err != nil {
			return err
		}
		away = append(away, s.offerAgain(links)...)
		if pages++; pages == changesAtOnce {
			done = store.Scoped{Through: page.Fingerprint}
			on = func() error { return s.rescopePages(p, page.Fingerprint, nil) }
			break
		}
	}
	s.offers.whenDecided(func() error {
		elsewhere := offeredElsewhere(p, away)
		for _, r := range elsewhere {
			records = append(records, r)
		}
		return s.propose(append(records, s.throughScope(p, done)), func() error {
			for _, r := range elsewhere {
				s.offers.add(offered{mark: seen.Mark{Partition: p, Record: r.Number}, links: discovery.ArrivedLinks(r.Links)})
			}
			s.whenFree(on)
			return nil
		})
	})
	return nil
}

// offerAgain offers links of stored pages again, and returns those for other owners.
func (s *Shard) offerAgain(links []weburl.Link) (away []weburl.Link) {
	s.offers.add(offered{links: links, again: true})
	if s.alone() {
		return nil
	}
	for _, link := range s.finder.AdmitAgain(links) {
		if !s.owns(s.home(link.URL.Site())) {
			away = append(away, link)
		}
	}
	return away
}

// offeredElsewhere returns records of a partition with links for other owners. The links are sent like those of any
// record.
func offeredElsewhere(p weburl.Partition, away []weburl.Link) (records []*store.Arrived) {
	slices.SortFunc(away, func(x, y weburl.Link) int {
		return cmp.Or(cmp.Compare(x.Fingerprint, y.Fingerprint), cmp.Compare(x.Depth, y.Depth))
	})
	away = slices.CompactFunc(away, func(x, y weburl.Link) bool { return x.Fingerprint == y.Fingerprint })
	for links := range slices.Chunk(away, mostParcelLinks) {
		records = append(records, &store.Arrived{Partition: p, From: p, Links: discovery.Arrive(links)})
	}
	return records
}

// linksAgain returns the links of a page that may be followed, as at its visit but without cash: the links that were
// inside the old scope got all of it.
func (s *Shard) linksAgain(p weburl.Partition, page store.PageAt) ([]weburl.Link, error) {
	var links []weburl.Link
	if page.Versions > 0 && !page.NoFollow {
		stored, err := s.rows.OutLinks(p, page.Fingerprint)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("crawl: scope: links of %s: %w", page.URL, err)
		}
		links = discovery.PageLinks(stored, page.Page)
	}
	if !page.Redirect.IsZero() {
		links = append(links, discovery.RedirectLink(page.Redirect, page.Page))
	}
	return links, nil
}

// offerSitemaps offers the sitemaps named by the robots.txt files of a partition's sites, and returns those for other
// owners.
func (s *Shard) offerSitemaps(p weburl.Partition) (away []weburl.Link, err error) {
	for row, err := range s.rows.Sites(p) {
		if err != nil {
			return nil, fmt.Errorf("crawl: scope: %w", err)
		}
		if row.Robots.Kept == 0 {
			continue
		}
		body, err := s.rows.RobotsBody(row.Site)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("crawl: scope: %w", err)
		}
		away = append(away, s.offerAgain(discovery.SitemapLinks(row.Site, body))...)
	}
	return away, nil
}
