package crawl

import (
	"fmt"
	"testing"
	"time"

	"freshet/weburl"
)

// TestFullTestTakesNoMore sends links to a shard whose seen test is full: there is no receipt before it has room, so
// that no more are sent.
func TestFullTestTakesNoMore(t *testing.T) {
	c := newCrew(t, "b")
	b := c.members[0]
	c.set.Scope = "any"
	c.openStore()
	const from, to = 0, 1
	for p := range c.owner {
		if p != from {
			c.owner[p] = b
		}
	}
	c.start(b, false)
	c.run(time.Second)

	receipts, drains := 0, 0
	step := func(mayDrain bool, events ...Event) {
		c.now = c.now.Add(10 * time.Millisecond)
		b.now = c.now
		for len(b.later) > 0 && !b.later[0].at.After(c.now) {
			events = append(events, b.later[0].event())
			b.later = b.later[1:]
		}
		work, err := b.shard.Step(c.now, events...)
		check(c.t, err)
		receipts += len(work.Receipts)
		if work.Drain {
			drains++
		}
		if work.Drain = drains > 0 && mayDrain; work.Drain {
			drains--
		}
		b.do(work)
	}
	parcel := func(record uint64) Parcel {
		p := Parcel{From: from, To: to, Parts: []Part{{Record: record}}}
		for i := 0; len(p.Parts[0].Links) < 20; i++ {
			u := parse(t, fmt.Sprintf("http://h%d-%d.test/", record, i))
			if c.store.Home(u.Site()) == to {
				p.Parts[0].Links = append(p.Parts[0].Links, weburl.Link{URL: u, Fingerprint: u.Fingerprint(), Depth: 1})
			}
		}
		return p
	}
	for record := range uint64(3) {
		step(false, Arriving{parcel(record + 1)})
		for range 100 {
			step(false)
		}
	}
	if receipts != 1 {
		t.Errorf("%d receipts for 3 parcels of 20 links, where 30 have room", receipts)
	}
	for range 200 {
		step(true)
	}
	if receipts != 3 {
		t.Errorf("%d receipts for 3 parcels, when the test has decided", receipts)
	}
}

// TestNobodyAnswers sends links to a partition that no node has: again after a second, then less and less often, and
// after a second again when somebody has answered, or has taken the partition.
func TestNobodyAnswers(t *testing.T) {
	l := &lane{noted: true, parts: []Part{{Record: 1}, {Record: 2}}}
	s := &Shard{
		settings: Settings{Second: time.Second, OfferBytes: 1 << 20}, tenures: []tenure{serving, elsewhere},
		exchange: exchange{out: []*outbox{{lanes: map[weburl.Partition]*lane{1: l}}, nil}, due: []pair{{0, 1}}},
	}
	sent := func(seconds int) (parcels int) {
		for range seconds {
			s.now = s.now.Add(time.Second)
			s.resendLost(1)
			check(t, s.ship())
			parcels += len(s.out.Parcels)
			s.out.Parcels = nil
		}
		return parcels
	}
	if n := sent(100); n < 8 || n > 11 {
		t.Errorf("%d parcels in 100 s, want the first, those after 1, 2, 4 and 8 s, and one each 16 s", n)
	}
	s.received(Receipt{From: 0, To: 1, Record: 1})
	if n := sent(4); n != 3 {
		t.Errorf("%d parcels in the 4 s after a receipt, want the next, and those after 1 and 2 s", n)
	}
	sent(100)
	s.resend(1)
	if n := sent(4); n != 3 {
		t.Errorf("%d parcels in the 4 s after another node took the partition, want one at once, and those after 1 and 2 s", n)
	}
}
