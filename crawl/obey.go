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

// When the rules of a site's robots.txt change, all pages of the site are checked under the new rules. Copies that the
// rules forbid are withdrawn. Pages that older rules refused are requested. One walk through a partition's rows checks
// all its sites with changed rules. A site's row has two digests: of the present rules, and of those last checked. They
// show what is left to do after a restart.

// obedience checks the pages of sites whose rules have changed.
type obedience struct {
	waiting map[weburl.Site]bool // sites with changed rules
	walking bool
}

// busy reports whether checks are pending, from which pages may yet become due.
func (o *obedience) busy() bool { return o.walking || len(o.waiting) > 0 }

// disobeyed reports whether a site has rules under which its pages have not been checked.
func disobeyed(row store.RobotsState) bool { return row.Kept != 0 && row.Rules != row.Obeyed }

// watched reports whether a site's robots.txt is requested though no page of the site is queued, because it has refused
// pages.
func watched(row store.SiteRow) bool {
	return slices.ContainsFunc(row.Refused, func(r store.Reason) bool {
		return r.Reason == robots.ReasonRobots || r.Reason == robots.ReasonUnreachable
	})
}

// obeyStored schedules a check of a site if its stored rules are not those last checked.
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

// looking is what the pages of a site are checked against.
type looking struct {
	standing robots.Standing
	rules    uint64 // the digest in the site's row
}

// obey begins a walk if sites have changed rules and no walk is under way. A crawl that ends leaves it to the next run.
func (s *Shard) obey() error {
	o := &s.obeys
	if !s.begun || s.ending != "" || o.walking || len(o.waiting) == 0 {
		return nil
	}
	o.walking = true
	s.whenFree(func() error {
		if len(o.waiting) == 0 { // they were given away meanwhile
			o.walking = false
			return nil
		}
		sites, p, err := s.disobedient()
		if err != nil {
			return err
		}
		look := func(row store.PageAt) ([]store.Record, error) { return s.lookAgain(p, row, sites), nil }
		return s.walk(walk{partition: p, look: look, end: func() error { return s.obeyed(sites) }, yields: true})
	})
	return nil
}

// disobedient removes the sites of one partition from the waiting ones, as many as the memory for rules allows.
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

// lookAgain returns the records by which a page follows its site's new rules.
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

// obeyed records that the pages of sites have been checked. The rules of a site may have changed again in the meantime.
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

// RefusedByRobots reports whether a page is in no queue because a robots.txt refused it.
func RefusedByRobots(row store.Page) bool {
	return row.Queue == store.NoQueue && row.State != store.StatePurged &&
		(row.Reason == robots.ReasonRobots || row.Reason == robots.ReasonUnreachable)
}

// served reports whether a page has a copy that is served.
func served(row store.Page) bool {
	return row.Versions > 0 && row.State != store.StateWithdrawn && row.State != store.StatePurged
}
