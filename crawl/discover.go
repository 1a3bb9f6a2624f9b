package crawl

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"freshet/crawl/discovery"
	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// discovering takes the links of stored pages through the seen test. What becomes of them the finder says. The
// engine's writing guards it, but for scoping and the counts.
type discovering struct {
	seen     *seen.Test
	finder   *discovery.Finder
	scoping  sync.RWMutex // the finder's bounds are changed by who holds writing and scoping, and read by who holds either
	verdicts []seen.Verdict

	pages, sites atomic.Int64 // known
}

// bounds returns what the options say of what belongs to a crawl, with a scope.
func (c *current) bounds(scope frontier.Scope) discovery.Bounds {
	b := discovery.Bounds{Name: c.Scope, Scope: scope, URLs: c.rules.urls,
		Limits: discovery.Limits{Depth: c.MaxDepth, Pages: c.PagesPerSite}, Of: c.rules.limits}
	for _, rule := range c.rules.sites {
		b.Sites = append(b.Sites, discovery.SiteLimits{Match: rule.Match, Limits: rule.limits()})
	}
	return b
}

// startDiscovery begins with a seen test, and with a scope that knows of no seed.
func (e *Engine) startDiscovery(set *seen.Test) error {
	e.discover.seen = set
	scope, err := frontier.ParseScope(e.opt.Scope)
	if err != nil {
		return err
	}
	e.discover.finder = discovery.New(e.store, e.store.Partitions(), e.opt.ordering, e.reordering.knows,
		e.current().bounds(scope))
	return nil
}

// admits says whether a known page belongs to the crawl as it is now, and if not, why.
func (e *Engine) admits(page store.Page) (frontier.Reason, bool) {
	e.discover.scoping.RLock()
	defer e.discover.scoping.RUnlock()
	return e.discover.finder.Bounds().Admits(page)
}

// setBounds puts other bounds in force.
func (e *Engine) setBounds(b discovery.Bounds) {
	e.discover.scoping.Lock()
	defer e.discover.scoping.Unlock()
	e.discover.finder.SetBounds(b)
}

// pageLinks returns the links of a stored page with their shares of what it hands on; none if they may not be followed.
func (e *Engine) pageLinks(links []store.OutLink, page store.Page, follow bool) []weburl.Link {
	if !follow {
		return nil
	}
	out := discovery.PageLinks(links, page)
	discovery.Share(e.opt.ordering, page.URL, out)
	return out
}

// sitemapLinks returns the sitemaps that a robots.txt names.
func sitemapLinks(record *store.Robots) []weburl.Link {
	if !record.Keep {
		return nil
	}
	return discovery.SitemapLinks(record.Site, record.Body)
}

// discoverLinks offers the links of the record at mark to the seen test, with the cash that their page hands on, and
// lets it decide if many wait, whatever else is to be taken with them. Of links outside of the scope it only counts
// the refusals.
func (e *Engine) discoverLinks(mark seen.Mark, links []weburl.Link, cash float64, now time.Time) error {
	e.undecided.Store(true)
	e.discover.scoping.Lock()
	admitted := e.discover.finder.Admit(links, cash)
	e.discover.scoping.Unlock()
	if err := e.offer(mark, admitted, now, e.drain); err != nil {
		return err
	}
	if e.opt.OnLinks != nil {
		e.opt.OnLinks(admitted)
	}
	e.undecided.Store(true) // also if a drain made room
	if e.discover.finder.Full() || e.discover.seen.Due(now, math.MaxInt64) {
		return e.drain(now)
	}
	return nil
}

// rememberLinks offers links that are decided and stored: the set must know them, nobody the verdicts, and their cash
// has come to those that it was for.
func (e *Engine) rememberLinks(mark seen.Mark, links []weburl.Link, now time.Time) error {
	return e.offer(mark, e.admitAgain(links), now, func(time.Time) error { return e.dropVerdicts() })
}

// offerOnceMore offers links that were offered before; what was refused then is counted.
func (e *Engine) offerOnceMore(links []weburl.Link, now time.Time) error {
	e.undecided.Store(true)
	return e.offer(seen.Mark{}, e.admitAgain(links), now, e.drain)
}

func (e *Engine) admitAgain(links []weburl.Link) []weburl.Link {
	e.discover.scoping.Lock()
	defer e.discover.scoping.Unlock()
	return e.discover.finder.AdmitAgain(links)
}

