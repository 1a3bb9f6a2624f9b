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
