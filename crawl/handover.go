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

// A partition changes hands between two moments at which nothing of it is undecided: the giver's, from which on its
// links to the partition are sent, and the taker's, from which on its own are not. For each the shard holds back what
// is to be offered to the seen test until all that was offered is decided and stored (quiet). What the giver knows
// beyond the rows it notes in them (hosts' gates), and forgets.
//
// One partition at a time is given or taken. The crawl of the others goes on; but their links wait while the seen test
// gets to know a partition's pages.

// moves are the hand-overs of a shard, one after the other.
type moves struct {
	waiting []func() error // to be begun
	under   bool           // one is under way
	when    func() bool    // it goes on then
	then    func() error   // with this
}

func (m *moves) busy() bool { return m.under || len(m.waiting) > 0 }

// canMove reports whether a hand-over can begin or go on.
func (s *Shard) canMove() bool {
	m := &s.moves
	return !m.under && len(m.waiting) > 0 && s.ready || m.when != nil && m.when()
}

// handOver goes on with hand-overs.
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

// await goes on with a hand-over as soon as something is true.
func (s *Shard) await(when func() bool, then func() error) { s.moves.when, s.moves.then = when, then }

// moved ends a hand-over.
func (s *Shard) moved() { s.moves.under = false }

// quiet makes a change when nothing that was offered is undecided, and something else is true. What comes meanwhile
// is held back: the change releases it.
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

// giveAway hands a partition over.
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

// takenAt returns when a host's partition came from an owner who may have been cut off, or goes by another clock.
func (s *Shard) takenAt(host string) time.Time { return s.taken[s.home(weburl.Site("http://"+host))] }

// lies returns which sites lie in a partition.
func (s *Shard) lies(p weburl.Partition) func(weburl.Site) bool {
	return func(site weburl.Site) bool { return s.home(site) == p }
}

// underWay reports whether a turn asks a host of a partition, or is for one of its pages.
func (s *Shard) underWay(p weburl.Partition) bool {
	for _, t := range s.turns {
		if s.home(t.page.Site) == p || s.home(t.asked.Site) == p {
			return true
		}
	}
	return false
}

// letGo forgets a partition of which nothing is under way, and answers when all that was proposed of it is durable.
func (s *Shard) letGo(p weburl.Partition, reply replier) error {
	records, err := s.forgetSites(p)
	if err != nil {
		return err
	}
	s.fresh.dropAll(func(id refresh.ID, _ weburl.Site) bool { return s.fresh.table.pages[id].partition == p }, s.now)
	s.closeBoxes(p)
	s.tenures[p] = elsewhere
	s.offers.release()
	s.proposeChange(Append{Records: records}, func(stored) error { // even an empty one comes after all before it
		s.moved()
		return reply(Reply{})
	})
	return nil
}

// forgetSites forgets the sites of a partition, and returns the gates that are not stored as they are.
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
	}
	return records, nil
}

// takeOver takes a partition over.
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

// learn has the seen test know a partition's pages, and then makes a change. What is offered of them meets a test in
// which nothing else waits: what it says of them is stored already.
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

// learnPages has the seen test know the pages of a partition from one on.
func (s *Shard) learnPages(p weburl.Partition, from weburl.Fingerprint, then func() error) error {
	known := &s.offers.intake // no other is offered to before it is released
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

// goOn goes on with a partition where its last owner has left off: it replays the records whose links are not decided,
// or have not been taken in by others, and then hands out its pages.
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

// serve hands out the pages of a partition that was taken.
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

// join has links decided here again that go from one owned partition to another, and were sent while these had
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

// joinable returns the pairs of owned partitions of which links are sent.
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

// allArrived reports whether nothing is on its way between owned partitions.
func (s *Shard) allArrived() bool {
	return !slices.ContainsFunc(s.joinable(), func(p pair) bool {
		l := s.exchange.out[p.from].lanes[p.to]
		return len(l.parts) > 0 || l.rest > 0
	})
}