// offer offers links to the seen test, having made room for them if there is none.
func (e *Engine) offer(mark seen.Mark, links []weburl.Link, at time.Time, makeRoom func(time.Time) error) error {
	test := e.discover.seen
	for rest := links; ; {
		some, from := rest, seen.Mark{Partition: mark.Partition} // a record of which only some links are known is not marked
		if some = fewLinks(rest, e.plan.waiting/2); len(some) == len(rest) {
			from = mark
		}
		err := test.Offer(from, some, at)
		if errors.Is(err, seen.ErrFull) {
			if err = makeRoom(at); err == nil {
				err = test.Offer(from, some, at)
			}
		}
		if err != nil {
			return fmt.Errorf("crawl: offer the links of record %d of partition %d: %w", mark.Record, mark.Partition, err)
		}
		if rest = rest[len(some):]; len(rest) == 0 {
			return nil
		}
	}
}

// fewLinks returns the first links that take no more than so many bytes while they wait, but one at least. Of a page
// with more than that, a crash in between may pay the first ones' cash twice.
func fewLinks(links []weburl.Link, bytes int64) []weburl.Link {
	for i := range links {
		if bytes -= int64(seen.Bytes(links[i : i+1])); bytes < 0 {
			return links[:max(i, 1)]
		}
	}
	return links
}

// addSeeds takes seeds to the seen test, lets it decide, and makes seeds of those pages that were known as something
// else.
func (e *Engine) addSeeds(seeds []weburl.URL, now time.Time) error {
	met := make(map[weburl.URL]bool, len(seeds))
	var known []store.Record
	for _, u := range seeds {
		if met[u] {
			continue
		}
		met[u] = true
		link, record, err := e.discover.finder.Seed(u, now)
		if err != nil {
			return err
		}
		if record != nil {
			known = append(known, record)
		}
		if err := e.discoverLinks(seen.Mark{}, []weburl.Link{link}, 1, now); err != nil {
			return err
		}
	}
	if err := e.drain(now); err != nil {
		return err
	}
	return e.apply(now, known...)
}

// drain lets the seen test decide, stores what is new, tells the frontier, and lets the set keep it.
func (e *Engine) drain(now time.Time) error {
	if err := e.settle(now); err != nil {
		return err
	}
	signal(e.wake)
	return e.keepSeen()
}

// settle lets the seen test decide, stores what is new and tells the frontier.
func (e *Engine) settle(now time.Time) error {
	d := &e.discover
	verdicts, marks, err := e.decide(d.verdicts[:0])
	d.verdicts = verdicts
	if err != nil {
		return err
	}
	found, err := d.finder.Settle(verdicts, marks, d.seen.Marks(), now)
	if err != nil {
		return err
	}
	d.pages.Add(int64(found.Pages))
	d.sites.Add(int64(found.Sites))
	for _, r := range found.Refused {
		e.tally.countRefused(r.Reason, r.Count)
	}
	if len(found.Records) > 0 {
		moves, err := e.store.Apply(found.Records...)
		if err != nil {
			return fmt.Errorf("crawl: store what is new: %w", err)
		}
		if err := e.tellMoves(moves, now); err != nil {
			return err
		}
	}
	e.undecided.Store(false)
	return nil
}

// dropVerdicts lets the seen test decide and keep, and drops the verdicts.
func (e *Engine) dropVerdicts() error {
	if _, _, err := e.decide(nil); err != nil {
		return err
	}
	return e.keepSeen()
}

// decide drains the seen test. If the set turns out to be damaged it is rebuilt, and asked again.
func (e *Engine) decide(dst []seen.Verdict) (verdicts []seen.Verdict, marks []seen.Mark, err error) {
	verdicts, marks, err = e.discover.seen.Drain(dst)
	if errors.Is(err, seen.ErrDamaged) {
		if err = e.rebuildSeen(e.discover.finder.Linked()); err == nil {
			verdicts, marks, err = e.discover.seen.Drain(dst)
		}
	}
	if err != nil {
		return verdicts, nil, fmt.Errorf("crawl: seen test: %w", err)
	}
	return verdicts, marks, nil
}

// keepSeen makes durable what was decided. All of that is stored, so that a set which turns out to be
// damaged may be made again from the page table instead.
func (e *Engine) keepSeen() error {
	err := e.discover.seen.Keep()
	if errors.Is(err, seen.ErrDamaged) {
		err = e.rebuildSeen(e.discover.finder.Linked())
	}
	if err != nil {
		return fmt.Errorf("crawl: keep the seen set: %w", err)
	}
	return nil
}
