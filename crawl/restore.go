package crawl

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"freshet/frontier"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// ErrNothing is returned by Open where there is neither a seed nor a crawl to go on with.
var ErrNothing = errors.New("crawl: nothing to crawl: no seed, and no crawl to go on with")

// restore brings the engine to where the records are: the frontier from the sites' rows, the seen
// test from its own set and the records it has not kept, then the seeds.
func (e *Engine) restore() error {
	now := e.opt.Clock.Now()
	d := &e.discover
	queued := false
	share, err := e.recallShare()
	if err != nil {
		return err
	}
	for p := range e.store.Partitions() {
		for row, err := range e.store.Sites(weburl.Partition(p)) {
			if err != nil {
				return fmt.Errorf("crawl: restore sites: %w", err)
			}
			d.sites.Add(1)
			d.pages.Add(row.Pages)
			if row.Seed {
				d.finder.Bounds().Scope.AddSite(row.Site)
			}
			if disobeyed(row.Robots) {
				e.obeys.add(row.Site)
			}
			queued = queued || row.New+row.Due > 0
			if row.New+row.Due == 0 && !watched(row) {
				continue
			}
			info, err := siteInfo(e.store, e.robots, row.Site)
			if err != nil {
				return err
			}
			e.front.Restore(info, now)
			if err := e.recallCash(row.Site, share); err != nil {
				return err
			}
		}
		total, err := e.store.Counters(weburl.Partition(p))
		if err != nil {
			return fmt.Errorf("crawl: restore: %w", err)
		}
		if total.Paused != 0 {
			e.setPaused(true)
		}
	}
	start := e.store.Start()
	if !start.Fresh {
		e.front.AfterStop(now)
	}
	if !start.Fresh && !start.Clean {
		e.front.AfterUncleanStop(now)
	}
	if err := e.catchUp(); err != nil {
		return err
	}
	if err := e.addSeeds(e.opt.Seeds, now); err != nil {
		return err
	}
	if !queued && len(e.opt.Seeds) == 0 && d.pages.Load() == 0 && !e.opt.Wait {
		return fmt.Errorf("%w in %s", ErrNothing, e.opt.Dir)
	}
	if !start.Fresh {
		e.opt.Logger.Info("goes on", "pages", d.pages.Load(), "sites", d.sites.Load(), "clean", start.Clean,
			"last_alive", start.LastAlive, "mended", start.Truncated)
	}
	return nil
}

// recallShare returns how many waiting pages of each site the seen test is to recall the cash of: as many
// as its cache has room for.
func (e *Engine) recallShare() (int, error) {
	if !e.opt.paysCash() {
		return 0, nil
	}
	total, err := e.store.Total()
	if err != nil {
		return 0, fmt.Errorf("crawl: restore: %w", err)
	}
	return seen.CacheEntries(e.opt.Connections) / max(1, int(total.Sites)), nil
}

// recallCash tells the seen test of the cash that the first n new pages of a site have. Links to them will
// come soon, and after a restart the test would take each page for one that was never told anything.
func (e *Engine) recallCash(site weburl.Site, n int) error {
	entries, err := e.store.ReadQueue(nil, site, store.NewQueue, store.Key{}, n)
	if err != nil {
		return fmt.Errorf("crawl: restore %s: %w", site, err)
	}
	for _, entry := range entries {
		e.discover.seen.Recall(entry.Fingerprint, entry.Cash)
	}
	return nil
}

// siteInfo returns what the store knows of a site.
func siteInfo(s *store.Store, rules *robotsRules, site weburl.Site) (info frontier.SiteInfo, err error) {
	fail := func(err error) (frontier.SiteInfo, error) {
		return info, fmt.Errorf("crawl: restore %s: %w", site, err)
	}
	row, err := s.Site(site)
	if err != nil {
		return fail(err)
	}
	gate, err := s.Gate(s.Home(site), site.Host())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fail(err)
	}
	info = frontier.SiteInfo{Site: site, New: int(row.New), Due: int(row.Due), Cash: row.Cash.Cash(), Paused: row.Paused != 0, RobotsUntil: fromUnix(row.Robots.Expires), RobotsWatched: watched(row), Gate: loadedGate(gate)}
	if row.Robots.Kept == 0 {
		info.RobotsUntil = time.Time{} // none was had, whatever the last answer was taken for: it is asked for again
	}
	for _, queue := range []struct {
		name  store.Queue
		count int
		first *frontier.Key
	}{{store.NewQueue, info.New, &info.FirstNew}, {store.DueQueue, info.Due, &info.FirstDue}} {
		if queue.count == 0 {
			continue
		}
		entries, err := s.ReadQueue(nil, site, queue.name, store.Key{}, 1)
		if err != nil {
			return fail(err)
		}
		if len(entries) > 0 {
			*queue.first = frontier.Key(entries[0].Key)
		}
	}
	if row.Robots.Kept != 0 {
		standing, err := rules.of(site)
		if err != nil {
			return fail(err)
		}
		info.CrawlDelay, _ = standing.Rules.CrawlDelay()
	}
	return info, nil
}

