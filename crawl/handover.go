package crawl

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"freshet/refresh"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A hand-over of a partition has two moments: after the first the giver sends its links to the partition, after the
// second the taker no longer sends its own. At both, no link of that shard may be undecided. So before each the shard
// holds back new links until the seen test has decided all that it was offered and the verdicts are stored (quiet). The
// giver records what it knows beyond the rows, the hosts' gates, and then forgets the partition.
//
// A shard gives or takes one partition at a time. The crawl of other partitions goes on, but their links wait while the
// seen test learns a partition's pages.

// moves holds the hand-overs of a shard. They are made one after the other.
type moves struct {
	waiting []func() error // hand-overs to begin
	under   bool           // a hand-over is under way
	when    func() bool    // when it continues
	then    func() error   // how it continues
}

func (m *moves) busy() bool { return m.under || len(m.waiting) > 0 }

// canMove reports whether a hand-over can begin or continue.
func (s *Shard) canMove() bool {
	m := &s.moves
	return !m.under && len(m.waiting) > 0 && s.ready || m.when != nil && m.when()
}

// handOver begins or continues hand-overs.
func (s *Shard) handOver() error {
	m := &s.moves
	for s.canMove() {
		var do func() error
		if m.when != nil {
			do = m.then
			m.when, m.then = nil, nil
		} else {
			m.under = true
			do, m.waiting = m.waiting[0], m.waiting[1:]
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// await continues a hand-over with then as soon as when returns true.
func (s *Shard) await(when func() bool, then func() error) { s.moves.when, s.moves.then = when, then }

// moved ends a hand-over.
func (s *Shard) moved() { s.moves.under = false }

// quiet makes the change do when no offered link is undecided and when returns true. It holds back new links until
// then; do must release them.
func (s *Shard) quiet(when func() bool, do func() error) {
	s.offers.hold()
	isQuiet := func() bool { return s.offers.idle() && when() }
	s.await(isQuiet, func() error {
		s.whenFree(func() error {
			if !isQuiet() {
				s.quiet(when, do)
				return nil
			}
			return do()
		})
		return nil
	})
}

func always() bool { return true }

// giveAway gives a partition to another shard.
func (s *Shard) giveAway(p weburl.Partition, reply replier) error {
	if int(p) >= len(s.tenures) || s.alone() {
		return fmt.Errorf("%w: give partition %d", ErrOrder, p)
	}
	s.moves.waiting = append(s.moves.waiting, func() error {
		if !s.serves(p) {
			s.moved()
			return reply(Reply{Err: fmt.Errorf("%w: partition %d", ErrElsewhere, p)})
		}
		s.tenures[p] = going
		s.front.Withhold(s.lies(p), s.now)
		s.await(func() bool { return !s.underWay(p) }, func() error {
			s.quiet(func() bool { return s.walks[p] == 0 }, func() error { return s.letGo(p, reply) })
			return nil
		})
		return nil
	})
	return nil
}

// takenAt returns when a host's partition came from an owner that may have been cut off or has another clock.
func (s *Shard) takenAt(host string) time.Time { return s.taken[s.home(weburl.Site("http://"+host))] }

// lies returns a function that reports whether a site is in a partition.
func (s *Shard) lies(p weburl.Partition) func(weburl.Site) bool {
	return func(site weburl.Site) bool { return s.home(site) == p }
}

// underWay reports whether a turn uses a host of a partition, or is for one of its pages.
func (s *Shard) underWay(p weburl.Partition) bool {
	for _, t := range s.turns {
		if s.home(t.page.Site) == p || s.home(t.asked.Site) == p {
			return true
		}
	}
	return false
}

// letGo forgets a partition that has no turn under way. It replies when all records proposed for the partition are
// durable.
func (s *Shard) letGo(p weburl.Partition, reply replier) error {
	records, err := s.forgetSites(p)
	if err != nil {
		return err
	}
	s.fresh.dropAll(func(id refresh.ID, _ weburl.Site) bool { return s.fresh.table.pages[id].partition == p }, s.now)
	s.closeBoxes(p)
	s.tenures[p] = elsewhere
	s.offers.release()
	s.proposeChange(Append{Records: records}, func(stored) error { // durable after all before
		s.moved()
		return reply(Reply{})
	})
	return nil
}

// forgetSites forgets the sites of a partition, and returns records of the gates that are newer than the stored ones.
func (s *Shard) forgetSites(p weburl.Partition) (records []store.Record, err error) {
	for _, host := range s.front.Forget(s.lies(p), s.now) {
		if !host.Gate.Next.After(s.now) {
			continue
		}
		had, err := s.rows.Gate(p, host.Host.Host())
		if err != nil {
			return nil, fmt.Errorf("crawl: gate of %s: %w", host.Host, err)
		}
		if gate := storedGate(host.Gate); gate.Next > had.Next {
			records = append(records, &store.Gated{Partition: p, Host: host.Host.Name(), Gate: *gate})
		}
	}
	for row, err := range s.rows.Sites(p) {
		if err != nil {
			return nil, fmt.Errorf("crawl: sites of partition %d: %w", p, err)
		}
		s.counts.Sites--
		s.counts.Known -= row.Pages
		s.book.Forget(row.Site)
		delete(s.obeys.waiting, row.Site)
		delete(s.rests, row.Site)
		s.rules.pace(row.Site, store.Pace{})
	}
	return records, nil
}

// takeOver takes a partition from its last owner.
func (s *Shard) takeOver(o Take, reply replier) error {
	p := o.Partition
	if int(p) >= len(s.tenures) || s.alone() {
		return fmt.Errorf("%w: take partition %d", ErrOrder, p)
	}
	s.moves.waiting = append(s.moves.waiting, func() error {
		if s.owns(p) {
			s.moved()
			return reply(Reply{})
		}
		s.quiet(always, func() error {
			s.front.AfterStop(s.now)
			taken := &store.Taken{Partition: p, By: s.settings.Name}
			return s.propose([]store.Record{taken}, func() error {
				return s.learn(p, func() error { return s.goOn(o, reply) })
			})
		})
		return nil
	})
	return nil
}

// learn adds a partition's pages to the seen test, and then calls then as a change. Only these pages are offered
// meanwhile. Their verdicts are dropped, because they are stored already.
func (s *Shard) learn(p weburl.Partition, then func() error) error {
	if err := s.addSites(s.finder.Bounds().Scope); err != nil {
		return err
	}
	if err := s.resume(p); err != nil {
		return err
	}
	s.tenures[p] = coming
	if err := s.recallCash(p, s.settings.Recalled/max(1, int(s.counts.Sites))); err != nil {
		return err
	}
	s.offers.drop = true
	return s.learnPages(p, 0, func() error {
		s.offers.drop = false
		return then()
	})
}

// learnPages adds the pages of a partition to the seen test, starting with from.
func (s *Shard) learnPages(p weburl.Partition, from weburl.Fingerprint, then func() error) error {
	known := &s.offers.intake // links that are held back go elsewhere until they are released
	var links []weburl.Link
	for row, err := range s.rows.PagesFrom(p, from) {
		if err != nil {
			return fmt.Errorf("crawl: pages of partition %d: %w", p, err)
		}
		if len(links) == rowsAtOnce {
			known.add(offered{links: links, again: true, in: true})
			known.whenPlaced(func() error { return s.learnPages(p, row.Fingerprint, then) })
			return nil
		}
		links = append(links, weburl.Link{URL: row.URL, Fingerprint: row.URL.Fingerprint(), Depth: row.Depth})
	}
	known.add(offered{mark: seen.Mark{Partition: p, Record: s.since[p]}, links: links, again: true, in: true})
	known.whenDecided(then)
	return nil
}

// goOn continues a partition where its last owner stopped. It replays the records whose links are not decided, or not
// accepted by other owners, and then hands out its pages.
func (s *Shard) goOn(o Take, reply replier) error {
	p := o.Partition
	s.offers.release()
	return s.replayUnsent([]weburl.Partition{p}, func() error {
		return s.replay(p, s.exchange.out[p].decided, s.since[p], offered{}, func() error {
			s.whenFree(func() error { return s.serve(o, reply) })
			return nil
		})
	})
}

// serve starts handing out the pages of a partition that was taken.
func (s *Shard) serve(o Take, reply replier) error {
	p := o.Partition
	s.tenures[p], s.taken[p] = serving, time.Time{}
	if !o.Clean {
		s.taken[p] = s.now
	}
	if _, err := s.restoreSites(p); err != nil {
		return err
	}
	if s.fresh != nil {
		if err := s.remember(p); err != nil {
			return err
		}
	}
	if s.begun {
		s.beginRescope(p)
	}
	s.resend(p)
	s.moved()
	s.join()
	seeds := slices.DeleteFunc(slices.Clone(s.settings.Seeds), func(u weburl.URL) bool { return s.home(u.Site()) != p })
	return s.addSeeds(seeds, func() error { return reply(Reply{}) })
}

// join makes links between two owned partitions decided here again, if they were sent while the partitions had
// different owners.
func (s *Shard) join() {
	if len(s.joinable()) == 0 {
		return
	}
	s.moves.waiting = append(s.moves.waiting, func() error {
		s.quiet(s.allArrived, func() error {
			var records []store.Record
			for _, pair := range s.joinable() {
				delete(s.exchange.out[pair.from].lanes, pair.to)
				records = append(records, &store.Parted{Partition: pair.from, To: pair.to, Joined: true})
			}
			s.offers.release()
			return s.propose(records, func() error {
				s.moved()
				return nil
			})
		})
		return nil
	})
}

// joinable returns the pairs of owned partitions between which links are sent.
func (s *Shard) joinable() (pairs []pair) {
	for p := range s.owned() {
		for _, to := range slices.Sorted(maps.Keys(s.exchange.out[p].lanes)) {
			if s.serves(p) && s.serves(to) {
				pairs = append(pairs, pair{p, to})
			}
		}
	}
	return pairs
}

// allArrived reports whether no link is in flight between owned partitions.
func (s *Shard) allArrived() bool {
	return !slices.ContainsFunc(s.joinable(), func(p pair) bool {
		l := s.exchange.out[p.from].lanes[p.to]
		return len(l.parts) > 0 || l.rest > 0
	})
}
