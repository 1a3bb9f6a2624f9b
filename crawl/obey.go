package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"freshet/crawl/robots"
	"freshet/store"
	"freshet/weburl"
)

// When a site's robots.txt comes to say something else, all pages of the site are looked at under its
// new rules: copies that they forbid are withdrawn, and pages that older rules had refused are asked for.
// That takes one pass through the rows of the site's partition, for all its sites whose rules are others;
// what it finds is applied some pages at a time. The digest of the rules in a site's row, and of those
// that were looked at last, say what is left to do after a restart.

// obedience takes sites through their new rules.
type obedience struct {
	engine *Engine
	wake   chan struct{} // one token: a site may have other rules

	mu      sync.Mutex
	waiting map[weburl.Site]bool // have other rules
	passing bool                 // a pass is under way
}

func newObedience(e *Engine) *obedience {
	return &obedience{engine: e, wake: make(chan struct{}, 1), waiting: map[weburl.Site]bool{}}
}

// disobeyed tells whether a site has rules under which its pages have not been looked at.
func disobeyed(row store.RobotsState) bool { return row.Kept != 0 && row.Rules != row.Obeyed }

// watched tells whether a site's robots.txt is asked for though no page of it is queued: pages of it have
// been refused for what it says.
func watched(row store.SiteRow) bool {
	return slices.ContainsFunc(row.Refused, func(r store.Reason) bool {
		return r.Reason == robots.ReasonRobots || r.Reason == robots.ReasonUnreachable
	})
}

// add has a site looked at whose rules are others.
func (o *obedience) add(site weburl.Site) {
	o.mu.Lock()
	o.waiting[site] = true
	o.mu.Unlock()
	signal(o.wake)
}

// read adds a site if its stored rules are others than those that its pages have been looked at under.
func (o *obedience) read(site weburl.Site) error {
	row, err := o.engine.store.Site(site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("crawl: rules of %s: %w", site, err)
	}
	if disobeyed(row.Robots) {
		o.add(site)
	}
	return nil
}

// busy tells whether pages may yet come of it.
func (o *obedience) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passing || len(o.waiting) > 0
}

// run makes passes while there is something to do, until ctx ends.
func (o *obedience) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		for ctx.Err() == nil {
			sites, err := o.next()
			if err == nil && len(sites) > 0 {
				err = o.pass(ctx, sites)
			}
			signal(o.engine.wake) // there may be pages, or no more will come
			if err != nil && !o.engine.broken.Load() {
				o.engine.fail(err)
			}
			if err != nil || len(sites) == 0 {
				break
			}
		}
	}
}

// looking is what the pages of a site are looked at under.
type looking struct {
	standing robots.Standing
	rules    uint64 // the digest in the site's row
}

// next takes the sites of one partition out of those that wait, as many as the rules in memory may take
// bytes.
func (o *obedience) next() (map[weburl.Site]looking, error) {
	o.mu.Lock()
	waiting := slices.Sorted(maps.Keys(o.waiting))
	o.passing = len(waiting) > 0
	o.mu.Unlock()
	e := o.engine
	sites, bytes := map[weburl.Site]looking{}, int64(0)
	for _, site := range waiting {
		if e.partition(site) != e.partition(waiting[0]) || bytes > e.plan.robots/4 {
			continue
		}
		o.mu.Lock()
		delete(o.waiting, site)
		o.mu.Unlock()
		row, err := e.store.Site(site) // before the rules: should others come in between, they are looked at next
		if err != nil {
			return nil, fmt.Errorf("crawl: rules of %s: %w", site, err)
		}
		standing, err := e.robots.read(site)
		if err != nil {
			return nil, fmt.Errorf("crawl: rules of %s: %w", site, err)
		}
		sites[site] = looking{standing, row.Robots.Rules}
		bytes += standing.Rules.Bytes()
	}
	return sites, nil
}

// pass looks at all pages of some sites of one partition.
func (o *obedience) pass(ctx context.Context, sites map[weburl.Site]looking) error {
	e := o.engine
	var p weburl.Partition
	for site := range sites {
		p = e.partition(site)
	}
	var records []store.Record
	apply := func() error {
		err := e.order(func(now time.Time) error { return e.apply(now, records...) })
		records = records[:0]
		return err
	}
	for row, err := range e.store.Pages(p) {
		if err != nil {
			return fmt.Errorf("crawl: robots.txt: pages of partition %d: %w", p, err)
		}
		if ctx.Err() != nil {
			return nil // the next run begins again
		}
		site, ours := sites[row.URL.Site()]
		if !ours {
			continue
		}
		now := e.opt.Clock.Now().UnixNano()
		switch site.standing.Look(row.URL, refusedByRobots(row.Page), served(row.Page)) {
		case robots.Withdraw:
			records = append(records, &store.Withdrawn{Partition: p, Fingerprint: row.Fingerprint, At: now, Reason: robots.ReasonRobots})
		case robots.Ask:
			records = append(records, &store.Planned{Partition: p, Fingerprint: row.Fingerprint, Due: now})
		}
		if len(records) >= perOrder {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	for name, site := range sites {
		records = append(records, &store.Obeyed{Site: name, Rules: site.rules})
	}
	if err := apply(); err != nil {
		return err
	}
	for site := range sites { // one may have got other rules since
		if err := o.read(site); err != nil {
			return err
		}
	}
	return nil
}

// refusedByRobots tells whether a page waits for nothing because of what a robots.txt said.
func refusedByRobots(row store.Page) bool {
	return row.Queue == store.NoQueue && row.State != store.StatePurged &&
		(row.Reason == robots.ReasonRobots || row.Reason == robots.ReasonUnreachable)
}

// served tells whether a page has a copy that is served.
func served(row store.Page) bool {
	return row.Versions > 0 && row.State != store.StateWithdrawn && row.State != store.StatePurged
}