// catchUp takes the seen test to the last record of every partition. What lies between the set's mark
// and the links' is decided and stored already: it is offered so that the set knows it, and the
// verdicts are dropped. What lies after is decided now.
func (e *Engine) catchUp() error {
	d := &e.discover
	if err := e.readMarks(); err != nil {
		return err
	}
	links, kept := d.finder.Linked(), d.finder.Kept()
	set := map[weburl.Partition]uint64{}
	for _, mark := range d.seen.Marks() {
		set[mark.Partition] = mark.Record
	}
	behind := d.seen.Lost()
	for p, mark := range kept {
		behind = behind || set[weburl.Partition(p)] < mark
	}
	if behind {
		if err := e.rebuildSeen(links); err != nil {
			return err
		}
		for p, mark := range links {
			set[weburl.Partition(p)] = mark
		}
	}
	for p := range links {
		if err := e.offerRecords(weburl.Partition(p), set[weburl.Partition(p)], links[p], false); err != nil {
			return err
		}
	}
	if err := e.dropVerdicts(); err != nil {
		return err
	}
	for p := range links {
		from := max(links[p], set[weburl.Partition(p)])
		if err := e.offerRecords(weburl.Partition(p), from, 1<<64-1, true); err != nil {
			return err
		}
	}
	return nil
}

// readMarks reads, by partition, the last record whose links are decided and the last that the set had
// kept when that was noted.
func (e *Engine) readMarks() error {
	for p := range e.store.Partitions() {
		marks, err := e.store.Marks(weburl.Partition(p))
		if err != nil {
			return fmt.Errorf("crawl: marks: %w", err)
		}
		e.discover.finder.Resume(weburl.Partition(p), marks)
	}
	return nil
}

// rebuildSeen makes a set that is of no use anew.
func (e *Engine) rebuildSeen(links []uint64) error {
	if !e.store.Start().Fresh {
		e.opt.Logger.Warn("the set of seen URLs is lost or behind: it is rebuilt from the page table")
	}
	return e.fillSeen(links)
}

// fillSeen makes the set anew from the page table. What memory that has taken goes back to the system: the
// crawl would hold it for minutes.
func (e *Engine) fillSeen(links []uint64) error {
	if !e.store.Start().Fresh {
		defer debug.FreeOSMemory()
	}
	marks := make([]seen.Mark, len(links))
	for p, record := range links {
		marks[p] = seen.Mark{Partition: weburl.Partition(p), Record: record}
	}
	var fault error
	if err := e.discover.seen.Rebuild(e.knownPages(&fault), marks); err != nil {
		return fmt.Errorf("crawl: rebuild the seen set: %w", err)
	}
	return fault
}

// knownPages iterates over all pages, as links to them.
func (e *Engine) knownPages(fault *error) iter.Seq[weburl.Link] {
	return func(yield func(weburl.Link) bool) {
		for p := range e.store.Partitions() {
			for row, err := range e.store.Pages(weburl.Partition(p)) {
				if err != nil {
					*fault = fmt.Errorf("crawl: page table: %w", err)
					return
				}
				if !yield(weburl.Link{URL: row.URL, Fingerprint: row.URL.Fingerprint(), Depth: row.Depth}) {
					return
				}
			}
		}
	}
}

// offerRecords offers the links of a partition's records after number from, up to number to.
func (e *Engine) offerRecords(p weburl.Partition, from, to uint64, decide bool) error {
	now := e.opt.Clock.Now()
	errEnd := errors.New("end")
	err := e.store.Records(p, from, func(n uint64, r store.Record) error {
		if n > to {
			return errEnd
		}
		links, cash, err := e.recordLinks(r)
		if err != nil {
			return err
		}
		mark := seen.Mark{Partition: p, Record: n}
		if decide {
			return e.discoverLinks(mark, links, cash, now)
		}
		return e.rememberLinks(mark, links, now)
	})
	if err != nil && !errors.Is(err, errEnd) {
		return fmt.Errorf("crawl: records of partition %d: %w", p, err)
	}
	return nil
}

// recordLinks returns the links that a record brings, and the cash that their page hands on to them.
func (e *Engine) recordLinks(r store.Record) (links []weburl.Link, cash float64, err error) {
	switch r := r.(type) {
	case *store.Robots:
		return sitemapLinks(r), 0, nil
	case *store.Fetched:
		row, _, err := e.store.PageOf(r.URL)
		if err != nil {
			return nil, 0, err
		}
		links, err := store.DecodeLinks(r.Links)
		if err != nil {
			return nil, 0, err
		}
		return e.pageLinks(links, row, !r.NoFollow), r.Paid, nil
	}
	return nil, 0, nil
}
