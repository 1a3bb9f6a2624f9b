package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// admits says whether a page that is known belongs to the crawl by the options in force, and if not, why.
func (d *discovery) admits(page store.Page) (frontier.Reason, bool) {
	d.scoping.RLock()
	defer d.scoping.RUnlock()
	return d.engine.current().admits(d.scope, page)
}

// admits says whether a known page belongs to a crawl of that scope. What an operator has given, a seed or an
// import, belongs to it unless a pattern says otherwise.
func (c *current) admits(scope frontier.Scope, page store.Page) (frontier.Reason, bool) {
	if page.Seed || page.Rel == weburl.RelNone || page.Rel == weburl.RelSeed {
		reason, refused := c.rules.urls.Refuse(page.URL)
		return reason, !refused
	}
	way := weburl.Link{Depth: page.Depth, Hops: page.Hops}
	if reason, ok := c.rules.guard(page.URL.Site(), c.guard()).AdmitWay(way); !ok {
		return reason, false
	}
	return c.rules.urls.Admit(scope, page.URL)
}

// outOfCrawl says whether a page was refused for a reason that another scope may lift.
func outOfCrawl(page store.Page) bool {
	switch page.Reason {
	case frontier.OutOfScope.String(), frontier.TooDeep.String(), frontier.TooManyRedirects.String(), frontier.Excluded.String(), frontier.OptedOut.String():
		return page.Queue == store.NoQueue && page.State != store.StatePurged
	}
	return false
}

// scopeDigest returns a number that tells apart what options and seeds make of the crawl's bounds, never 0.
func (e *Engine) scopeDigest() uint64 {
	now, d := e.current(), e.discover
	d.scoping.RLock()
	defer d.scoping.RUnlock()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %x %x %x %d %d", now.Scope, d.scope.Digest(), now.rules.urls.Include.Digest(), now.rules.urls.Exclude.Digest(),
		now.MaxDepth, now.PagesPerSite)
	for _, rule := range now.rules.sites {
		if rule.Pages > 0 || rule.Depth > 0 {
			fmt.Fprintf(&text, "\n%s %d %d", rule.Match, rule.Pages, rule.Depth)
		}
	}
	return max(1, xxh3.HashString(text.String()))
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
	if err := e.alone(func() error { return e.fillSeen(e.discover.linked) }); err != nil {
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
			if r := e.readmit(p, page, now); r != nil {
				records = append(records, r)
			}
			links, err := e.linksAgain(p, page)
			if err != nil {
				return err
			}
			if err := e.discover.offerOnceMore(links, now); err != nil {
				return err
			}
		}
		if err := e.discover.drain(now); err != nil {
			return err
		}
		return e.apply(now, append(records, scoped(p, done))...)
	})
}

// readmit returns the record that takes a page out of its queue which is outside now, or makes one due that was
// refused for that and is inside; nil if it stays where it is.
func (e *Engine) readmit(p weburl.Partition, page store.PageAt, now time.Time) store.Record {
	reason, inside := e.discover.admits(page.Page)
	switch {
	case !inside && page.Queue != store.NoQueue:
		e.tally.countRefused(reason.String(), 1)
		return &store.Refused{URL: page.URL, At: now.UnixNano(), Reason: reason.String()}
	case inside && outOfCrawl(page.Page):
		return &store.Planned{Partition: p, Fingerprint: page.Fingerprint, Due: now.UnixNano()}
	}
	return nil
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
		links = pageLinks(stored, page.Page, true)
	}
	if !page.Redirect.IsZero() {
		links = append(links, redirectLink(page.Redirect, page.Page))
	}
	return links, nil
}

// offerOnceMore offers links that were offered before; what was refused then is counted.
func (d *discovery) offerOnceMore(links []weburl.Link, now time.Time) error {
	d.engine.undecided.Store(true)
	return d.offerLinks(seen.Mark{}, links, 0, now, func(weburl.Link, frontier.Reason) {}, d.drain)
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
		links := sitemapLinks(row.Site, &store.Robots{Keep: true, Body: body})
		if err := e.order(func(now time.Time) error { return e.discover.offerOnceMore(links, now) }); err != nil {
			return err
		}
	}
	return nil
}
