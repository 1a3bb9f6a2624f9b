package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"freshet/crawl/discovery"
	"freshet/seen"
	"freshet/store"
	"freshet/weburl"
)

// A shard sends links to pages of a partition that another shard owns. A Parcel has such links, from some records of
// one partition, for one other partition. The other owner makes an Arrived record of them, and returns a Receipt when
// that is durable. From then on they are links of that record and go the way of all links.
//
// A parcel may be lost. For each pair of partitions, the next parcel leaves when the receipt for the previous one has
// come. Without a receipt the same parcel is sent again (Resend). The target knows, by number, which records it has
// accepted. After a restart, or with a new owner, links without a receipt are read from the records again; the mark of
// sentConsumer keeps those records.
//
// Most links repeat a link that was sent recently. They are held back (seen.Sender), for each source partition
// separately. The owner of a partition offers the links of each record once, in the order of the records, and starts
// with an empty cache. So a link is held back only behind an equal link of an earlier record, and that one is sent
// until it has its receipt. A cache shared by partitions would lose links. Suppose that two partitions sent the same
// link before a restart: the target may skip the first, because it has that record, while the second, which it does not
// have, is held back.
//
// Whether links are sent or decided here depends on the pair of partitions. Links from s to t are sent if a store.Peer
// of s says so. They are also sent if t is not owned; then a Peer is recorded first. Records up to Peer.After were
// decided while both partitions had one owner. When both have one owner again, the shard sends the links to itself
// until none is in flight (join).

// A Parcel has links from pages of one partition to pages of another.
type Parcel struct {
	From, To weburl.Partition
	Parts    []Part // by number
}

// A Part has the links of one record to a partition, as they were admitted, with their cash.
type Part struct {
	Record uint64
	Links  []weburl.Link
}

// A Receipt reports that the links to To of From's records up to Record are durable there.
type Receipt struct {
	From, To weburl.Partition
	Record   uint64
}

// sentConsumer is the consumer whose mark is the last record with a receipt for all its links. Only a partition that
// has sent links has the mark.
const sentConsumer = "sent"

// mostParcelLinks is the maximum number of links in a parcel. A single record may have more.
const mostParcelLinks = 1 << 12

// exchange holds the links in flight from and to other owners, by partition.
type exchange struct {
	out []*outbox
	in  []map[weburl.Partition]*inbox // by target, then by source
	due []pair                        // lanes whose next parcel may leave
}

// pair names a lane: its source and its target.
type pair struct{ from, to weburl.Partition }

// outbox holds what is sent from one owned partition.
type outbox struct {
	passed  uint64 // the last record whose links were checked for links to send
	decided uint64 // the last record whose links were decided when the partition came; lanes open only after it
	noted   uint64 // the recorded mark
	marked  bool   // there is a mark
	lanes   map[weburl.Partition]*lane
	sender  *seen.Sender // nil: nothing was sent, or nothing is held back
}

// lane holds what is sent from one partition to another.
type lane struct {
	after  uint64        // records up to this number were decided by the owner of both
	parts  []Part        // without a receipt
	flying int           // number of them in the parcel in flight
	sent   time.Time     // when that parcel left
	wait   time.Duration // until it counts as lost
	noted  bool          // it is durable that links are sent
	bytes  int64         // size of parts
	rest   uint64        // the first record for which there was no room; 0: parts has all links
}

// inbox knows up to which record links have arrived.
type inbox struct {
	taken   uint64 // the last record that is proposed or durable
	durable uint64
}

// openBoxes reads the stored state of the exchange for a partition that the shard now owns.
func (s *Shard) openBoxes(p weburl.Partition, marks []store.Mark) error {
	peers, err := s.rows.Peers(p)
	if err != nil {
		return err
	}
	decided := s.finder.LinkedOf(p)
	box := &outbox{passed: decided, decided: decided, lanes: map[weburl.Partition]*lane{}}
	for _, mark := range marks {
		if mark.Consumer == sentConsumer {
			box.passed, box.noted, box.marked = mark.Record, mark.Record, true
		}
	}
	in := map[weburl.Partition]*inbox{}
	for _, peer := range peers {
		in[peer.Partition] = &inbox{peer.Arrived, peer.Arrived}
		if peer.Parted {
			box.lanes[peer.Partition] = &lane{after: peer.After, noted: true}
		}
	}
	s.exchange.out[p], s.exchange.in[p] = box, in
	return nil
}

