package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// What an operator may ask of a crawl, whether it runs or is only open. Every order is a record, or has
// none because the settings it comes from are read again at the next start; so it outlives a crash from
// the moment its method returns. All methods are safe for concurrent use until Close.

// ErrUnknown is returned for a page or site that the crawl does not know.
var ErrUnknown = errors.New("crawl: unknown")

// ErrOrder is returned for an order that makes no sense.
var ErrOrder = errors.New("crawl: wrong order")

// Add adds seeds and returns how many of them were not known. A seed that the rules refuse, or a guard,
// is in refused with the reason. Known pages become seeds too and are not fetched again for it.
func (e *Engine) Add(seeds []weburl.URL) (added int64, refused map[string]string, err error) {
	refused = map[string]string{}
	err = e.order(func(now time.Time) error {
		before := e.discover.pages.Load()
		if err := e.addSeeds(seeds, now); err != nil {
			return err
		}
		added = e.discover.pages.Load() - before
		for _, u := range seeds {
			_, _, err := e.store.PageOf(u)
			switch {
			case errors.Is(err, store.ErrNotFound):
				refused[u.String()] = e.whyRefused(u)
			case err != nil:
				return fmt.Errorf("crawl: add %s: %w", u, err)
			}
		}
		return nil
	})
	return added, refused, err
}

// whyRefused returns why a seed did not become a page.
func (e *Engine) whyRefused(u weburl.URL) string {
	if reason, is := e.current().rules.urls.Refuse(u); is {
		return reason.String()
	}
	return "guard"
}

// PauseAll lets nothing more be asked for, or lets the crawl go on.
func (e *Engine) PauseAll(paused bool) error {
	return e.order(func(now time.Time) error {
		var records []store.Record
		for p := range e.store.Partitions() {
			records = append(records, &store.Paused{Partition: weburl.Partition(p), Since: since(paused, now)})
		}
		if err := e.apply(now, records...); err != nil {
			return err
		}
		e.setPaused(paused)
		return nil
	})
}

func (e *Engine) setPaused(paused bool) {
	e.paused.Store(paused)
	e.mu.Lock()
	e.front.PauseAll(paused)
	e.mu.Unlock()
}

func since(paused bool, now time.Time) int64 {
	if !paused {
		return 0
	}
	return now.UnixNano()
}

// Pause lets nothing more of a site be asked for, or lets it be asked again. It returns ErrUnknown for a
// site of which no page is known.
func (e *Engine) Pause(site weburl.Site, paused bool) error {
	return e.order(func(now time.Time) error {
		if err := e.known(site); err != nil {
			return err
		}
		if err := e.apply(now, &store.Paused{Partition: e.partition(site), Site: site, Since: since(paused, now)}); err != nil {
			return err
		}
		e.mu.Lock()
		e.front.Pause(site, paused, now)
		e.mu.Unlock()
		return nil
	})
}

// Block lets nothing of a host be asked for until then, or ever if until is zero. The host need not be
// known.
func (e *Engine) Block(host string, until time.Time) error {
	return e.gate(host, func(now time.Time) (frontier.Gate, error) {
		if !until.IsZero() && !until.After(now) {
			return frontier.Gate{}, fmt.Errorf("%w: block %s until %s, which is past", ErrOrder, host, until.UTC().Format(time.RFC3339))
		}
		return e.front.Block(host, until, now), nil
	})
}

// Unblock lifts a Block.
func (e *Engine) Unblock(host string) error {
	return e.gate(host, func(now time.Time) (frontier.Gate, error) { return e.front.Unblock(host, now), nil })
}

// gate changes a host's gate, which set does with the frontier in hand.
func (e *Engine) gate(host string, set func(time.Time) (frontier.Gate, error)) error {
	root, err := weburl.Parse("http://" + host + "/")
	if err != nil || root.Host() != host {
		return fmt.Errorf("%w: host %q: want a name in lower case or an address, such as example.org", ErrOrder, host)
	}
	host = root.Site().Name()
	return e.order(func(now time.Time) error {
		if err := e.hold(root.Site(), now); err != nil {
			return err
		}
		e.mu.Lock()
		gate, err := set(now)
		e.mu.Unlock()
		if err != nil {
			return err
		}
		return e.apply(now, &store.Gated{Partition: e.partition(root.Site()), Host: host, Gate: *storedGate(gate)})
	})
}

