package crawl

import (
	"errors"
	"fmt"

	"freshet/crawl/discovery"
	"freshet/store"
	"freshet/weburl"
)

// rescoping takes what is stored through the scope once more, before anything is asked for, if that is another than
// the last run's: the links of stored pages are offered again, and pages that are outside now leave their queues. How
// far it has come is noted, and the next run goes on from there. A directory in which no scope is noted, new or of
// an older program, is taken to have this one.
type rescoping struct {
	scope uint64             // the digest of the bounds
	left  []weburl.Partition // to be taken through it
	under bool               // way
}

// rescopes tells whether it is not over yet.
func (s *Shard) rescopes() bool { return s.rescope.under }

// beginRescope looks whether the scope is that under which partitions were crawled last. O(pages + links) where it is not, some pages at a time.
func (s *Shard) beginRescope(partitions ...weburl.Partition) {
	s.rescope = rescoping{scope: s.finder.Bounds().Digest(), under: true}
	s.whenFree(func() error {
		r := &s.rescope
		var records []store.Record
		for _, p := range partitions {
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
				r.under = false
				return nil
			}
			s.rebuild(s.rescopeNext) // what a guard has refused is known to the seen test, and has no row
			return nil
		})
	})
}

func scoped(p weburl.Partition, s store.Scoped) store.Record {
	return &store.Discovered{Partition: p, Scoped: s}
}

// rescopeNext takes the next partition through the scope.
func (s *Shard) rescopeNext() error {
	r := &s.rescope
	if len(r.left) == 0 {
		r.under = false
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
	if from == 0 {
		if err := s.offerSitemaps(p); err != nil {
			return err
		}
	}
	s.whenFree(func() error { return s.rescopePages(p, from) })
	return nil
}

// rescopePages takes some pages after one through the scope, and then notes how far that has come.
func (s *Shard) rescopePages(p weburl.Partition, after weburl.Fingerprint) error {
	if s.ending != "" {
		return nil
	}
	var records []store.Record
	done, on := store.Scoped{Scope: s.rescope.scope, Done: true}, s.rescopeNext
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
		s.offers.add(offered{links: links, again: true})
		if pages++; pages == changesAtOnce {
			done = store.Scoped{Scope: s.rescope.scope, Through: page.Fingerprint}
			on = func() error { return s.rescopePages(p, page.Fingerprint) }
			break
		}
	}
	s.offers.whenDecided(func() error {
		return s.propose(append(records, scoped(p, done)), func() error {
			s.whenFree(on)
			return nil
		})
	})
	return nil
}

// linksAgain returns the links of a page that may be followed, as at its visit but without cash, of which those that
// were inside had all.
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

// offerSitemaps offers the sitemaps that the robots.txt files of a partition's sites name.
func (s *Shard) offerSitemaps(p weburl.Partition) error {
	for row, err := range s.rows.Sites(p) {
		if err != nil {
			return fmt.Errorf("crawl: scope: %w", err)
		}
		if row.Robots.Kept == 0 {
			continue
		}
		body, err := s.rows.RobotsBody(row.Site)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("crawl: scope: %w", err)
		}
		s.offers.add(offered{links: discovery.SitemapLinks(row.Site, body), again: true})
	}
	return nil
}
