package crawl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// Links pass in two steps. First they are offered to the seen test, which accepts them at once or, if it is full, after
// the next drain. Then a drain decides which of the offered links are new: Work.Drain returns verdicts, the verdicts
// become records, and when these are durable the test keeps the verdicts (Work.Keep).

// offers holds the links that pass through the seen test.
type offers struct {
	intake
	held    *intake // links that come while a hand-over waits for all others to be decided; nil: none
	phase   phase
	passing []func() error // decided, of the drain under way
	rebuilt func() error   // called after the test is filled from the page table; nil: no filling
	fresh   bool           // links were offered since the last drain began
	offered time.Time      // when links were last offered
	drop    bool           // the verdicts are stored already: drop them
	timing  seen.Timing    // of drains
}

// intake holds links to offer, and functions that wait for them.
type intake struct {
	waiting []offered      // links for which the test has no room
	placed  []func() error // to be called when no links wait any more
	decided []func() error // to be called when all links offered so far are decided and stored
}

func (i *intake) add(links offered)           { i.waiting = append(i.waiting, links) }
func (i *intake) whenPlaced(do func() error)  { i.placed = append(i.placed, do) }
func (i *intake) whenDecided(do func() error) { i.decided = append(i.decided, do) }

// phase is the progress of a drain.
type phase uint8

const (
	resting  phase = iota
	deciding       // the test decides
	storing        // its verdicts become records
	keeping        // they are durable, and the test keeps them
	filling        // the test is filled from the page table
)

// offered are links that are offered together.
type offered struct {
	mark  seen.Mark
	links []weburl.Link
	cash  float64      // that their page passes on
	again bool         // they were offered before: their cash is paid, their refusals are counted
	in    bool         // the links that remain were admitted
	then  func() error // called when the test has accepted them; nil: nothing

	arrived bool // another partition's record brought them: each has its cash
	unsent  bool // only links that other shards must accept count
}

// in returns the intake for new links.
func (o *offers) in() *intake {
	if o.held != nil {
		return o.held
	}
	return &o.intake
}

func (o *offers) add(links offered) { o.in().add(links) }

// hold holds back new links until release.
func (o *offers) hold() {
	if o.held == nil {
		o.held = &intake{}
	}
}

func (o *offers) release() {
	held := o.held
	o.held = nil
	o.waiting = append(o.waiting, held.waiting...)
	o.placed = append(o.placed, held.placed...)
	o.decided = append(o.decided, held.decided...)
}

// undecided reports whether any link waits for a decision.
func (o *offers) undecided() bool {
	return len(o.waiting) > 0 || len(o.decided) > 0 || o.fresh || o.phase == deciding || o.phase == storing
}

// idle reports whether no link waits and no drain or rebuild is under way.
func (o *offers) idle() bool { return !o.undecided() && o.phase == resting && o.rebuilt == nil }

// whenPlaced calls do when the test has accepted all waiting links.
func (o *offers) whenPlaced(do func() error) { o.in().whenPlaced(do) }

// whenDecided makes the change do when all links offered so far are decided and stored, and starts a drain for that.
func (o *offers) whenDecided(do func() error) { o.in().whenDecided(do) }

// offer offers the waiting links to the seen test while it has room.
func (s *Shard) offer() error {
	o := &s.offers
	for len(o.waiting) > 0 || len(o.placed) > 0 {
		if len(o.waiting) == 0 {
			do := o.placed[0]
			o.placed = o.placed[1:]
			if err := do(); err != nil {
				return err
			}
			continue
		}
		first := &o.waiting[0]
		room, err := s.offerSome(first)
		if err != nil {
			return err
		}
		if !room {
			return nil
		}
		then := first.then
		*first = offered{}
		if o.waiting = o.waiting[1:]; then == nil {
			continue
		}
		if err := then(); err != nil {
			return err
		}
	}
	return nil
}

// offerSome offers links, and reports whether there was room for all of them. The rest is offered later.
func (s *Shard) offerSome(l *offered) (room bool, err error) {
	if l.mark.Record != 0 && !s.owns(l.mark.Partition) {
		return true, nil // the partition was given away: its owner reads them from the record
	}
	if !l.in {
		l.in = true
		l.links = s.part(l, s.admit(l))
	}
	if l.unsent {
		return true, nil
	}
	s.offers.fresh, s.offers.offered = true, s.now
	for {
		some, mark := fewLinks(l.links, s.settings.OfferBytes), seen.Mark{Partition: l.mark.Partition}
		if len(some) == len(l.links) {
			mark = l.mark // a record is marked when all its links are offered
		}
		err := s.seen.Offer(mark, some, s.now)
		if errors.Is(err, seen.ErrFull) {
			l.links = slices.Clone(l.links) // until now they are in the finder's buffer
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("crawl: offer the links of record %d of partition %d: %w", l.mark.Record, l.mark.Partition, err)
		}
		if !l.again && s.settings.OnLinks != nil {
			s.settings.OnLinks(some)
		}
		if l.links = l.links[len(some):]; len(l.links) == 0 {
			return true, nil
		}
	}
}