// hold makes sure that the frontier knows what is stored of a host's gate before that is changed.
func (e *Engine) hold(site weburl.Site, now time.Time) error {
	stored, err := e.store.Gate(e.partition(site), site.Host())
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("crawl: gate of %s: %w", site.Host(), err)
	}
	e.mu.Lock()
	e.front.Reopen(site.Host(), loadedGate(stored), now)
	e.mu.Unlock()
	return nil
}

// Recrawl makes a page due now, and lifts what set it aside (MaxStrikes). It returns ErrUnknown for a page that is not known or was purged.
func (e *Engine) Recrawl(u weburl.URL) error {
	return e.order(func(now time.Time) error {
		row, fp, err := e.store.PageOf(u)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("%w: page %s", ErrUnknown, u)
		case err != nil:
			return fmt.Errorf("crawl: recrawl %s: %w", u, err)
		case row.State == store.StatePurged:
			return fmt.Errorf("%w: page %s was purged", ErrUnknown, u)
		}
		return e.apply(now, &store.Planned{Partition: e.partition(u.Site()), Fingerprint: fp, Due: now.UnixNano(), Lift: true})
	})
}

// RecrawlSite makes all pages of a site due now, but for those that wait to be fetched for the first
// time, were purged, or are of a type of content that the rules do not refresh. It returns how many.
func (e *Engine) RecrawlSite(site weburl.Site) (pages int64, err error) {
	rule := e.current().rules.of(site)
	return e.eachOf(site, func(row store.PageAt, now time.Time) store.Record {
		if !row.Visited && row.Strikes == 0 || row.State == store.StatePurged || row.Versions > 0 && !rule.Refresh.Has(row.ContentType) {
			return nil
		}
		return &store.Planned{Partition: e.partition(site), Fingerprint: row.Fingerprint, Due: now.UnixNano(), Lift: true}
	})
}

// Purge takes a page down for good, in every crawl of the directory: its versions, visits and links go at once, a tombstone keeps it from
// being found again, and soon after its bytes are in no file of the directory any more; see
// store.Store.BeginPurge. It returns ErrUnknown for a page that is not known.
func (e *Engine) Purge(u weburl.URL) error {
	if _, _, err := e.store.PageOf(u); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: page %s", ErrUnknown, u)
	} else if err != nil {
		return fmt.Errorf("crawl: purge %s: %w", u, err)
	}
	_, err := e.takeDown(store.Target{URL: u})
	return err
}

// PurgeSite takes down a site as Purge does a page, lets no page of it in any more, and returns how many
// it had.
func (e *Engine) PurgeSite(site weburl.Site) (pages int64, err error) {
	if err := e.known(site); err != nil {
		return 0, err
	}
	return e.takeDown(store.Target{Site: site})
}

// CountPurge returns how many pages a purge of a target would take down in this crawl. It returns ErrUnknown for a
// page or site that is not known.
func (e *Engine) CountPurge(target store.Target) (pages int64, err error) {
	if target.URL.IsZero() {
		if err := e.known(target.Site); err != nil {
			return 0, err
		}
	}
	pages, err = e.store.Count(target)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("%w: page %s", ErrUnknown, target)
	}
	return pages, err
}

// takeDown purges in the database, and leaves the files to the keeper.
func (e *Engine) takeDown(target store.Target) (pages int64, err error) {
	defer signal(e.keeper.purge)
	err = e.order(func(now time.Time) error {
		before, err := e.store.Total()
		if err != nil {
			return err
		}
		moves, err := e.store.BeginPurge(now, target)
		if err != nil {
			return fmt.Errorf("crawl: purge %s: %w", target, err)
		}
		after, err := e.store.Total()
		pages = after.States[store.StatePurged] - before.States[store.StatePurged]
		return errors.Join(err, e.tellMoves(moves, now))
	})
	if e.refresher != nil {
		e.refresher.takenDown(target)
	}
	return pages, err
}