// closeBoxes drops the exchange of a partition that another shard now owns.
func (s *Shard) closeBoxes(p weburl.Partition) { s.exchange.out[p], s.exchange.in[p] = nil, nil }

// part returns a record's admitted links that are decided here, and sends the others.
func (s *Shard) part(l *offered, links []weburl.Link) []weburl.Link {
	if l.arrived {
		return links // they have arrived at their partition
	}
	var box *outbox
	if l.mark.Record != 0 {
		box = s.exchange.out[l.mark.Partition]
	}
	if s.alone() && (box == nil || len(box.lanes) == 0) {
		return links
	}
	away := map[weburl.Partition][]weburl.Link{}
	stay := links[:0]
	for _, link := range links {
		p := s.home(link.URL.Site())
		if s.owns(p) && (box == nil || box.lanes[p] == nil) {
			stay = append(stay, link)
		} else {
			away[p] = append(away[p], link)
		}
	}
	if box != nil && (!l.again || l.unsent) {
		s.send(box, l.mark, away)
	}
	if l.unsent {
		return nil
	}
	return stay
}

// send adds the links of a record that go to other owners.
func (s *Shard) send(b *outbox, mark seen.Mark, away map[weburl.Partition][]weburl.Link) {
	if mark.Record <= b.passed {
		return
	}
	b.passed = mark.Record
	for _, to := range slices.Sorted(maps.Keys(away)) {
		l := b.lanes[to]
		if l == nil {
			if mark.Record <= b.decided {
				continue
			}
			l = s.openLane(b, pair{mark.Partition, to}, mark.Record-1)
		}
		if mark.Record > l.after && s.load(b, l, Part{mark.Record, away[to]}) {
			s.exchange.due = append(s.exchange.due, pair{mark.Partition, to})
		}
	}
}

// laneBytes limits the links in memory that wait for a receipt, per lane. Links beyond the limit are read from their
// records again.
func (s *Shard) laneBytes() int64 { return s.settings.OfferBytes / int64(s.settings.Partitions) }

// load adds the links of the next record to a lane, except those held back. It reports false, and adds none, if the
// lane is full.
func (s *Shard) load(b *outbox, l *lane, p Part) bool {
	if l.rest == 0 && len(l.parts) > 0 && l.bytes+int64(seen.Bytes(p.Links)) > s.laneBytes() {
		l.rest = p.Record
	}
	if l.rest > 0 {
		return false
	}
	offered := len(p.Links)
	if entries := s.settings.SentEntries / s.settings.Partitions; entries > 0 {
		if b.sender == nil {
			b.sender = seen.NewSender(entries, s.finder.ByCash())
		}
		p.Links = b.sender.Offer(nil, p.Links)
	}
	s.counts.LinksSent += int64(len(p.Links))
	s.counts.LinksHeld += int64(offered - len(p.Links))
	if len(p.Links) > 0 {
		l.parts = append(l.parts, p)
		l.bytes += int64(seen.Bytes(p.Links))
	}
	return true
}

// sendAll empties the caches, so that no link is held back as a repetition of one sent before.
func (s *Shard) sendAll() {
	for p := range s.owned() {
		s.exchange.out[p].sender = nil
	}
}

