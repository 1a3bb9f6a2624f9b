package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// ErrNothing is returned by Step if there is neither a seed nor a crawl to continue.
var ErrNothing = errors.New("crawl: nothing to crawl: no seed, and no crawl to go on with")

// New returns a shard that continues where the records end. The caller must call Step until Work.Ready; then the shard
// waits for Begin. New returns an error if the rows cannot be read or the settings are wrong. O(sites). If the copy is
// kept fresh, the first Steps also read the visits to the pages, see Remembers.
func New(rows Rows, links Links, settings Settings, now time.Time) (*Shard, error) {
	rules := newRulebook(settings.Rules)
	scope, err := frontier.ParseScope(settings.Scope)
	if err != nil {
		return nil, err
	}
	owned, err := tenures(settings)
	if err != nil {
		return nil, err
	}
	s := &Shard{
		tenures: owned, since: make([]uint64, settings.Partitions), taken: make([]time.Time, settings.Partitions), walks: map[weburl.Partition]int{}, widened: map[weburl.Site]bool{},
		exchange: exchange{
			out: make([]*outbox, settings.Partitions), in: make([]map[weburl.Partition]*inbox, settings.Partitions),
		},
		settings: settings, rules: rules, rows: rows, seen: links, now: now,
		book:   robots.NewBook(settings.Agent, settings.TDMRep, settings.RobotsBytes),
		places: newPlaces(settings.Ordering), pings: newPings(settings.Refresh, now),
		obeys: obedience{waiting: map[weburl.Site]bool{}}, rests: map[weburl.Site]bool{}, turns: map[Turn]*turn{}, away: away{}, unstored: map[weburl.Site]unstored{},
		counts: Counts{Errors: map[string]int64{}, Refused: map[string]int64{}},
	}
	options := settings.FrontierOptions(rules.manners)
	options.Taken = s.takenAt
	s.front, err = frontier.New(options, s.queues())
	if err != nil {
		return nil, err
	}
	s.finder = discovery.New(rows, settings.Partitions, settings.Ordering, s.places.knows, settings.Bounds(scope, rules.limits))
	queued, err := s.restore()
	if err != nil {
		return nil, err
	}
	if settings.Refresh != nil {
		s.fresh, err = newFresh(*settings.Refresh, rows, hosts{s}, settings.Delay, settings.Second, now)
		if err == nil {
			s.fresh.belief.Find(s.fresh.at(s.home))
			err = s.remember(slices.Collect(s.owned())...)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.catchUp(queued)
}

// restore restores the sites from their rows, and reports whether pages are queued.
func (s *Shard) restore() (queued bool, err error) {
	if err := s.addSites(s.finder.Bounds().Scope); err != nil {
		return false, err
	}
	for p := range s.owned() {
		waits, err := s.restoreSites(p)
		if err == nil {
			err = s.resume(p)
		}
		if err != nil {
			return false, err
		}
		queued = queued || waits
	}
	if start := s.rows.Start(); !start.Fresh {
		s.front.AfterStop(s.now)
		if !start.Clean {
			s.front.AfterUncleanStop(s.now)
		}
	}
	each := s.settings.Recalled / max(1, int(s.counts.Sites))
	for p := range s.owned() {
		if err := s.recallCash(p, each); err != nil {
			return false, err
		}
	}
	return queued, nil
}

// addSites adds to a scope all sites that have a seed. It adds the settings' seeds before a row shows them: links to
// another shard's seeds may be replayed before that shard has stored the seeds.
func (s *Shard) addSites(scope frontier.Scope) error {
	for _, seed := range s.settings.Seeds {
		scope.AddSeed(seed)
	}
	for site := range s.widened {
		scope.AddSite(site)
	}
	for p := range weburl.Partition(s.settings.Partitions) {
		for row, err := range s.rows.Sites(p) {
			if err != nil {
				return fmt.Errorf("crawl: scope: %w", err)
			}
			if row.Seed {
				scope.AddSite(row.Site)
			}
		}
	}
	return nil
}

// resume records how far the records of a partition have been read.
func (s *Shard) resume(p weburl.Partition) error {
	total, err := s.rows.Counters(p)
	if err != nil {
		return fmt.Errorf("crawl: restore: %w", err)
	}
	if total.Paused != 0 {
		s.setPaused(true)
	}
	s.since[p] = total.Owner.Record
	marks, err := s.rows.Marks(p)
	if err != nil {
		return fmt.Errorf("crawl: marks: %w", err)
	}
	s.finder.Resume(p, marks)
	return s.openBoxes(p, marks)
}

// restoreSites restores the sites of a partition, and reports whether pages are queued.
func (s *Shard) restoreSites(p weburl.Partition) (queued bool, err error) {
	for row, err := range s.rows.Sites(p) {
		if err != nil {
			return false, fmt.Errorf("crawl: restore sites: %w", err)
		}
		queued = queued || row.New+row.Due > 0
		if err := s.restoreSite(row); err != nil {
			return false, err
		}
	}
	return queued, nil
}

func (s *Shard) restoreSite(row store.SiteRow) error {
	s.counts.Sites++
	s.counts.Known += row.Pages
	s.met = s.met || row.Robots.Kept != 0 || row.Robots.Status != 0
	s.noteRest(row.Site, row.Paused != 0)
	s.rules.pace(row.Site, row.Pace)
	if disobeyed(row.Robots) {
		s.obeys.waiting[row.Site] = true
	}
	if !held(row) {
		return nil
	}
	info, err := s.siteInfo(row.Site)
	if err != nil {
		return err
	}
	begunAnew(&info, row)
	if err := s.takeIn(info); err != nil {
		return err
	}
	return s.obeyAnew(row)
}

// recallCash passes the cash of the first new pages of each site of a partition to the seen test. Links to these pages
// will come soon, and after a restart the test would assume that each has no cash.
func (s *Shard) recallCash(p weburl.Partition, each int) error {
	if _, pays := s.settings.Ordering.(frontier.Payer); !pays {
		return nil
	}
	for row, err := range s.rows.Sites(p) {
		if err != nil {
			return fmt.Errorf("crawl: restore sites: %w", err)
		}
		if !held(row) {
			continue
		}
		entries, err := s.rows.ReadQueue(nil, row.Site, store.NewQueue, store.Key{}, each)
		if err != nil {
			return fmt.Errorf("crawl: restore %s: %w", row.Site, err)
		}
		for _, entry := range entries {
			s.seen.Recall(entry.Fingerprint, entry.Cash)
		}
	}
	return nil
}

// catchUp brings the seen test up to the last record of every partition, then adds the seeds. Links between the disk
// set's mark and the links' mark are decided and stored already; they are offered so that the set knows them, and the
// verdicts are dropped. Later links are decided. If the set lacks a partition that the shard owns, or part of one, it
// is filled again.
func (s *Shard) catchUp(queued bool) error {
	links, kept := s.finder.Linked(), s.finder.Kept()
	set := make([]uint64, s.settings.Partitions)
	for _, mark := range s.seen.Marks() {
		set[mark.Partition] = mark.Record
	}
	behind := s.seen.Lost()
	var taken []store.Record
	for p := range s.owned() {
		behind = behind || set[p] < max(kept[p], s.since[p])
		total, err := s.rows.Counters(p)
		if err != nil {
			return fmt.Errorf("crawl: restore: %w", err)
		}
		if total.Owner.Name != s.settings.Name {
			taken = append(taken, &store.Taken{Partition: p, By: s.settings.Name})
		}
	}
	remember := func() error {
		s.offers.drop = true
		return s.replayAll(set, links, offered{again: true}, func() error {
			s.offers.whenDecided(func() error {
				s.offers.drop = false
				return s.replayUnsent(slices.Collect(s.owned()), func() error {
					return s.replayAll(links, nil, offered{}, func() error { return s.takeSeeds(queued) })
				})
			})
			return nil
		})
	}
	return s.propose(taken, func() error {
		for _, r := range taken {
			p := r.(*store.Taken).Partition
			total, err := s.rows.Counters(p)
			if err != nil {
				return fmt.Errorf("crawl: restore: %w", err)
			}
			s.since[p] = total.Owner.Record
		}
		if behind || len(taken) > 0 {
			copy(set, links)
			s.rebuild(remember)
			return nil
		}
		return remember()
	})
}

// replayAll replays the records of all owned partitions, from some numbers to others. A nil to means the last record.
func (s *Shard) replayAll(from, to []uint64, how offered, then func() error) error {
	partitions := slices.Collect(s.owned())
	var next func() error
	next = func() error {
		if len(partitions) == 0 {
			return then()
		}
		p := partitions[0]
		partitions = partitions[1:]
		last := uint64(allRecords)
		if to != nil {
			last = to[p]
		}
		return s.replay(p, from[p], last, how, next)
	}
	return next()
}

// replayUnsent sends the decided links of partitions' records again, as far as other owners may not have accepted them.
func (s *Shard) replayUnsent(partitions []weburl.Partition, then func() error) error {
	if len(partitions) == 0 {
		return then()
	}
	p := partitions[0]
	next := func() error { return s.replayUnsent(partitions[1:], then) }
	box := s.exchange.out[p]
	if !box.marked || len(box.lanes) == 0 {
		return next()
	}
	return s.replay(p, box.passed, box.decided, offered{unsent: true}, next)
}

// takeSeeds adds the settings' seeds. Then the shard is ready, if there is anything to crawl.
func (s *Shard) takeSeeds(queued bool) error {
	return s.addSeeds(s.settings.Seeds, func() error {
		if !queued && len(s.settings.Seeds) == 0 && s.counts.Known == 0 && !s.settings.Wait && s.alone() {
			return ErrNothing
		}
		s.ready = true
		for p := range s.owned() {
			s.resend(p)
		}
		s.join()
		return nil
	})
}

// recordLinks returns the links of a record, and the cash that their page passes on to them.
func (s *Shard) recordLinks(r store.Record) (links []weburl.Link, cash float64, err error) {
	switch r := r.(type) {
	case *store.Arrived:
		return discovery.ArrivedLinks(r.Links), 0, nil
	case *store.Robots:
		if r.Keep {
			links = discovery.SitemapLinks(r.Site, r.Body)
		}
		return links, 0, nil
	case *store.Fetched:
		row, _, err := s.rows.PageOf(r.URL)
		if err != nil || r.NoFollow {
			return nil, 0, err
		}
		stored, err := store.DecodeLinks(r.Links)
		if err != nil {
			return nil, 0, err
		}
		row.ContentType = r.ContentType
		links = discovery.PageLinks(stored, row)
		discovery.Share(s.settings.Ordering, row.URL, links)
		return links, r.Paid, nil
	}
	return nil, 0, nil
}