// perOrder bounds the pages that one order holds up the crawl for.
const perOrder = 256

// eachOf applies a record to every page of a site for which there is one, and returns to how many. The
// crawl goes on between one lot of them and the next.
func (e *Engine) eachOf(site weburl.Site, record func(store.PageAt, time.Time) store.Record) (n int64, err error) {
	if err := e.known(site); err != nil {
		return 0, err
	}
	now := e.opt.Clock.Now()
	var records []store.Record
	apply := func() error {
		err := e.order(func(now time.Time) error { return e.apply(now, records...) })
		records = records[:0]
		return err
	}
	for row, err := range e.store.Pages(e.partition(site)) {
		if err != nil {
			return n, fmt.Errorf("crawl: pages of %s: %w", site, err)
		}
		if row.URL.Site() != site {
			continue
		}
		if r := record(row, now); r != nil {
			records = append(records, r)
			n++
		}
		if len(records) == perOrder {
			if err := apply(); err != nil {
				return n, err
			}
		}
	}
	return n, apply()
}

// Reload puts in force of opt what may change while a crawl runs: seeds (new ones are added), scope and
// rules, delays, retries, the limits on pages and depths, Fetch.In and Fetch.Out. Everything else of opt is ignored. If
// something is wrong with it nothing has changed. Pages that are queued and no longer belong to the crawl are
// refused on their turn; a wider scope takes in links that are found from now on, and those found before at the next
// Run.
func (e *Engine) Reload(opt Options) error {
	next := e.current().Options
	next.Seeds, next.Scope, next.Rules = opt.Seeds, opt.Scope, opt.Rules
	next.Delay, next.AdaptiveDelay, next.AddressDelay = opt.Delay, opt.AdaptiveDelay, opt.AddressDelay
	next.Retries, next.RetryDelay = opt.Retries, opt.RetryDelay
	next.MaxPages, next.MaxDepth, next.PagesPerSite = opt.MaxPages, opt.MaxDepth, opt.PagesPerSite
	next, err := next.withDefaults()
	if err != nil {
		return err
	}
	scope, err := frontier.ParseScope(next.Scope)
	if err != nil {
		return err
	}
	return e.order(func(now time.Time) error {
		for p := range e.store.Partitions() {
			for row, err := range e.store.Sites(weburl.Partition(p)) {
				if err != nil {
					return fmt.Errorf("crawl: reload: %w", err)
				}
				if row.Seed {
					scope.AddSite(row.Site)
				}
			}
		}
		for _, seed := range e.current().Seeds {
			scope.AddSeed(seed)
		}
		c := newCurrent(next)
		e.mu.Lock()
		err := e.front.Reload(c.frontierOptions(), now)
		e.mu.Unlock()
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(next.Seeds), func(u weburl.URL) bool { return slices.Contains(e.current().Seeds, u) })
		e.setBounds(c.bounds(scope))
		e.inForce.Store(c)
		e.in.Follow(opt.Fetch.In)
		e.out.Follow(opt.Fetch.Out)
		return e.addSeeds(fresh, now)
	})
}

// order carries out an operator's order while nobody else changes the crawl, and lets the dispatcher
// look again.
func (e *Engine) order(do func(now time.Time) error) error {
	defer signal(e.wake)
	return e.alone(func() error {
		if e.broken.Load() {
			return fmt.Errorf("crawl: it has stopped: %w", e.err)
		}
		return do(e.opt.Clock.Now())
	})
}

// apply stores records and tells the frontier what became of the queues.
func (e *Engine) apply(now time.Time, records ...store.Record) error {
	if len(records) == 0 {
		return nil
	}
	moves, err := e.store.Apply(records...)
	if err != nil {
		return fmt.Errorf("crawl: store an order: %w", err)
	}
	return e.tellMoves(moves, now)
}

func (e *Engine) partition(site weburl.Site) weburl.Partition {
	return e.store.Home(site)
}

// known returns ErrUnknown for a site without a row.
func (e *Engine) known(site weburl.Site) error {
	_, err := e.store.Site(site)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: site %s", ErrUnknown, site)
	}
	return err
}
