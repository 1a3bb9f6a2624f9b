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

// Links from a page to one of a partition that another shard owns are sent. A Parcel has those of some records of one
// partition for one other. Its owner makes an Arrived record of them, and a Receipt says that this is durable. From
// then on they are links of that record, on their way as those of any other are.
//
// Nothing rests on the wire. Of one pair of partitions the next parcel goes out when the one before has its receipt, or
// is sent again as a whole (Resend); the target knows by number which records it has taken in. What has no receipt is
// read again from the records after a restart or by the next owner: the mark of sentConsumer keeps them.
//
// Most links repeat what was sent lately. They are held back (seen.Sender), by each source partition for itself: an
// owner offers the links of its records in their order, once each, and begins with an empty cache. So what is held back
// follows an equal link of an earlier record, which is on its way until it has its receipt. A cache that partitions
// shared would lose links: of two that were sent before a restart, one may be what the target passes over because it
// has the record, and the other, which it has not, may be held back behind that one.
//
// Where links are sent from, and where they are decided here, hangs on the pair. Links of partition s to partition t
// are sent where a store.Peer of s says so, and where t is not owned: then it comes to say so. Records up to its After
// were decided while both had one owner. When both have one owner again, links are sent to the shard itself, until
// nothing is on its way (join).

// A Parcel is links from pages of one partition to pages of another.
type Parcel struct {
	From, To weburl.Partition
	Parts    []Part // by number
}

// Part are the links for a partition that one record brings, as they were admitted, with their cash.
type Part struct {
	Record uint64
	Links  []weburl.Link
}

// A Receipt says that the links of From's records up to Record that are for To are durable there.
type Receipt struct {
	From, To weburl.Partition
	Record   uint64
}

// sentConsumer's mark is the last record of which all links that are sent have a receipt. Only a partition of which
// links have been sent has the mark.
const sentConsumer = "sent"

// mostParcelLinks bounds the links of a parcel, except for those of one record.
const mostParcelLinks = 1 << 12

// exchange are the links on their way from and to other owners, by partition.
type exchange struct {
	out []*outbox
	in  []map[weburl.Partition]*inbox // by where links come from
	due []pair                        // whose next parcel may go out
}

// pair names a lane.
type pair struct{ from, to weburl.Partition }

// outbox has what is sent from one owned partition.
type outbox struct {
	passed  uint64 // the last record that was looked through for links to be sent
	decided uint64 // the last one whose links were decided when the partition came: those that part after it are new
	noted   uint64 // the mark as records have it
	marked  bool   // there is one
	lanes   map[weburl.Partition]*lane
	sender  *seen.Sender // nil: nothing was sent, or nothing is held back
}

// lane is what is sent from one partition to another.
type lane struct {
	after  uint64        // records up to this number were decided by the owner of both
	parts  []Part        // without a receipt
	flying int           // how many of them are in the parcel that is on its way
	sent   time.Time     // when that was
	wait   time.Duration // until it is taken for lost
	noted  bool          // that links are sent is durable
	bytes  int64         // that parts take
	rest   uint64        // the first record that there was no room for; 0: parts are all there is
}

// inbox says up to which record links have come.
type inbox struct {
	taken   uint64 // in records that are proposed or durable
	durable uint64
}

// openBoxes reads what is stored about the exchange of a partition that the shard now owns.
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
		return links // they have come to where they belong
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

// send adds the links of a record that are for other owners.
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

// laneBytes bounds what waits for one receipt after the other. What goes beyond is read from its records again.
func (s *Shard) laneBytes() int64 { return s.settings.OfferBytes / int64(s.settings.Partitions) }

// load takes in the links of a further record, except for those that are held back, unless there are as many bytes
// already. It reports whether it did.
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

// sendAll lets nothing be held back that repeats what was sent before.
func (s *Shard) sendAll() {
	for p := range s.owned() {
		s.exchange.out[p].sender = nil
	}
}

// refill reads some of what there was no room for. What is held back counts, too, so that it ends.
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

// arrives reports whether a record has links that another partition's pages have brought.
func arrives(r store.Record) bool {
	a, ok := r.(*store.Arrived)
	return ok && a.From != a.Partition
}

// openLane begins to send links of records after a number. No parcel leaves before that is durable: whoever owns the
// partition then must know that a link may be on its way.
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

// proposeAside has a record made durable that depends on no row and changes none but its own.
func (s *Shard) proposeAside(r store.Record, then func()) {
	s.appends.others = append(s.appends.others, proposal{Append{Records: []store.Record{r}}, 0, func(stored) error {
		then()
		return nil
	}})
}

// noteSent returns the records that say up to which record all links have been taken in. They are stored before the
// links of a record count as decided: what is not taken in is not forgotten. Links that were to be decided here, and
// are not, may be for the next owner to send: no record behind the last decided one is noted.
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

// ship sends the waiting parcels.
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
			if l.rest > 0 { // all was held back
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

// parcel returns how many parts go with the next parcel.
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

// resend sends everything to a partition again that has no receipt. The partition has a new owner, so waits start
// again at their shortest.
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

// resendLost sends everything to a partition again that has waited too long for its receipt. Without an answer the
// waits grow.
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

// arriving takes in a parcel. One that is not for the shard is passed over: it is sent again.
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

// accept has links offered to the seen test that have arrived and are durable. The receipt waits until the test has
// taken them, so that no more come than it takes; but not for a hand-over, which may wait for the receipt.
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

// receipt sends the owner of the source a receipt.
func (s *Shard) receipt(r Receipt) {
	if s.owns(r.From) {
		s.received(r)
		return
	}
	s.out.Receipts = append(s.out.Receipts, r)
}

// received drops links with a receipt.
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

// Unsent returns how many records have links that wait for a receipt of another shard, at least. O(pairs of
// partitions).
func (s *Shard) Unsent() (records int) {
	for p := range s.owned() {
		for _, l := range s.exchange.out[p].lanes {
			records += len(l.parts) + int(min(l.rest, 1))
		}
	}
	return records
}