// refill reads some of the links for which the lane had no room. Links that are held back count too, so that one call
// is bounded.
func (s *Shard) refill(p pair, l *lane) error {
	box, from := s.exchange.out[p.from], l.rest
	l.rest = 0
	read, errFull := int64(0), errors.New("full")
	err := s.rows.Records(p.from, from-1, func(number uint64, r store.Record) error {
		if number > box.passed {
			return errFull
		}
		if arrives(r) {
			return nil
		}
		links, cash, err := s.recordLinks(r)
		if err != nil {
			return err
		}
		var some []weburl.Link
		for _, link := range s.finder.AdmitUnsent(links, cash) {
			if s.home(link.URL.Site()) == p.to {
				some = append(some, link)
			}
		}
		if read > s.laneBytes() {
			l.rest = number
			return errFull
		}
		read += int64(seen.Bytes(some))
		if len(some) > 0 && !s.load(box, l, Part{number, some}) {
			return errFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return fmt.Errorf("crawl: records of partition %d: %w", p.from, err)
	}
	return nil
}

// arrives reports whether the links of a record come from another partition's pages.
func arrives(r store.Record) bool {
	a, ok := r.(*store.Arrived)
	return ok && a.From != a.Partition
}

// openLane starts sending the links of records after a number. No parcel leaves before this is durable, because the
// next owner of the partition must know that links may be in flight.
func (s *Shard) openLane(b *outbox, p pair, after uint64) *lane {
	l := &lane{after: after}
	b.lanes[p.to] = l
	parted := &store.Parted{Partition: p.from, To: p.to, Record: after}
	s.proposeAside(parted, func() {
		l.noted = true
		s.exchange.due = append(s.exchange.due, p)
	})
	return l
}

// proposeAside makes a record durable that depends on no row and changes only its own.
func (s *Shard) proposeAside(r store.Record, then func()) {
	s.appends.others = append(s.appends.others, proposal{Append{Records: []store.Record{r}}, 0, func(stored) error {
		then()
		return nil
	}})
}

// noteSent returns records that name the last record with all links accepted. They are stored before the links of a
// record count as decided, so no link is forgotten before it was accepted. They name no record behind the last decided
// one: the next owner may have to send links that were to be decided here.
func (s *Shard) noteSent() (records []store.Record) {
	for p := range s.owned() {
		box := s.exchange.out[p]
		sent := min(box.passed, s.finder.LinkedOf(p))
		for _, l := range box.lanes {
			if len(l.parts) > 0 {
				sent = min(sent, l.parts[0].Record-1)
			} else if l.rest > 0 {
				sent = min(sent, l.rest-1)
			}
		}
		if box.marked && sent > box.noted || !box.marked && len(box.lanes) > 0 {
			box.noted, box.marked = sent, true
			records = append(records, &store.Mark{Partition: p, Consumer: sentConsumer, Record: sent})
		}
	}
	return records
}

// ship sends the parcels that are due.
func (s *Shard) ship() error {
	var again []pair
	for len(s.exchange.due) > 0 {
		due := s.exchange.due[0]
		s.exchange.due = s.exchange.due[1:]
		if !s.owns(due.from) {
			continue
		}
		l := s.exchange.out[due.from].lanes[due.to]
		if l == nil || !l.noted || l.flying > 0 {
			continue
		}
		if len(l.parts) == 0 && l.rest > 0 {
			if err := s.refill(due, l); err != nil {
				return err
			}
		}
		if len(l.parts) == 0 {
			if l.rest > 0 { // all were held back
				again = append(again, due)
			}
			continue
		}
		l.flying, l.sent = l.parcel(s.settings.OfferBytes), s.now
		if l.wait == 0 {
			l.wait = s.of(firstWait)
		}
		parcel := Parcel{From: due.from, To: due.to, Parts: slices.Clone(l.parts[:l.flying])}
		if s.owns(due.to) {
			s.arriving(parcel)
		} else {
			s.out.Parcels = append(s.out.Parcels, parcel)
		}
	}
	if s.exchange.due = again; len(again) > 0 {
		s.wakeAt(s.now)
	}
	return nil
}

// parcel returns the number of parts in the next parcel.
func (l *lane) parcel(bytes int64) (parts int) {
	links := 0
	for parts < len(l.parts) {
		some := l.parts[parts].Links
		links += len(some)
		bytes -= int64(seen.Bytes(some))
		if parts > 0 && (links > mostParcelLinks || bytes < 0) {
			break
		}
		parts++
	}
	return parts
}

// resend sends all links to a partition again that have no receipt. The partition has a new owner, so its wait starts
// again at the shortest.
func (s *Shard) resend(to weburl.Partition) {
	for p := range s.owned() {
		if l := s.exchange.out[p].lanes[to]; l != nil {
			l.flying, l.wait = 0, 0
			s.exchange.due = append(s.exchange.due, pair{p, to})
		}
	}
}

// The first and the longest wait for a receipt before a parcel counts as lost, in machine time.
const (
	firstWait = time.Second
	mostWait  = 16 * time.Second
)

// resendLost sends all links to a partition again whose parcel has waited too long for its receipt. Each time without
// an answer doubles the wait.
func (s *Shard) resendLost(to weburl.Partition) {
	for p := range s.owned() {
		l := s.exchange.out[p].lanes[to]
		if l == nil || l.flying > 0 && s.now.Sub(l.sent) < l.wait {
			continue
		}
		if l.flying > 0 {
			l.flying, l.wait = 0, min(2*l.wait, s.of(mostWait))
		}
		s.exchange.due = append(s.exchange.due, pair{p, to})
	}
}

// arriving accepts a parcel. It ignores a parcel for a partition that the shard does not serve, which will be sent
// again.
func (s *Shard) arriving(parcel Parcel) {
	if !s.ready || int(parcel.To) >= len(s.tenures) || !s.serves(parcel.To) || len(parcel.Parts) == 0 {
		return
	}
	from := s.exchange.in[parcel.To][parcel.From]
	if from == nil {
		from = &inbox{}
		s.exchange.in[parcel.To][parcel.From] = from
	}
	var links []weburl.Link
	last := from.taken
	for _, part := range parcel.Parts {
		if part.Record > last {
			last = part.Record
			links = append(links, part.Links...)
		}
	}
	if last == from.taken {
		if from.taken == from.durable {
			s.receipt(Receipt{parcel.From, parcel.To, from.durable})
		}
		return
	}
	from.taken = last
	record := &store.Arrived{Partition: parcel.To, From: parcel.From, Record: last, Links: discovery.Arrive(links)}
	s.proposeAside(record, func() {
		from.durable = last
		s.accept(offered{mark: seen.Mark{Partition: record.Partition, Record: record.Number}, links: links, arrived: true},
			Receipt{parcel.From, parcel.To, last})
	})
}

// accept offers links to the seen test that have arrived and are durable. The receipt waits until the test has accepted
// them, so that no more arrive than the test accepts. During a hand-over the receipt leaves at once, because the
// hand-over may wait for it.
func (s *Shard) accept(l offered, r Receipt) {
	if s.offers.held != nil {
		s.receipt(r)
	} else {
		l.then = func() error {
			s.receipt(r)
			return nil
		}
	}
	s.offers.add(l)
}

// receipt sends a receipt to the owner of the source.
func (s *Shard) receipt(r Receipt) {
	if s.owns(r.From) {
		s.received(r)
		return
	}
	s.out.Receipts = append(s.out.Receipts, r)
}

// received drops the links for which a receipt has come.
func (s *Shard) received(r Receipt) {
	if int(r.From) >= len(s.tenures) || !s.owns(r.From) {
		return
	}
	l := s.exchange.out[r.From].lanes[r.To]
	if l == nil {
		return
	}
	n, _ := slices.BinarySearchFunc(l.parts, r.Record+1, func(p Part, record uint64) int { return cmp.Compare(p.Record, record) })
	for _, part := range l.parts[:n] {
		l.bytes -= int64(seen.Bytes(part.Links))
	}
	l.parts = slices.Delete(l.parts, 0, n)
	if n > 0 {
		l.wait = 0
	}
	if l.flying = max(0, l.flying-n); l.flying == 0 {
		s.exchange.due = append(s.exchange.due, pair{r.From, r.To})
	}
}

// Unsent returns how many records, at least, have links that wait for a receipt of another shard. O(pairs of
// partitions).
func (s *Shard) Unsent() (records int) {
	for p := range s.owned() {
		for _, l := range s.exchange.out[p].lanes {
			records += len(l.parts) + int(min(l.rest, 1))
		}
	}
	return records
}
