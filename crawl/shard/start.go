package shard

import (
	"errors"
	"fmt"
	"time"

	"freshet/crawl/discovery"
	"freshet/crawl/robots"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// ErrNothing is returned by Step where there is neither a seed nor a crawl to go on with.
var ErrNothing = errors.New("crawl: nothing to crawl: no seed, and no crawl to go on with")

// New returns a shard that goes on where the records have left off. Step it until Work.Ready; then it waits for Begin.
// The errors are those of the rows and of wrong settings. O(sites), and O(pages + visits) where the copy is kept fresh.
func New(rows Rows, links Links, settings Settings, now time.Time) (*Shard, error) {
	rules := newRulebook(settings.Rules)
	front, err := frontier.New(settings.FrontierOptions(rules.manners), queues{rows})
	if err != nil {
		return nil, err
	}
	scope, err := frontier.ParseScope(settings.Scope)
	if err != nil {
		return nil, err
	}
	s := &Shard{
		settings: settings, rules: rules, rows: rows, seen: links, now: now,
		front: front, book: robots.NewBook(settings.Agent, settings.RobotsBytes),
		places: newPlaces(settings.Ordering), pings: newPings(settings.Refresh, now),
		obeys: obedience{waiting: map[weburl.Site]bool{}}, turns: map[Turn]*turn{},
		counts: Counts{Errors: map[string]int64{}, Refused: map[string]int64{}},
	}
	s.finder = discovery.New(rows, settings.Partitions, settings.Ordering, s.places.knows, settings.Bounds(scope, rules.limits))
	queued, err := s.restore()
	if err != nil {
		return nil, err
	}
	if settings.Refresh != nil {
		s.fresh, err = newFresh(*settings.Refresh, hosts{s}, settings.Delay, settings.Second, now)
		if err == nil {
			err = s.remember()
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.catchUp(queued)
}

// restore brings back the sites from their rows, and tells whether pages are queued.
func (s *Shard) restore() (queued bool, err error) {
	for p := range weburl.Partition(s.settings.Partitions) {
		for row, err := range s.rows.Sites(p) {
			if err != nil {
				return false, fmt.Errorf("crawl: restore sites: %w", err)
			}
			queued = queued || row.New+row.Due > 0
			if err := s.restoreSite(row); err != nil {
				return false, err
			}
		}
		total, err := s.rows.Counters(p)
		if err != nil {
			return false, fmt.Errorf("crawl: restore: %w", err)
		}
		if total.Paused != 0 {
			s.setPaused(true)
		}
		marks, err := s.rows.Marks(p)
		if err != nil {
			return false, fmt.Errorf("crawl: marks: %w", err)
		}
		s.finder.Resume(p, marks)
	}
	if start := s.rows.Start(); !start.Fresh {
		s.front.AfterStop(s.now)
		if !start.Clean {
			s.front.AfterUncleanStop(s.now)
		}
	}
	return queued, s.recallCash()
}

func (s *Shard) restoreSite(row store.SiteRow) error {
	s.counts.Sites++
	s.counts.Known += row.Pages
	if row.Seed {
		s.finder.Bounds().Scope.AddSite(row.Site)
	}
	if disobeyed(row.Robots) {
		s.obeys.waiting[row.Site] = true
	}
	if row.New+row.Due == 0 && !watched(row) {
		return nil
	}
	info, err := s.siteInfo(row.Site)
	if err == nil {
		s.front.Restore(info, s.now)
	}
	return err
}

// recallCash tells the seen test of the cash that the first new pages of each site have. Links to them will
// come soon, and after a restart the test would take each page for one that was never told anything.
func (s *Shard) recallCash() error {
	if _, pays := s.settings.Ordering.(frontier.Payer); !pays {
		return nil
	}
	each := s.settings.Recalled / max(1, int(s.counts.Sites))
	for p := range weburl.Partition(s.settings.Partitions) {
		for row, err := range s.rows.Sites(p) {
			if err != nil {
				return fmt.Errorf("crawl: restore sites: %w", err)
			}
			if row.New+row.Due == 0 && !watched(row) {
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
	}
	return nil
}

// catchUp takes the seen test to the last record of every partition, then takes in the seeds. What lies between the
// set's mark and the links' is decided and stored already: it is offered so that the set knows it, and the
// verdicts are dropped. What lies after is decided then.
func (s *Shard) catchUp(queued bool) error {
	links, kept := s.finder.Linked(), s.finder.Kept()
	set := make([]uint64, s.settings.Partitions)
	for _, mark := range s.seen.Marks() {
		set[mark.Partition] = mark.Record
	}
	behind := s.seen.Lost()
	for p, mark := range kept {
		behind = behind || set[p] < mark
	}
	remember := func() error {
		s.offers.drop = true
		return s.replayAll(set, links, true, func() error {
			s.offers.whenDecided(func() error {
				s.offers.drop = false
				for p := range set {
					set[p] = max(set[p], links[p])
				}
				return s.replayAll(set, nil, false, func() error { return s.takeSeeds(queued) })
			})
			return nil
		})
	}
	if behind {
		copy(set, links)
		s.rebuild(remember)
		return nil
	}
	return remember()
}

// replayAll replays the records of all partitions, from some on up to others, nil: to the last.
func (s *Shard) replayAll(from, to []uint64, again bool, then func() error) error {
	p := 0
	var next func() error
	next = func() error {
		if p == len(from) {
			return then()
		}
		last := uint64(allRecords)
		if to != nil {
			last = to[p]
		}
		p++
		return s.replay(weburl.Partition(p-1), from[p-1], last, again, next)
	}
	return next()
}

// takeSeeds takes in the settings' seeds. Then the shard is ready, if there is something to be crawled.
func (s *Shard) takeSeeds(queued bool) error {
	return s.addSeeds(s.settings.Seeds, func() error {
		if !queued && len(s.settings.Seeds) == 0 && s.counts.Known == 0 && !s.settings.Wait {
			return ErrNothing
		}
		s.ready = true
		return nil
	})
}

// recordLinks returns the links that a record brings, and the cash that their page hands on to them.
func (s *Shard) recordLinks(r store.Record) (links []weburl.Link, cash float64, err error) {
	switch r := r.(type) {
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
		links = discovery.PageLinks(stored, row)
		discovery.Share(s.settings.Ordering, row.URL, links)
		return links, r.Paid, nil
	}
	return nil, 0, nil
}
