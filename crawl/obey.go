package crawl

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"freshet/crawl/robots"
	"freshet/store"
	"freshet/weburl"
)

// When a site's robots.txt comes to say something else, all pages of the site are looked at under its
// new rules: copies that they forbid are withdrawn, and pages that older rules had refused are asked for.
// That takes one walk through the rows of the site's partition, for all its sites whose rules are others.
// The digest of the rules in a site's row, and of those that were looked at last, say what is left to do after a
// restart.

// obedience takes sites through their new rules.
type obedience struct {
	waiting map[weburl.Site]bool // have other rules
	walking bool
}

// busy reports whether pages may yet come of it.
func (o *obedience) busy() bool { return o.walking || len(o.waiting) > 0 }

// disobeyed reports whether a site has rules under which its pages have not been looked at.
func disobeyed(row store.RobotsState) bool { return row.Kept != 0 && row.Rules != row.Obeyed }

// watched reports whether a site's robots.txt is asked for though no page of it is queued: pages of it have
// been refused for what it says.
func watched(row store.SiteRow) bool {
	return slices.ContainsFunc(row.Refused, func(r store.Reason) bool {
		return r.Reason == robots.ReasonRobots || r.Reason == robots.ReasonUnreachable
	})
}

// obeyStored notes a site if its stored rules are others than those that its pages have been looked at under.
func (s *Shard) obeyStored(site weburl.Site) error {
	row, err := s.rows.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("crawl: rules of %s: %w", site, err)
	}
	if disobeyed(row.Robots) {
		s.obeys.waiting[site] = true
	}
	return nil
}

// looking is what the pages of a site are looked at under.
type looking struct {
	standing robots.Standing
	rules    uint64 // the digest in the site's row
}

// obey begins a walk, if sites have other rules and none is under way. A crawl that ends leaves it to the next run.
func (s *Shard) obey() error {
	o := &s.obeys
	if !s.begun || s.ending != "" || o.walking || len(o.waiting) == 0 {
		return nil
	}
	o.walking = true
	s.whenFree(func() error {
		sites, p, err := s.disobedient()
		if err != nil {
			return err
		}
		look := func(row store.PageAt) ([]store.Record, error) { return s.lookAgain(p, row, sites), nil }
		return s.walk(walk{partition: p, look: look, end: func() error { return s.obeyed(sites) }, yields: true})
	})
	return nil
}

// disobedient takes the sites of one partition out of those that wait, as many as the rules in memory may take
// bytes.
func (s *Shard) disobedient() (sites map[weburl.Site]looking, p weburl.Partition, err error) {
	waiting := slices.Sorted(maps.Keys(s.obeys.waiting))
	p = s.home(waiting[0])
	sites, bytes := map[weburl.Site]looking{}, int64(0)
	for _, site := range waiting {
		if s.home(site) != p || bytes > s.settings.RobotsBytes/4 {
			continue
		}
		delete(s.obeys.waiting, site)
		row, err := s.rows.Site(site)
		if err != nil {
			return nil, p, fmt.Errorf("crawl: rules of %s: %w", site, err)
		}
		standing, err := ReadRobots(s.rows, s.book, site)
		if err != nil {
			return nil, p, err
		}
		sites[site] = looking{standing, row.Robots.Rules}
		bytes += standing.Rules.Bytes()
	}
	return sites, p, nil
}

// lookAgain returns what becomes of a page under other rules.
func (s *Shard) lookAgain(p weburl.Partition, row store.PageAt, sites map[weburl.Site]looking) []store.Record {
	site, ours := sites[row.URL.Site()]
	if !ours {
		return nil
	}
	now := s.now.UnixNano()
	switch site.standing.Look(row.URL, RefusedByRobots(row.Page), served(row.Page)) {
	case robots.Withdraw:
		return []store.Record{&store.Withdrawn{Partition: p, Fingerprint: row.Fingerprint, At: now, Reason: robots.ReasonRobots}}
	case robots.Ask:
		return []store.Record{&store.Planned{Partition: p, Fingerprint: row.Fingerprint, Due: now}}
	}
	return nil
}

// obeyed notes that the pages of sites have been looked at. One of them may have got other rules meanwhile.
func (s *Shard) obeyed(sites map[weburl.Site]looking) error {
	var records []store.Record
	names := slices.Sorted(maps.Keys(sites))
	for _, site := range names {
		records = append(records, &store.Obeyed{Site: site, Rules: sites[site].rules})
	}
	return s.propose(records, func() error {
		s.obeys.walking = false
		for _, site := range names {
			if err := s.obeyStored(site); err != nil {
				return err
			}
		}
		return nil
	})
}

// RefusedByRobots reports whether a page waits for nothing because of what a robots.txt said.
func RefusedByRobots(row store.Page) bool {
	return row.Queue == store.NoQueue && row.State != store.StatePurged &&
		(row.Reason == robots.ReasonRobots || row.Reason == robots.ReasonUnreachable)
}

// served reports whether a page has a copy that is served.
func served(row store.Page) bool {
	return row.Versions > 0 && row.State != store.StateWithdrawn && row.State != store.StatePurged
}
