package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"freshet/crawl/discovery"
	"freshet/store"
	"freshet/weburl"
)

// scopeDigest returns a number that tells apart what options and seeds make of the crawl's bounds, never 0.
func (e *Engine) scopeDigest() uint64 {
	e.discover.scoping.RLock()
	defer e.discover.scoping.RUnlock()
	return e.discover.finder.Bounds().Digest()
}

// rescope looks, before anything is asked for, whether the scope is that of the last run. If it is another, all that
// is stored goes through it once more, some pages at a time, until ctx ends; the next run goes on from there. A
// directory in which no scope is noted, new or of an older program, is taken to have this one.
// O(pages + links) where the scope has changed; memory does not depend on them.
func (e *Engine) rescope(ctx context.Context) error {
	scope := e.scopeDigest()
	pages := int64(0)
	var changed []weburl.Partition
	var records []store.Record
	for p := range weburl.Partition(e.store.Partitions()) {
		total, err := e.store.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: scope: %w", err)
		}
		switch {
		case total.Scoped.Scope == 0:
			records = append(records, scoped(p, store.Scoped{Scope: scope, Done: true}))
		case total.Scoped.Scope != scope || !total.Scoped.Done:
			changed = append(changed, p)
			pages += total.States[store.StateLive]
		}
	}
	if err := e.order(func(now time.Time) error { return e.apply(now, records...) }); err != nil || len(changed) == 0 {
		return err
	}
	e.opt.Logger.Warn(fmt.Sprintf("scope changed: offering the links of %d stored pages again", pages))
	before := e.discover.pages.Load()
	// What a guard has refused is known to the seen test, and has no row.
	if err := e.alone(func() error { return e.fillSeen(e.discover.finder.Linked()) }); err != nil {
		return err
	}
	for _, p := range changed {
		if err := e.rescopePartition(ctx, p, scope); err != nil {
			return fmt.Errorf("crawl: scope: %w", err)
		}
	}
	if ctx.Err() == nil {
		e.opt.Logger.Warn("scope changed: all is offered", "new_pages", e.discover.pages.Load()-before)
	}
	return nil
}

func scoped(p weburl.Partition, s store.Scoped) store.Record {
	return &store.Discovered{Partition: p, Scoped: s}
}

// rescopePartition takes a partition's pages through the scope, from where the last run has left off.
func (e *Engine) rescopePartition(ctx context.Context, p weburl.Partition, scope uint64) error {
	total, err := e.store.Counters(p)
	if err != nil {
		return err
	}
	through := weburl.Fingerprint(0)
	if total.Scoped.Scope == scope {
		through = total.Scoped.Through
	}
	if through == 0 {
		if err := e.offerSitemaps(p); err != nil {
			return err
		}
	}
	var lot []store.PageAt
	for page, err := range e.store.Pages(p) {
		if err != nil || ctx.Err() != nil {
			return err
		}
		if page.Fingerprint <= through {
			continue
		}
		if lot = append(lot, page); len(lot) == perOrder {
			if err := e.rescopePages(p, lot, store.Scoped{Scope: scope, Through: page.Fingerprint}); err != nil {
				return err
			}
			lot = lot[:0]
		}
	}
	return e.rescopePages(p, lot, store.Scoped{Scope: scope, Done: true})
}

// rescopePages takes some pages through the scope, and then notes how far that has come.
func (e *Engine) rescopePages(p weburl.Partition, pages []store.PageAt, done store.Scoped) error {
	return e.order(func(now time.Time) error {
		var records []store.Record
		for _, page := range pages {
			if r := e.discover.finder.Bounds().Readmit(p, page, now); r != nil {
				records = append(records, r)
				if out, ok := r.(*store.Refused); ok {
					e.tally.countRefused(out.Reason, 1)
				}
			}
			links, err := e.linksAgain(p, page)
			if err != nil {
				return err
			}
			if err := e.offerOnceMore(links, now); err != nil {
				return err
			}
		}
		if err := e.drain(now); err != nil {
			return err
		}
		return e.apply(now, append(records, scoped(p, done))...)
	})
}

// linksAgain returns the links of a page that may be followed, as at its visit but without cash, of which those that
// were inside had all.
func (e *Engine) linksAgain(p weburl.Partition, page store.PageAt) ([]weburl.Link, error) {
	var links []weburl.Link
	if page.Versions > 0 && !page.NoFollow {
		stored, err := e.store.OutLinks(p, page.Fingerprint)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		links = discovery.PageLinks(stored, page.Page)
	}
	if !page.Redirect.IsZero() {
		links = append(links, discovery.RedirectLink(page.Redirect, page.Page))
	}
	return links, nil
}

// offerSitemaps offers the sitemaps that the robots.txt files of a partition's sites name.
func (e *Engine) offerSitemaps(p weburl.Partition) error {
	for row, err := range e.store.Sites(p) {
		if err != nil {
			return err
		}
		if row.Robots.Kept == 0 {
			continue
		}
		body, err := e.store.RobotsBody(row.Site)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		links := discovery.SitemapLinks(row.Site, body)
		if err := e.order(func(now time.Time) error { return e.offerOnceMore(links, now) }); err != nil {
			return err
		}
	}
	return nil
}