// admit returns the links that may become pages.
func (s *Shard) admit(l *offered) []weburl.Link {
	switch {
	case l.unsent:
		return s.finder.AdmitUnsent(l.links, l.cash)
	case l.again:
		return s.finder.AdmitAgain(l.links)
	case l.arrived:
		return s.finder.AdmitArrived(l.links)
	}
	return s.finder.Admit(l.links, l.cash)
}

// fewLinks returns the first links that take at most that many bytes while they wait, but at least one. A page with
// more links is offered in parts; a crash between the parts may pay the cash of the first ones twice.
func fewLinks(links []weburl.Link, bytes int64) []weburl.Link {
	for i := range links {
		if bytes -= int64(seen.Bytes(links[i : i+1])); bytes < 0 {
			return links[:max(i, 1)]
		}
	}
	return links
}

// drainIfDue begins a drain or a rebuild if it is time.
func (s *Shard) drainIfDue() error {
	o := &s.offers
	if o.phase == resting && o.rebuilt != nil {
		o.phase = filling
		rebuild := s.Known()
		s.out.Rebuild = &rebuild
	}
	if o.phase != resting || !o.undecided() {
		return nil
	}
	wanted := len(o.waiting) > 0 || len(o.decided) > 0 || o.held != nil || s.ending != "" || s.finder.Full()
	if !wanted && !o.timing.Due(s.seen, s.now) {
		if s.now.Sub(o.offered) > s.of(time.Second) && !s.seen.Due(s.now, 0) {
			o.fresh = false // the last drain has decided what was offered while it ran
		}
		s.wakeAt(s.now.Add(s.of(seen.LookEvery)))
		return nil
	}
	o.phase, o.fresh = deciding, false
	o.timing.Began(s.now)
	if len(o.waiting) == 0 {
		o.passing, o.decided = o.decided, nil
	}
	s.out.Drain = true
	return nil
}

// decided stores the verdicts of the seen test.
func (s *Shard) decided(e Decided) {
	o := &s.offers
	if o.drop {
		s.keep()
		return
	}
	o.phase = storing
	s.whenFree(func() error { return s.settle(e) })
}

// settle turns the verdicts into records.
func (s *Shard) settle(e Decided) error {
	found, err := s.finder.Settle(e.Verdicts, s.ownedMarks(e.Marks), s.ownedMarks(e.Durable), s.now)
	if err != nil {
		return err
	}
	sent := s.noteSent()
	s.counts.Known += int64(found.Pages)
	s.counts.Sites += int64(found.Sites)
	for _, r := range found.Refused {
		s.counts.refuse(r.Reason, r.Count)
	}
	return s.propose(append(sent, s.ownedRecords(found.Records)...), func() error {
		s.keep()
		return nil
	})
}

// keep makes the seen test keep its verdicts.
func (s *Shard) keep() {
	s.offers.phase = keeping
	s.out.Keep = true
}

// kept ends a drain. The changes that waited for it are made when the rows are free.
func (s *Shard) kept() {
	o := &s.offers
	o.phase = resting
	o.timing.Ended(s.now)
	for _, do := range o.passing {
		s.whenFree(do)
	}
	o.passing = nil
}

// rebuild fills the seen test from the page table, and then calls then as a change.
func (s *Shard) rebuild(then func() error) { s.offers.rebuilt = then }

// filled continues after a rebuild.
func (s *Shard) filled() {
	s.whenFree(s.offers.rebuilt)
	s.offers.rebuilt, s.offers.phase = nil, resting
}

// Known returns what the seen test must know: the decided links of the owned partitions.
func (s *Shard) Known() Rebuild {
	r := Rebuild{Linked: make([]uint64, s.settings.Partitions)}
	linked := s.finder.Linked()
	for p := range s.owned() {
		r.Partitions = append(r.Partitions, p)
		r.Linked[p] = max(linked[p], s.since[p])
	}
	return r
}

// replay offers the links of a partition's records after number from, up to number to, and then calls then. The flags
// of how apply to each: again, the links are decided and stored, and only the test must know them; unsent, only other
// owners must have them.
func (s *Shard) replay(p weburl.Partition, from, to uint64, how offered, then func() error) error {
	const atOnce = 256
	n, errEnd := 0, errors.New("end")
	err := s.rows.Records(p, from, func(number uint64, r store.Record) (err error) {
		if number > to || n == atOnce {
			return errEnd
		}
		from = number
		n++
		l := how
		l.mark = seen.Mark{Partition: p, Record: number}
		if l.links, l.cash, err = s.recordLinks(r); err != nil {
			return err
		}
		if l.arrived = arrives(r); !l.arrived || !l.unsent {
			s.offers.add(l)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnd) {
		return fmt.Errorf("crawl: records of partition %d: %w", p, err)
	}
	if n == atOnce {
		s.offers.whenPlaced(func() error { return s.replay(p, from, to, how, then) })
		return nil
	}
	s.offers.whenPlaced(then)
	return nil
}

const allRecords = math.MaxUint64
